package config

import (
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/windlass-dev/windlass/config/kcm"
)

// What an edit takes from a plugin is taken before the edit is known to be whole, what it gives isn't.
func TestRightsOfAnEdit(t *testing.T) {
	pods := Rule{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"list", "watch", "delete"},
		Namespaces: []string{"web", "shop"}, Selector: metav1.LabelSelector{MatchLabels: map[string]string{"team": "web"}}}
	changed := func(change func(*Rule)) []Rule {
		r := pods
		change(&r)
		return []Rule{r}
	}
	keys := []string{"/etc/a.pub"}

	for name, c := range map[string]struct {
		was, now *Plugin // nil: it has no entry
		widens   bool
	}{
		"the entry is gone":       {&Plugin{Grant: []Rule{}}, nil, true},
		"the grant is gone":       {&Plugin{Grant: []Rule{pods}, Workers: 3}, &Plugin{Workers: 3}, true},
		"an entry without rights": {&Plugin{Workers: 3}, nil, false},
		"a first grant":           {nil, &Plugin{Grant: []Rule{pods}}, false},
		"an empty grant":          {&Plugin{Grant: []Rule{pods}}, &Plugin{Grant: []Rule{}}, false},
		"one rule more":           {&Plugin{Grant: []Rule{}}, &Plugin{Grant: []Rule{pods}}, true},
		"one rule less": {&Plugin{Grant: []Rule{pods, {APIGroups: []string{"*"}}}},
			&Plugin{Grant: []Rule{pods}}, false},
		"a verb less": {&Plugin{Grant: []Rule{pods}},
			&Plugin{Grant: changed(func(r *Rule) { r.Verbs = r.Verbs[:2] })}, false},
		"all verbs": {&Plugin{Grant: []Rule{pods}},
			&Plugin{Grant: changed(func(r *Rule) { r.Verbs = []string{"*"} })}, true},
		"a namespace less": {&Plugin{Grant: []Rule{pods}},
			&Plugin{Grant: changed(func(r *Rule) { r.Namespaces = r.Namespaces[:1] })}, false},
		"all namespaces": {&Plugin{Grant: []Rule{pods}},
			&Plugin{Grant: changed(func(r *Rule) { r.Namespaces = nil })}, true},
		"all labels": {&Plugin{Grant: []Rule{pods}},
			&Plugin{Grant: changed(func(r *Rule) { r.Selector = metav1.LabelSelector{} })}, true},
		"a first account":        {nil, &Plugin{ServiceAccount: "a"}, false},
		"another account":        {&Plugin{ServiceAccount: "a"}, &Plugin{ServiceAccount: "b"}, true},
		"a user no more":         {&Plugin{Impersonate: Impersonate{User: "jane"}}, &Plugin{}, true},
		"deletes without bounds": {&Plugin{Budget: Budget{DeletesPerMinute: 5}}, &Plugin{}, true},
		"more deletes": {&Plugin{Budget: Budget{DeletesPerMinute: 5}},
			&Plugin{Budget: Budget{DeletesPerMinute: 6}}, true},
		"fewer deletes": {&Plugin{Budget: Budget{DeletesPerMinute: 5}},
			&Plugin{Budget: Budget{DeletesPerMinute: 4}}, false},
		"no signature": {&Plugin{VerificationKeys: keys}, &Plugin{}, true},
	} {
		t.Run(name, func(t *testing.T) {
			with := func(p *Plugin) *Configuration {
				k := Default()
				k.MinResyncPeriod.Duration = 0
				if p != nil {
					p.Name = "p"
					k.Plugins = []Plugin{{Name: "other", Workers: 1}, *p}
				}
				return k
			}
			before, after := with(c.was), with(c.now)
			after.MinResyncPeriod.Duration = 7

			rights := func(k *Configuration) *Plugin {
				p := &Plugin{Name: "p"}
				p.setRights(k.entry("p"))
				return p
			}
			narrowed, held, which := Narrowed(before, after), (*Configuration)(nil), []string(nil)
			held, which = HeldBack(before, after)
			if narrowed.MinResyncPeriod.Duration != 0 || held.MinResyncPeriod.Duration != 7 {
				t.Error("what isn't rights is taken from the wrong configuration")
			}
			if c.widens != slices.Equal(which, []string{"plugins[p]"}) || !c.widens && which != nil {
				t.Errorf("held back: %q", which)
			}
			source := after
			if c.widens {
				source = before
			}
			for _, k := range []*Configuration{narrowed, held} {
				if got, want := rights(k), rights(source); Widens(got, want) || Widens(want, got) {
					t.Errorf("allows %+v, want %+v", got, want)
				}
			}
		})
	}

	before, after := Default(), Default()
	before.UseServiceAccountCredentials, before.Registries.VerificationKeys = true, keys
	k, which := HeldBack(before, after)
	if want := []string{"useServiceAccountCredentials", "registries.verificationKeys"}; !slices.Equal(which, want) ||
		!k.UseServiceAccountCredentials || !slices.Equal(k.Registries.VerificationKeys, keys) {
		t.Errorf("held back: %q: %+v", which, k)
	}
	if k := Narrowed(before, after); !k.UseServiceAccountCredentials {
		t.Error("all plugins write as the manager")
	}
}

// Half a file may lack the list of controllers, or its end: none runs for that which was off.
func TestControllersOfAnEdit(t *testing.T) {
	for name, c := range map[string]struct {
		was, now []string
		widens   bool
	}{
		"the list is gone":          {[]string{"*", "-job"}, []string{"*"}, true},
		"only some ran":             {[]string{"job"}, []string{"*"}, true},
		"one more":                  {[]string{"job"}, []string{"job", "cronjob"}, true},
		"another plugin's":          {[]string{"*", "-greeter"}, []string{"*"}, true},
		"one that is off by itself": {[]string{"*"}, []string{"*", "bootstrap-signer-controller"}, true},
		"none ran":                  {[]string{}, []string{"greeter"}, true},
		"one instead of another":    {[]string{"job", "greeter"}, []string{"greeter", "cronjob"}, true},
		"named instead of all":      {[]string{"*", "-job"}, []string{"job", "cronjob", "greeter"}, true},
		"one less":                  {[]string{"*"}, []string{"*", "-job"}, false},
		"none":                      {[]string{"*"}, []string{}, false},
		"an alias":                  {[]string{"*", "-job"}, []string{"-job-controller", "*"}, false},
		"named, and ran before":     {[]string{"*"}, []string{"*", "job", "greeter"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			before, after := Default(), Default()
			before.Controllers, after.Controllers = c.was, c.now
			k, held := HeldBack(before, after)
			which := []string(nil)
			if c.widens {
				which = []string{"controllers"}
			}
			if !slices.Equal(held, which) {
				t.Errorf("held back: %q", held)
			}
			for _, name := range []string{"job-controller", "cronjob-controller", "greeter", "bootstrap-signer-controller", ""} {
				runs := func(list []string) bool { return isOn(name, Canonical(list, kcm.Aliases())) }
				if runs(k.Controllers) != (runs(c.now) && (runs(c.was) || !c.widens)) {
					t.Errorf("%q runs: %v, of %q", name, runs(k.Controllers), k.Controllers)
				}
			}
			if k := Narrowed(before, after); !slices.Equal(k.Controllers, c.was) {
				t.Errorf("of a file that may be half written, %q run", k.Controllers)
			}
		})
	}
}
