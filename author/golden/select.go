package golden

import (
	"fmt"
	"regexp"
	"strings"
)

// Pattern selects by TOPIC/CASE as -run of go test does: regular expressions between slashes, each for a part of the
// name.
type Pattern []*regexp.Regexp

// NewPattern compiles a pattern. An empty one selects all.
func NewPattern(text string) (p Pattern, err error) {
	if text == "" {
		return nil, nil
	}

	for part := range strings.SplitSeq(text, "/") {
		r, err := regexp.Compile(part)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", text, err)
		}
		p = append(p, r)
	}

	return p, nil
}

// Selects reports whether the pattern selects what is called so in a topic.
func (p Pattern) Selects(topic, name string) bool {
	for i, part := range []string{topic, name} {
		if i < len(p) && !p[i].MatchString(part) {
			return false
		}
	}

	return len(p) <= 2
}

// Of returns the cases that the pattern selects.
func (p Pattern) Of(cases []*Case) (selected []*Case) {
	for _, c := range cases {
		if p.Selects(c.Topic(), c.Name) {
			selected = append(selected, c)
		}
	}

	return selected
}
