package main

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
)

// todo has, by folder, the rules that the folder isn't held to yet.
type todo map[string][]string

const todoHead = `# Folders that are still to be mended, with the rules that they aren't held to yet. This list only becomes shorter:
# hack/lint.sh -prune takes out what has been mended.
`

// entry is a rule that a folder isn't held to yet.
type entry struct{ folder, rule string }

func readTodo(name string) (todo, error) {
	b, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	return parseTodo(name, string(b))
}

func parseTodo(name, text string) (todo, error) {
	t := todo{}
	for i, l := range strings.Split(text, "\n") {
		words := strings.Fields(l)
		if len(words) == 0 || strings.HasPrefix(l, "#") {
			continue
		}
		for _, rule := range words[1:] {
			if !slices.Contains(rules, rule) {
				return nil, fmt.Errorf("%s:%d: there is no rule %q; there are %s", name, i+1, rule, strings.Join(rules, ", "))
			}
		}
		t[words[0]] = words[1:]
	}
	return t, nil
}

func (t todo) has(folder, rule string) bool { return slices.Contains(t[folder], rule) }

// staleEntries returns the entries that nothing is found of. Names are a share of the whole: where they are mended,
// somebody takes them out by hand.
func (t todo) staleEntries(found []finding) (all []entry) {
	seen := map[entry]bool{}
	for _, f := range found {
		seen[entry{f.folder(), f.rule}] = true
	}
	for _, folder := range slices.Sorted(maps.Keys(t)) {
		for _, rule := range t[folder] {
			if rule != "names" && !seen[entry{folder, rule}] {
				all = append(all, entry{folder, rule})
			}
		}
	}
	return all
}

// write writes the list without some entries.
func (t todo) write(name string, without []entry) error {
	var out strings.Builder
	out.WriteString(todoHead)
	for _, folder := range slices.Sorted(maps.Keys(t)) {
		left := slices.DeleteFunc(slices.Clone(t[folder]), func(rule string) bool {
			return slices.Contains(without, entry{folder, rule})
		})
		if len(left) > 0 {
			fmt.Fprintln(&out, folder, strings.Join(left, " "))
		}
	}
	return os.WriteFile(name, []byte(out.String()), 0o644)
}
