package kubeadm

import (
	"encoding/json"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/windlass-dev/windlass/config"
	"github.com/windlass-dev/windlass/config/kcm"
	"github.com/windlass-dev/windlass/test/cluster"
)

// Each flag takes the numbers and times that the native manager takes, on both sides of each of its bounds.
func TestRanges(t *testing.T) {
	out, err := exec.Command(cluster.Binary(), "kube-controller-manager-ranges").Output()
	if err != nil {
		t.Fatalf("%s kube-controller-manager-ranges: %v: run make devcluster", cluster.Binary(), err)
	}
	var all []struct{ Flag, Value, Refused string }
	mustSucceed(t, json.Unmarshal(out, &all))

	flags, refused, used := map[string]bool{}, 0, map[string]bool{}
	for _, v := range all {
		flags[v.Flag] = true
		if v.Refused != "" {
			refused++
		}
		ours := setFlag(v.Flag, v.Value)
		if (ours == nil) == (v.Refused == "") {
			continue
		}
		if why := meant(v.Flag, ours != nil); why != "" {
			used[why] = true
			continue
		}
		t.Errorf("--%s=%s: %v, natively %q", v.Flag, v.Value, ours, v.Refused)
	}
	if len(flags) < 50 || refused < 40 {
		t.Errorf("%d values of %d flags, %d of them refused natively", len(all), len(flags), refused)
	}
	for _, d := range meantDifferences {
		if !used[d.why] {
			t.Errorf("%q: there is no such difference", d.why)
		}
	}
}

// setFlag returns what windlass says of a flag's value.
func setFlag(name, value string) error {
	fs := pflag.NewFlagSet("windlass", pflag.ContinueOnError)
	config.AddFlags(fs)
	if err := fs.Parse([]string{"--" + name + "=" + value}); err != nil {
		return err
	}
	_, err := config.FromFlags(fs)
	return err
}

// meantDifferences are flags of which windlass refuses values that the native manager starts with, or takes what that
// one refuses, and why: the rows "flags" of docs/differences.md.
var meantDifferences = []struct {
	which   func(*kcm.Flag) bool
	refuses bool
	why     string
}{
	{func(f *kcm.Flag) bool { return f.Workers }, true, "without a worker the controller would run and do nothing"},
	{begins("leader-elect-"), true, "natively they are refused only when the election begins"},
	{begins("authentication-token-webhook-cache-ttl", "authorization-webhook-cache-"), true,
		"who may no longer ask is let in for so long"},
	{begins("kube-api-"), true, "natively nothing bounds the requests then"},
	{begins("controller-shutdown-timeout", "min-resync-period"), true, "a time below zero says nothing"},
	{begins("cluster-signing-duration"), true, "no certificate would be good when it comes"},
	{begins("secure-port"), false, "any free port"},
}

func begins(names ...string) func(*kcm.Flag) bool {
	return func(f *kcm.Flag) bool {
		return slices.ContainsFunc(names, func(n string) bool { return strings.HasPrefix(f.Name, n) })
	}
}

// meant returns why windlass refuses values of a flag, or takes them; empty: it isn't meant to.
func meant(name string, refuses bool) string {
	name = strings.ReplaceAll(name, "_", "-") // some have an old name as well
	for _, g := range kcm.Groups {
		i := slices.IndexFunc(g.Flags, func(f kcm.Flag) bool { return f.Name == name })
		if i < 0 {
			continue
		}
		for _, d := range meantDifferences {
			if d.refuses == refuses && d.which(&g.Flags[i]) {
				return d.why
			}
		}
	}
	return ""
}
