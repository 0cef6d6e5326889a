package record

import (
	"fmt"
	"strings"
)

// context is how many equal lines stand around a difference.
const context = 3

// diffMost bounds the lines that are compared one with the other: the table has so many squared.
const diffMost = 2000

// Diff shows what has to be done to a text to get another one, in lines that begin with -, + or a blank. It is empty
// where they are equal.
func Diff(old, new string) string {
	if old == new {
		return ""
	}
	a, b := splitLines(old), splitLines(new)
	head := 0
	for head < min(len(a), len(b)) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < min(len(a), len(b))-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	var all []string
	for _, l := range a[:head] {
		all = append(all, " "+l)
	}
	all = append(all, between(a[head:len(a)-tail], b[head:len(b)-tail])...)
	for _, l := range a[len(a)-tail:] {
		all = append(all, " "+l)
	}
	return nearChanges(all)
}

func splitLines(s string) []string {
	s = strings.TrimSuffix(s, "\n")
	if s == "" {
		return nil
	}
	return strings.Split(s, "\n")
}

// between shows the way from a to b with the most lines kept.
func between(a, b []string) (out []string) {
	if len(a) > diffMost || len(b) > diffMost {
		for _, l := range a {
			out = append(out, "-"+l)
		}
		for _, l := range b {
			out = append(out, "+"+l)
		}
		return out
	}

	kept := make([][]int, len(a)+1) // of the rest of a and of b
	for i := range kept {
		kept[i] = make([]int, len(b)+1)
	}

	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				kept[i][j] = kept[i+1][j+1] + 1
			} else {
				kept[i][j] = max(kept[i+1][j], kept[i][j+1])
			}
		}
	}

	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			out = append(out, " "+a[i])
			i, j = i+1, j+1
		case j == len(b) || i < len(a) && kept[i+1][j] >= kept[i][j+1]:
			out = append(out, "-"+a[i])
			i++
		default:
			out = append(out, "+"+b[j])
			j++
		}
	}
	return out
}

// nearChanges leaves out the equal lines that are far from any difference.
func nearChanges(all []string) string {
	wanted := make([]bool, len(all))
	for i, l := range all {
		if l[0] != ' ' {
			for j := max(0, i-context); j <= min(len(all)-1, i+context); j++ {
				wanted[j] = true
			}
		}
	}
	var s strings.Builder
	for i := 0; i < len(all); {
		if wanted[i] {
			s.WriteString(all[i] + "\n")
			i++
			continue
		}
		from := i
		for i < len(all) && !wanted[i] {
			i++
		}
		fmt.Fprintf(&s, " … %d equal lines\n", i-from)
	}
	return s.String()
}
