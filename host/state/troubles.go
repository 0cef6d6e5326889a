package state

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/controller"
)

// How bad a trouble is.
const (
	Bad     = "bad"     // what is configured doesn't run, or not as it is configured: the process isn't healthy
	Warning = "warning" // single keys are held up, or something waits for somebody
	Note    = "note"    // nothing is wrong, but somebody should look
)

// Trouble is something that isn't as it should be.
type Trouble struct {
	// Level is one of the constants above.
	Level string `json:"level"`
	// About is a controller, a plugin, "plugins" or "configuration".
	About string `json:"about"`
	What  string `json:"what"`
	// Do says what to do next.
	Do string `json:"do,omitempty"`
	// Key is the one that What names, of Controller, which is one of those that it is about; both are empty where it
	// names none, and Key alone is for the only key of a controller.
	Controller string `json:"controller,omitempty"`
	Key        string `json:"key,omitempty"`
}

// naming returns the trouble with the key that it names.
func (t Trouble) naming(controller, key string) Trouble {
	t.Controller, t.Key = controller, key
	return t
}

// trouble makes one that names no key.
func trouble(level, about, what, do string) Trouble {
	return Trouble{Level: level, About: about, What: what, Do: do}
}

// What passes by itself within so long is no trouble.
const (
	startingMax = 30 * time.Second
	failingMax  = time.Minute
	endingMax   = 5 * time.Minute
	expiringMax = 30 * 24 * time.Hour
	triesFew    = 3
	troubleMost = 100
)

// onlyKey is the key that has no name, of a controller with one key alone.
const onlyKey = "its only key"

// Troubles returns what is wrong, the worst first, never nil. It looks at all of a status but its own Troubles.
func Troubles(s *Status) []Trouble {
	all := s.misconfigured()
	for i := range s.Controllers {
		all = append(all, s.troublesOf(&s.Controllers[i])...)
	}
	all = append(append(all, s.heldUpKeys()...), s.endingNamespaces()...)
	for i := range s.Plugins {
		all = append(all, s.Plugins[i].troubles(s.Process.Now)...)
	}

	all = append(mergeTroubles(all), s.unattended()...)
	slices.SortStableFunc(all, func(a, b Trouble) int { return cmp.Compare(badness[a.Level], badness[b.Level]) })
	return all[:min(len(all), troubleMost)]
}

// troubles are what is wrong with a key; of files that can't be used Refused tells.
func (k *SigningKey) troubles(now time.Time) (all []Trouble) {
	about := "signing of " + k.Signs
	if k.Until == nil {
		return all
	}
	switch left := k.Until.Sub(now); {
	case left <= 0:
		all = append(all, trouble(Bad, about, "the authority's certificate has expired: nothing is signed",
			"Replace "+strings.Join(k.Files, " and ")+"."))
	case left < expiringMax:
		all = append(all, trouble(Warning, about, "the authority's certificate expires on "+
			k.Until.UTC().Format(time.DateOnly)+", and no certificate that it signs is good for longer",
			"Replace "+strings.Join(k.Files, " and ")+"."))
	}
	return all
}

// misconfigured are what is configured or found, and can't be used.
func (s *Status) misconfigured() (all []Trouble) {
	if s.Refused != "" {
		all = append(all, trouble(Bad, "configuration", "isn't applied, at least in part: "+s.Refused,
			"Correct it: it is read again when the file changes, or at SIGHUP."))
	}

	for i := range s.SigningKeys {
		all = append(all, s.SigningKeys[i].troubles(s.Process.Now)...)
	}
	if len(s.Keyless) > 0 {
		all = append(all, trouble(Note, "signing", "there is no key for "+strings.Join(s.Keyless, ", ")+
			": these stay unsigned", "Name the files in signing, or turn the controller off."))
	}
	if len(s.Restart) > 0 {
		all = append(all, trouble(Warning, "configuration", "waits for a restart: "+strings.Join(s.Restart, ", "),
			"Restart windlass, or take the change back: these fields are read at the start only."))
	}
	for _, name := range slices.Sorted(maps.Keys(s.Missing)) {
		all = append(all, trouble(Bad, name, "its image isn't available: "+s.Missing[name],
			"Look at plugins["+name+"].image and at registries; windlass keeps trying to pull it."))
	}
	for _, name := range s.Leaving {
		all = append(all, trouble(Warning, name, "was turned off, and writes that it has begun still wait for the API server",
			"Wait until it is gone before another manager runs this controller."))
	}
	for _, why := range s.LeftOut {
		if s.isOfMissing(why) {
			continue
		}
		all = append(all, trouble(Bad, "plugins", "one isn't loaded: "+why,
			"Correct or remove it: it is looked at again when it changes."))
	}
	return all
}

