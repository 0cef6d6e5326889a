package life

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
)

// Matches returns what keeps a value from being as wanted, empty where it is. Of a map only the wanted fields
// count, null is for one that isn't there; of a list each wanted element must be matched by one that there is, in
// any order; a text that begins with "~" is a regular expression.
func Matches(want, got any) (why string) {
	return matches("", want, got)
}

func matches(path string, want, got any) string {
	switch want := want.(type) {
	case nil:
		if got != nil {
			return fmt.Sprintf("%s is %s, not unset", path, jsonText(got))
		}
	case map[string]any:
		m, ok := got.(map[string]any)
		if !ok && got != nil {
			return fmt.Sprintf("%s is %s, no map", path, jsonText(got))
		}
		for k, w := range want {
			if why := matches(path+"."+k, w, m[k]); why != "" {
				return why
			}
		}
	case []any:
		list, _ := got.([]any)
		for i, w := range want {
			found := false
			for _, g := range list {
				found = found || matches("", w, g) == ""
			}
			if !found {
				return fmt.Sprintf("%s[%d]: none is %s, of %s", path, i, jsonText(w), jsonText(got))
			}
		}
		if len(want) == 0 && len(list) > 0 {
			return fmt.Sprintf("%s is %s, not empty", path, jsonText(got))
		}
	case string:
		g, ok := got.(string)
		if pattern, is := strings.CutPrefix(want, "~"); is && ok {
			re, err := regexp.Compile(strings.TrimSpace(pattern))
			if err == nil && re.MatchString(g) {
				return ""
			}
			return fmt.Sprintf("%s is %q, which %s doesn't match", path, g, pattern)
		}
		if !ok || g != want {
			return fmt.Sprintf("%s is %s, not %q", path, jsonText(got), want)
		}
	default: // numbers and booleans; what the API leaves out is 0 or false
		if jsonText(want) == jsonText(got) || got == nil && (jsonText(want) == "0" || jsonText(want) == "false") {
			return ""
		}
		return fmt.Sprintf("%s is %s, not %s", path, jsonText(got), jsonText(want))
	}

	return ""
}

func jsonText(v any) string {
	b, _ := json.Marshal(v) // of what came out of JSON
	return string(b)
}
