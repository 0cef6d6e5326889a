package kubeadm

import (
	"encoding/json"
	"os/exec"
	"slices"
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
		if why := stricter(v.Flag); why != "" && v.Refused == "" {
			used[why] = true
			continue
		}
		t.Errorf("--%s=%s: %v, natively %q", v.Flag, v.Value, ours, v.Refused)
	}
	if len(flags) < 50 || refused < 40 {
		t.Errorf("%d values of %d flags, %d of them refused natively", len(all), len(flags), refused)
	}
	for _, s := range stricterFlags {
		if !used[s.why] {
			t.Errorf("%q: there is no such difference", s.why)
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

// stricterFlags are those of which windlass refuses values that the native manager starts with, and why.
var stricterFlags = []struct {
	which func(*kcm.Flag) bool
	why   string
}{
	{func(f *kcm.Flag) bool { return f.Workers }, "without a worker the controller would run and do nothing"},
}

func stricter(name string) string {
	for _, g := range kcm.Groups {
		i := slices.IndexFunc(g.Flags, func(f kcm.Flag) bool { return f.Name == name })
		if i < 0 {
			continue
		}
		for _, s := range stricterFlags {
			if s.which(&g.Flags[i]) {
				return s.why
			}
		}
	}
	return ""
}