// isOfMissing reports whether a plugin was left out for an image that isn't available, which is told by itself.
func (s *Status) isOfMissing(why string) bool {
	for _, missing := range s.Missing {
		if strings.Contains(why, missing) {
			return true
		}
	}
	return false
}

// troublesOf are those of one controller, single keys aside.
func (s *Status) troublesOf(c *ControllerStatus) (all []Trouble) {
	add := func(level, what, do string) { all = append(all, trouble(level, c.Name, what, do)) }
	addKey := func(x *controller.Stuck, what, do string) {
		all = append(all, trouble(Warning, c.Name, what, do).naming(c.Name, x.Key))
	}

	switch {
	case c.State == "Quarantined":
		do := "windlass record " + c.Name + " saves its last syncs; load another version, or windlass release " + c.Name
		if c.Probe != nil {
			do += fmt.Sprintf(". One key is tried in %s, and it comes back when that goes well.",
				max(c.Probe.Sub(s.Process.Now), 0).Round(time.Second))
		}
		add(Bad, "is quarantined: "+c.Message, do)
	case c.State == "Degraded":
		add(Bad, fmt.Sprintf("is degraded: nearly all of its keys fail, and %s set aside: %s", counted(c.Aside, "key"),
			c.Message), "windlass record "+c.Name+" saves its last syncs, for a bug report; what fails is tried again every "+
			"few minutes, or at once after windlass release "+c.Name)
	case c.State == "Idle":
		add(Bad, c.Message, "")
	case c.State == "Starting" && s.Process.Now.Sub(s.Process.Started) > startingMax:
		add(Bad, c.Message, "Its caches don't sync: the log says what the API server answers.")
	case c.State == "Running" && c.Message != "":
		add(Warning, c.Message,
			"It goes on with what was there last. Where a definition has gone, so may the controller.")
	}

	for i := range c.Unlisted {
		all = append(all, s.withoutUnlisted(c, &c.Unlisted[i]))
	}
	if r := c.Hastiest; r != nil {
		what := fmt.Sprintf("%s slowed down, the longest %s: %s (%s)",
			counted(c.Restless, "key"), cmp.Or(r.Key, onlyKey), r.Error, counted(r.Tries, "such sync"))
		addKey(r, what, "Correct its plugin: a sync that has nothing to do yet asks for a later time "+
			"(windlass docs abi, requeue_after). windlass get keys --controller "+c.Name)
	}
	if x := c.Slowest; x != nil {
		what := fmt.Sprintf("%s syncing for longer than 30s, the longest %s", counted(c.Slow, "key"), cmp.Or(x.Key, onlyKey))
		if len(x.WaitsFor) > 0 {
			what += ", which waits for " + strings.Join(x.WaitsFor, "; ")
		}
		addKey(x, what, "Other keys go on meanwhile, as far as there are workers. Where it waits for the API server, look "+
			"for a webhook that hangs; a sync of thousands of requests waits for its own limit (--kube-api-qps), too. "+
			"windlass get keys --controller "+c.Name)
	}
	if x := c.OldestUnsettled; x != nil {
		what := fmt.Sprintf("%s with a write of which it isn't known whether it was done, the longest %s (%s)",
			counted(c.Unsettled, "key"), cmp.Or(x.Key, onlyKey), strings.Join(x.WaitsFor, "; "))
		addKey(x, what, "Until it is known such a key makes and deletes no other object of that resource; all else goes "+
			"on. The API server hasn't answered, or has answered something odd. windlass get keys --controller "+c.Name)
	}
	if c.Differences > 0 {
		add(Note, "its shadow answers differently: "+counted(c.Differences, "difference"),
			"windlass get differences --controller "+c.Name)
	}
	return all
}

// withoutUnlisted returns the trouble that a controller runs without a resource that can't be listed.
func (s *Status) withoutUnlisted(c *ControllerStatus, u *Unlisted) Trouble {
	what := fmt.Sprintf("goes on without %s, which can't be listed since %s (%s): %s", u.Resource,
		u.Since.Format(time.RFC3339), s.Process.Now.Sub(u.Since).Round(time.Second),
		cmp.Or(u.Why, "the API server hasn't answered"))
	return trouble(Warning, c.Name, what, "Mend what its answer names: keys that can't do without it wait. "+
		"windlass get keys --controller "+c.Name)
}

