package main

import (
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/kubernetes/cmd/kube-controller-manager/app"
	"k8s.io/kubernetes/cmd/kube-controller-manager/app/options"
)

// nativeValue is one value of a flag, and what the native manager says of it.
type nativeValue struct {
	Flag    string `json:"flag"`
	Value   string `json:"value"`
	Refused string `json:"refused,omitempty"` // why; empty: it is taken
}

// Numbers between which a flag's bounds are looked for: whole ones, fractions of a thousandth, and times of a
// millisecond.
var ladder = []int64{-1 << 31, -1000, -1, 0, 1, 2, 10, 100, 1000, 10_000, 100_000, 1_000_000, 1<<31 - 1}

// controllerManagerRangesCommand returns of each of the native manager's flags that is a number or a time which values
// it takes and which it refuses, on both sides of each bound, for tests that compare another command line with it.
func controllerManagerRangesCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "kube-controller-manager-ranges",
		Short: "Print which values the native kube-controller-manager's flags take as JSON",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			native, err := newNativeFlags()
			if err != nil {
				return err
			}
			var all []nativeValue
			native.set.VisitAll(func(f *pflag.Flag) {
				if text := textsOf(f.Value.Type()); text != nil && err == nil {
					var found []nativeValue
					found, err = native.bounds(f.Name, text)
					all = append(all, found...)
				}
			})
			if err != nil {
				return err
			}
			return json.NewEncoder(cmd.OutOrStdout()).Encode(all)
		},
	}
}

// textsOf returns how a step of the ladder is written as a flag of a type; nil: there are no such steps.
func textsOf(kind string) func(int64) string {
	switch kind {
	case "int", "int32":
		return func(n int64) string { return strconv.FormatInt(n, 10) }
	case "float32", "float64":
		return func(n int64) string { return strconv.FormatFloat(float64(n)/1000, 'f', -1, 64) }
	case "duration":
		return func(n int64) string { return (time.Duration(n) * time.Millisecond).String() }
	}
	return nil
}

// nativeFlags are options of the native manager with their flags.
type nativeFlags struct {
	options *options.KubeControllerManagerOptions
	set     *pflag.FlagSet
}

func newNativeFlags() (*nativeFlags, error) {
	o, err := options.NewKubeControllerManagerOptions()
	if err != nil {
		return nil, err
	}
	set := pflag.NewFlagSet("native", pflag.ContinueOnError)
	named := o.Flags(app.KnownControllers(), app.ControllersDisabledByDefault(), app.ControllerAliases())
	for _, fs := range named.FlagSets {
		set.AddFlagSet(fs)
	}
	return &nativeFlags{o, set}, nil
}

// ask returns what the native manager says of a flag's value, all others having their defaults.
func (n *nativeFlags) ask(flag, value string) (nativeValue, error) {
	f := n.set.Lookup(flag)
	was := f.Value.String()
	v := nativeValue{Flag: flag, Value: value}
	err := f.Value.Set(value)
	if err == nil {
		err = n.options.Validate(app.KnownControllers(), app.ControllersDisabledByDefault(), app.ControllerAliases())
	}
	if err != nil {
		v.Refused = err.Error()
	}
	return v, f.Value.Set(was)
}

// bounds returns what is said of the ladder's steps, and of the last value before and the first one behind each bound.
func (n *nativeFlags) bounds(flag string, text func(int64) string) ([]nativeValue, error) {
	var all []nativeValue
	steps := slices.Clone(ladder)
	for i := 0; i < len(steps); i++ {
		v, err := n.ask(flag, text(steps[i]))
		if err != nil {
			return nil, err
		}
		all = slices.Insert(all, i, v)
		if i == 0 || (all[i-1].Refused == "") == (v.Refused == "") || steps[i]-steps[i-1] < 2 {
			continue
		}
		// The bound is between the two: look in the middle, and then at this step again.
		steps = slices.Insert(steps, i, steps[i-1]+(steps[i]-steps[i-1])/2)
		all = all[:i]
		i--
	}
	return all, nil
}
