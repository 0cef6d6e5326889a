package kcm

import (
	"cmp"
	"unicode"
)

// builtin is the plugin of a controller that is here.
type builtin struct {
	plugin string
	// several is that the plugin has other controllers that operators turn on and off.
	several  bool
	settings map[string]string // what each is, by name
}

// setMeanings sets what the flags mean that a single controller reads: they are its plugin's number of workers, or
// the setting of the same name.
func setMeanings(groups []Group) []Group {
	for _, g := range groups {
		for i := range g.Flags {
			if f := &g.Flags[i]; f.Of != "" {
				f.setMeaning()
			}
		}
	}
	return groups
}

func (f *Flag) setMeaning() {
	b, here := builtins[f.Of]
	setting, has := b.settings[f.Name]
	switch {
	case f.Sets+f.Does+f.Why != "":
	case !here:
		f.Why = f.Of + Unbuilt
	case f.Workers:
		of := ""
		if b.several {
			of = ".controllers[" + f.Of + "]"
		}
		f.Sets, f.Usage = "plugins["+b.plugin+"]"+of+".workers", "how many keys are synced at the same time"
	case has:
		f.Sets, f.Usage = "plugins["+b.plugin+"].settings["+f.Name+"]", cmp.Or(f.Usage, endOfSentence(setting))
	default:
		f.Why = f.Of + " has no use for it here"
	}
}

// endOfSentence returns a sentence as the end of another one.
func endOfSentence(sentence string) string {
	r := []rune(sentence)
	if len(r) > 1 && unicode.IsLower(r[1]) {
		r[0] = unicode.ToLower(r[0])
	}
	if n := len(r); n > 0 && r[n-1] == '.' {
		r = r[:n-1]
	}
	return string(r)
}