// troubles are those of a plugin's versions.
func (p *PluginStatus) troubles(now time.Time) (all []Trouble) {
	if p.Broken != "" {
		all = append(all, trouble(Bad, p.Name, "its file was rejected, the version before keeps running: "+p.Broken,
			"Copy or build it again: it is looked at when it changes."))
	}
	if m := p.Memory; m.Held > m.Limit-m.Limit/5 {
		all = append(all, trouble(Warning, p.Name,
			"it holds more than four fifths of its budget.memory: its syncs fail when that is used up",
			"windlass get plugins -o json shows for what; raise plugins["+p.Name+"].budget.memory, or have it keep less."))
	}
	if n := p.Next; n != nil && now.Sub(n.Since) > startingMax {
		all = append(all, trouble(Warning, p.Name, fmt.Sprintf("its next version (%s) waits for its caches since %s, the one "+
			"before keeps running: %s", n.Version, n.Since.Format(time.RFC3339), n.Why),
			"Mend what keeps the resource from being listed and watched; it takes over by itself then."))
	}
	for _, why := range p.Failed {
		all = append(all, trouble(Warning, p.Name, "a version was tried and dropped: "+why,
			"It isn't tried again until it changes."))
	}
	return all
}

// mergeTroubles puts troubles that say the same of several controllers together.
func mergeTroubles(all []Trouble) []Trouble {
	out := []Trouble{}
	for _, t := range all {
		i := slices.IndexFunc(out, func(x Trouble) bool { return x.Level == t.Level && x.What == t.What && x.Do == t.Do })
		if i < 0 {
			out = append(out, t)
			continue
		}
		out[i].About += ", " + t.About
	}
	return out
}

// heldUpKeys returns warnings of keys whose syncs go on failing, one for each cause, of whichever controllers.
func (s *Status) heldUpKeys() (all []Trouble) {
	type cause struct {
		controllers []string
		keys        int
		oldest      controller.Stuck
	}
	byText := map[string]*cause{}
	var order []string
	for i := range s.Controllers {
		c := &s.Controllers[i]
		for _, x := range c.Causes {
			lasts := !x.Oldest.Since.IsZero() && s.Process.Now.Sub(x.Oldest.Since) > failingMax
			if x.Oldest.Tries < triesFew && x.Oldest.State != controller.GivenUp && !lasts {
				continue // it may pass by itself
			}
			x.Oldest.Controller = c.Name
			found := byText[x.Text]
			if found == nil {
				found = &cause{oldest: x.Oldest}
				byText[x.Text], order = found, append(order, x.Text)
			}
			found.controllers, found.keys = append(found.controllers, c.Name), found.keys+x.Keys
			if x.Oldest.Since.Before(found.oldest.Since) {
				found.oldest = x.Oldest
			}
		}
	}

	for _, text := range order {
		x := byText[text]
		do, key := "windlass get keys", cmp.Or(x.oldest.Key, onlyKey)
		if len(x.controllers) == 1 {
			do += " --controller " + x.controllers[0]
		} else {
			key = x.oldest.Controller + "'s " + key
		}
		what := fmt.Sprintf("%s stuck, the longest %s (%s, %s): %s",
			counted(x.keys, "key"), key, x.oldest.State, counted(x.oldest.Tries, "failed sync"), x.oldest.Error)
		all = append(all, trouble(Warning, strings.Join(x.controllers, ", "), what, do).
			naming(x.oldest.Controller, x.oldest.Key))
	}
	return all
}

// endingNamespaces returns warnings of namespaces that take too long to end.
func (s *Status) endingNamespaces() (all []Trouble) {
	for _, x := range s.Ending {
		if took := s.Process.Now.Sub(x.Since); took > endingMax {
			all = append(all, trouble(Warning, "namespace "+x.Namespace,
				fmt.Sprintf("has been terminating for %s", took.Round(time.Second)), "kubectl get namespace "+x.Namespace+
					" -o yaml: its conditions say what is left in it, and which finalizers keep that."))
		}
	}
	return all
}

// unattended are notes of objects that no controller here handles, one for each resource.
func (s *Status) unattended() (all []Trouble) {
	byResource := map[string][]*Absent{}
	for i := range s.Absent {
		if a := &s.Absent[i]; a.Objects > 0 {
			byResource[a.Resource] = append(byResource[a.Resource], a)
		}
	}
	for _, r := range slices.Sorted(maps.Keys(byResource)) {
		absent, names := byResource[r], []string{}
		do := "Run one that does beside this manager: windlass docs migrating."
		for _, a := range absent {
			names = append(names, a.Name)
			if a.State == Disabled && a.Built {
				do = "Turn it on with --controllers, unless another manager runs it."
			}
		}
		what := absent[0].Message
		if len(absent) > 1 {
			what = "don't run"
		}
		resource, _ := abi.ParseResource(r)
		what = fmt.Sprintf("%s: no controller here handles %s", what, objects(absent[0].Objects, resource))
		all = append(all, trouble(Note, strings.Join(names, ", "), what, do))
	}
	return all
}

// objects is a number of a resource's objects, as kubectl names the resource.
func objects(n int64, r abi.Resource) string {
	name := r.Name
	if r.Group != "" {
		name += "." + r.Group
	}
	return fmt.Sprintf("%d %s", n, name)
}

var badness = map[string]int{Bad: 0, Warning: 1, Note: 2}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
