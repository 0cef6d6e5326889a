package controller

import (
	"cmp"
	"slices"
	"strings"
)

// Cause is why some of a controller's keys aren't done: they say the same, but for their names.
type Cause struct {
	// Text is what they say without the words that have a key's name or namespace in them: it is equal for keys with the
	// same cause, of other controllers, too.
	Text string `json:"text"`
	// Keys is how many there are, Oldest the one that has been so for longest.
	Keys   int   `json:"keys"`
	Oldest Stuck `json:"oldest"`
}

// causesMost is how many causes of a controller are told of.
const causesMost = 10

// Causes returns why keys' last syncs failed or were put off, those with the most keys first, ten at most.
func (c *Controller) Causes() []Cause {
	all := c.stuck.groupCauses()
	for i := range all {
		all[i].Oldest.Controller = c.name
	}
	return all
}

func (s *stuck) groupCauses() (all []Cause) {
	if s.count.Load() == 0 {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	byText := map[string]*Cause{}
	for k, x := range s.keys {
		if x.State == Parked {
			continue
		}
		text := without(x.Error, k)
		if byText[text] == nil {
			byText[text] = &Cause{Text: text, Oldest: *x}
		}
		found := byText[text]
		if found.Keys++; x.Since.Before(found.Oldest.Since) {
			found.Oldest = *x
		}
	}

	for _, x := range byText {
		all = append(all, *x)
	}
	slices.SortFunc(all, func(a, b Cause) int {
		return cmp.Or(cmp.Compare(b.Keys, a.Keys),
			strings.Compare(a.Text, b.Text))
	})
	return all[:min(len(all), causesMost)]
}

// without leaves out the words of an error that have the key's name or namespace in them, such as those of its pods,
// whose names begin with it.
func without(text string, k Key) string {
	var b strings.Builder
	for text != "" {
		n := strings.IndexFunc(text, func(r rune) bool { return !isNameRune(r) })
		if n < 0 {
			n = len(text)
		}
		if word := text[:n]; standsIn(word, k.Name) || standsIn(word, k.Namespace) {
			b.WriteString("…")
		} else {
			b.WriteString(word)
		}
		text = text[n:]

		n = strings.IndexFunc(text, isNameRune)
		if n < 0 {
			n = len(text)
		}
		b.WriteString(text[:n])
		text = text[n:]
	}
	return b.String()
}

// isNameRune reports whether a character can be in an object's name.
func isNameRune(r rune) bool {
	return r == '-' || r == '.' || r == ':' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
}

// standsIn reports whether a name stands in a word by itself, or between dashes and the like.
func standsIn(word, name string) bool {
	if name == "" {
		return false
	}
	for at := 0; ; at++ {
		i := strings.Index(word[at:], name)
		if i < 0 {
			return false
		}
		at += i
		end := at + len(name)
		if (at == 0 || isSeparator(word[at-1])) && (end == len(word) || isSeparator(word[end])) {
			return true
		}
	}
}

func isSeparator(c byte) bool { return c == '-' || c == '.' || c == ':' }
