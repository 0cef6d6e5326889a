package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	cliflag "k8s.io/component-base/cli/flag"

	"github.com/windlass-dev/windlass/config/kcm"
)

// collector is the controller that --enable-garbage-collector=false turns off.
const collector = "garbage-collector-controller"

// apart are the flags by hand that have defaults of their own.
var apart = []string{"enable-garbage-collector", "enable-leader-migration", "leader-migration-config"}

// byHand are kube-controller-manager's flags whose value isn't simply that of the field that the table names.
var byHand = map[string]func(c *Configuration, fs *pflag.FlagSet) error{
	"enable-leader-migration": migrate,
	"leader-migration-config": func(*Configuration, *pflag.FlagSet) error { return nil }, // the other one reads it
	"tls-min-version": func(c *Configuration, fs *pflag.FlagSet) error {
		if v := fs.Lookup("tls-min-version").Value; v.String() != "" { // empty is the default
			return setByPath(c, "serving.tls.minVersion", v)
		}
		return nil
	},
	"tls-cipher-suites": func(c *Configuration, fs *pflag.FlagSet) error {
		c.Serving.TLS.CipherSuites = slices.DeleteFunc(cipherSuites(fs), insecure)
		return nil
	},
	"root-ca-file": func(c *Configuration, fs *pflag.FlagSet) error { // of three plugins
		for _, plugin := range []string{"rootca", "serviceaccounttoken", "clustertrustbundle"} {
			c.configured(plugin).setSetting("root-ca-file", fs.Lookup("root-ca-file").Value.String())
		}
		return nil
	},
	// Natively the controller runs whenever there is a key, whatever --controllers says: others may need the tokens.
	"service-account-private-key-file": func(c *Configuration, fs *pflag.FlagSet) error {
		file := fs.Lookup("service-account-private-key-file").Value.String()
		if c.Signing.ServiceAccountKeyFile = file; file != "" && !c.SignsTokens() {
			c.Controllers = append([]string{tokenController}, c.Controllers...)
		}
		return nil
	},
	"enable-garbage-collector": func(c *Configuration, fs *pflag.FlagSet) error {
		// the first entry that names a controller decides
		if fs.Lookup("enable-garbage-collector").Value.String() == "false" {
			c.Controllers = append([]string{"-" + collector},
				slices.DeleteFunc(slices.Clone(c.Controllers), func(s string) bool {
					return s == collector || s == "garbagecollector"
				})...)
		}
		return nil
	},
}

// upstream returns kube-controller-manager's flags that are added here: those that stand for a field of the file with
// the same meaning are among the overrides, one or two are cobra's.
func upstream() (all []kcm.Flag) {
	for _, g := range kcm.Groups {
		for _, f := range g.Flags {
			if f.Value != nil && !slices.ContainsFunc(overrides, func(o override) bool { return o.name == f.Name }) {
				all = append(all, f)
			}
		}
	}
	return all
}

// addUpstream adds kube-controller-manager's flags. Where the field that one sets has another default here, that is the
// flag's.
func addUpstream(fs *pflag.FlagSet) {
	fs.SetNormalizeFunc(underscores)
	c := Default()
	for _, f := range upstream() {
		if fs.Lookup(f.Name) != nil {
			continue
		}
		f.Add(fs)
		// Of plugins the manifests have the defaults; a flag of another type than its field's doesn't show the field's.
		if field, err := findField(c, f.Sets); err == nil && f.Sets != "" && !slices.Contains(apart, f.Name) {
			fs.Lookup(f.Name).DefValue = formatDefault(field)
		}
	}
}

// underscores takes --kube_api_qps for --kube-api-qps, as upstream does (WordSepNormalizeFunc in
// k8s.io/component-base/cli/flag).
func underscores(_ *pflag.FlagSet, name string) pflag.NormalizedName {
	return pflag.NormalizedName(strings.ReplaceAll(name, "_", "-"))
}

// setUpstream puts one of kube-controller-manager's flags over the file's values.
func setUpstream(c *Configuration, f *kcm.Flag, fs *pflag.FlagSet) error {
	v := fs.Lookup(f.Name).Value
	if f.Check != nil {
		if err := f.Check(v.String()); err != nil {
			return fmt.Errorf("invalid value %q: %w", v.String(), err)
		}
	}
	switch by := byHand[f.Name]; {
	case by != nil:
		return by(c, fs)
	case f.Sets != "":
		return setByPath(c, f.Sets, v)
	case f.Name == featureGates:
		return setGates(c, fs)
	case f.Name == emulatedVersion:
		_, err := emulated(fs)
		return err
	}
	return nil
}

// cipherSuites returns those of --tls-cipher-suites.
func cipherSuites(fs *pflag.FlagSet) []string {
	list, _ := fs.GetStringSlice("tls-cipher-suites")
	return slices.Clone(list)
}

// insecure reports whether a cipher suite is one that Go calls insecure. Lists that were good advice once have such
// ones: a manifest with one of them is accepted, as upstream does.
func insecure(suite string) bool { return slices.Contains(cliflag.InsecureTLSCipherNames(), suite) }

// Notice says of a flag that was given and changes nothing why that is.
type Notice struct{ Flag, Why string }

// Notices returns which of the flags that were given, or whose environment variables were, change nothing here. fs has
// been through [FromFlags].
func Notices(fs *pflag.FlagSet) (all []Notice) {
	for _, f := range upstream() {
		switch given := fs.Lookup(f.Name); {
		case given == nil || !given.Changed:
		case f.Name == featureGates:
			gates, _ := parseGates(fs) // FromFlags has seen its errors
			for _, g := range gates {
				if g.by == "" && !g.effective(gates) {
					all = append(all, Notice{fmt.Sprintf("--%s=%s=%v", f.Name, g.name, g.on), kcm.Gates()[g.name].Idle(g.name)})
				}
			}
		case f.Name == "tls-cipher-suites":
			for _, s := range slices.DeleteFunc(cipherSuites(fs), func(s string) bool { return !insecure(s) }) {
				all = append(all, Notice{"--" + f.Name + "=" + s, "the cipher suite is insecure"})
			}
		case f.Name == "enable-leader-migration" && given.Value.String() == "true":
			all = append(all, unmigrated(fs)...)
		case f.Why != "":
			all = append(all, Notice{"--" + f.Name, f.Why})
		}
	}
	return all
}
