package config

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/windlass-dev/windlass/config/kcm"
)

// Enabled reports whether an enablement list turns a controller on, with the meaning of kube-controller-manager's
// --controllers (IsControllerEnabled in k8s.io/controller-manager/app/helper.go): the first entry that is name or -name
// decides. Where none is, "*" turns on what isn't disabled by default.
//
// The list holds canonical names: see [Canonical].
func Enabled(name string, list []string, disabledByDefault bool) bool {
	for _, entry := range list {
		switch entry {
		case name:
			return true
		case "-" + name:
			return false
		}
	}
	return slices.Contains(list, "*") && !disabledByDefault
}

// Canonical returns the list with aliases (by alias) replaced by the names they stand for.
func Canonical(list []string, aliases map[string]string) []string {
	out := make([]string, len(list))
	for i, entry := range list {
		name, minus := strings.CutPrefix(entry, "-")
		if canonical, ok := aliases[name]; ok {
			name = canonical
		}
		if minus {
			name = "-" + name
		}
		out[i] = name
	}
	return out
}

// CheckNames returns an error for each entry of an enablement list that is neither "*" nor a controller's name or
// alias, with or without "-". kube-controller-manager's controllers that aren't among the names are known, too:
// [Missing] tells of them.
func CheckNames(list, names []string, aliases map[string]string) error {
	words := slices.Clone(names)
	for alias := range aliases {
		words = append(words, alias)
	}

	var theirs []string
	for _, c := range kcm.Controllers {
		theirs = append(theirs, c.Name)
		if c.Alias != "" {
			theirs = append(theirs, c.Alias)
		}
	}

	var errs []error
	for i, entry := range list {
		name := strings.TrimPrefix(entry, "-")
		if entry == "*" || slices.Contains(words, name) || slices.Contains(theirs, name) {
			continue
		}
		if name == "*" {
			errs = append(errs, fmt.Errorf(
				"controllers[%d]: %q isn't a way to disable all controllers: leave \"*\" out, and name those to run", i, entry))
			continue
		}
		errs = append(errs, fmt.Errorf("controllers[%d]: %q is not in the list of known controllers%s",
			i, name, cmp.Or(Nearest(name, words), Nearest(name, theirs), suggest(name, words))))
	}

	return errors.Join(errs...)
}

// Missing returns kube-controller-manager's controllers that an enablement list turns on, as it would there, and that
// aren't among the names of those that are here: those that the list names, and those that "*" stands for.
func Missing(list, names []string) (named, others []string) {
	list = Canonical(list, kcm.Aliases())
	for _, c := range kcm.Controllers {
		switch {
		case slices.Contains(names, c.Name) || !Enabled(c.Name, list, c.DisabledByDefault):
		case slices.Contains(list, c.Name):
			named = append(named, c.Name)
		default:
			others = append(others, c.Name)
		}
	}
	return named, others
}

// suggest returns the words nearest to one that isn't among them, as the end of an error's sentence: at most three near
// ones, else all of a short list, else where it starts.
func suggest(word string, from []string) string {
	if len(from) == 0 {
		return ": there are none"
	}
	words := slices.Clone(from)
	slices.Sort(words)
	words = slices.Compact(words)
	if i := slices.IndexFunc(words, func(w string) bool { return strings.EqualFold(w, word) }); i >= 0 {
		return ": did you mean " + words[i] + "?"
	}
	near := slices.DeleteFunc(slices.Clone(words), func(w string) bool {
		return distance(word, w) > max(2, len(word)/3) && !(len(word) > 3 && strings.Contains(letters(w), letters(word)))
	})
	if len(near) > 0 {
		slices.SortStableFunc(near, func(a, b string) int { return distance(word, a) - distance(word, b) })
		return ": did you mean " + strings.Join(near[:min(3, len(near))], ", ") + "?"
	}
	return ": there are " + strings.Join(words, ", ")
}

// letters takes away what "root-ca" has and "RootCA" hasn't.
func letters(s string) string { return strings.ToLower(strings.ReplaceAll(s, "-", "")) }

// distance is how many letters have to be put in, taken out or replaced to make b of a, case aside.
func distance(a, b string) int {
	a, b = strings.ToLower(a), strings.ToLower(b)
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
