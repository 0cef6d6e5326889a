package config

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/pflag"
	"github.com/spf13/viper"
)

// envPrefix starts the names of environment variables: --plugin-folder is WINDLASS_PLUGIN_FOLDER.
//
// Variables of that prefix that name no flag are not an error: Kubernetes sets WINDLASS_SERVICE_HOST in every pod of a
// namespace with a service "windlass".
const envPrefix = "WINDLASS"

// override is a flag that stands for a field of the file.
type override struct {
	name string
	add  func(fs *pflag.FlagSet, name string, c *Configuration)
}

// overrides are the flags that stand for fields of the file and aren't simply in the table of
// kube-controller-manager's, package kcm.
var overrides = []override{
	{"logging-format", func(fs *pflag.FlagSet, n string, c *Configuration) {
		fs.StringVar(&c.Logging.Format, n, c.Logging.Format, "text, or json: one object per line")
	}},
	{"v", func(fs *pflag.FlagSet, n string, c *Configuration) {
		fs.Int32VarP(&c.Logging.Verbosity, n, "v", c.Logging.Verbosity,
			"how much is logged: 0 what an operator should know, 2 what happens again and again, 4 each sync")
	}},
	{"vmodule", func(fs *pflag.FlagSet, n string, c *Configuration) {
		fs.Var((*vmoduleFlag)(&c.Logging.VModule), n,
			"other verbosities for source files of the host, in the text format only")
	}},
	{"plugin-folder", func(fs *pflag.FlagSet, n string, c *Configuration) {
		fs.StringVar(&c.PluginFolder, n, c.PluginFolder,
			"folder of *.wasm plugins, each the plugin of its own name")
	}},
}

// AddFlags adds --config and the flags that stand for fields of the file, with the defaults of the fields, and
// kube-controller-manager's other flags. [FromFlags] reads them.
func AddFlags(fs *pflag.FlagSet) {
	fs.String("config", "", "path of a "+Kind+" file ("+APIVersion+
		"); flags and WINDLASS_* variables take precedence over it")
	c := Default()
	for _, o := range overrides {
		o.add(fs, o.name, c)
	}
	addUpstream(fs)
}

// FromFlags loads the file that --config names and puts over it what flags say, or else the environment
// (WINDLASS_KUBECONFIG for --kubeconfig, and so on). The whole is checked. fs was parsed after [AddFlags].
//
// viper only finds which flag or variable says something. It never parses the file (it folds case inside lists, splits
// keys at dots, and reads 5 as 5 ns), nor the values: a number that isn't one would become 0.
func FromFlags(fs *pflag.FlagSet) (*Configuration, error) {
	v := viper.New()
	v.SetEnvPrefix(envPrefix)
	v.SetEnvKeyReplacer(strings.NewReplacer("-", "_"))
	v.AutomaticEnv()
	var errs []error
	given := map[string]string{} // by flag: what says it, for errors
	find := func(name string) {
		if f := fs.Lookup(name); f.Changed {
			given[name] = "--" + name
		} else if v.IsSet(name) {
			given[name] = envPrefix + "_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
			if err := fs.Set(name, v.GetString(name)); err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", given[name], err))
			}
		}
	}

	find("config")
	names := []string{} // in the order in which they are put over the file
	for _, o := range overrides {
		names = append(names, o.name)
	}

	theirs := upstream()
	for _, f := range theirs {
		names = append(names, f.Name)
	}
	for _, name := range names {
		find(name)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}

	c, err := Load(fs.Lookup("config").Value.String())
	if err != nil {
		return nil, err
	}

	// The same flags once more, this time over the file's values: a flag's own parser is what turns its text into the
	// field.
	over := pflag.NewFlagSet("overrides", pflag.ContinueOnError)
	for _, o := range overrides {
		if given[o.name] == "" {
			continue
		}
		o.add(over, o.name, c)
		text := fs.Lookup(o.name).Value.String()
		if s, ok := fs.Lookup(o.name).Value.(pflag.SliceValue); ok {
			if err := over.Lookup(o.name).Value.(pflag.SliceValue).Replace(s.GetSlice()); err != nil {
				return nil, fmt.Errorf("%s: %w", given[o.name], err)
			}
		} else if err := over.Set(o.name, text); err != nil {
			return nil, fmt.Errorf("%s: %w", given[o.name], err)
		}
	}

	for _, f := range theirs {
		if given[f.Name] != "" {
			if err := setUpstream(c, &f, fs); err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", given[f.Name], err))
			}
		}
	}

	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	if err := c.Validate(); err != nil {
		var sources []string
		for _, name := range names {
			if given[name] != "" {
				sources = append(sources, given[name])
			}
		}
		return nil, fmt.Errorf("configuration with %s: %w", strings.Join(sources, ", "), err)
	}

	return c, nil
}
