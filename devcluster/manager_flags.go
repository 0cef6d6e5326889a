package main

import (
	"encoding/json"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apiserver/pkg/util/compatibility"
	cliflag "k8s.io/component-base/cli/flag"
	basecompatibility "k8s.io/component-base/compatibility"
	"k8s.io/component-base/featuregate"
	_ "k8s.io/component-base/logs/json/register" // as the native manager's main has: more flags
	"k8s.io/kubernetes/cmd/kube-controller-manager/app"
)

// nativeFlag is one flag of the native manager, as pflag has it.
type nativeFlag struct {
	Name       string `json:"name"`
	Shorthand  string `json:"shorthand,omitempty"`
	Type       string `json:"type"`
	Default    string `json:"default"`
	NoOption   string `json:"noOption,omitempty"` // the value of the bare flag
	Deprecated string `json:"deprecated,omitempty"`
}

// nativeGate is one feature gate of the native manager.
type nativeGate struct {
	Name    string `json:"name"`
	Default bool   `json:"default"`
	Locked  bool   `json:"locked,omitempty"`
	Stage   string `json:"stage"` // ALPHA, BETA, DEPRECATED; empty is GA
}

// controllerManagerFlagsCommand returns the native manager's command line, for tests that compare another one with it.
func controllerManagerFlagsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "kube-controller-manager-flags",
		Short: "Print the native kube-controller-manager's flags, controllers and feature gates as JSON",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			native := app.NewControllerManagerCommand()
			native.SetGlobalNormalizationFunc(cliflag.WordSepNormalizeFunc) // as cli.Run does
			out := struct {
				Flags             []nativeFlag      `json:"flags"`
				Controllers       []string          `json:"controllers"`
				DisabledByDefault []string          `json:"disabledByDefault"`
				Aliases           map[string]string `json:"aliases"`
				FeatureGates      []nativeGate      `json:"featureGates"`
			}{Controllers: app.KnownControllers(), DisabledByDefault: app.ControllersDisabledByDefault(),
				Aliases: app.ControllerAliases()}
			native.Flags().VisitAll(func(f *pflag.Flag) {
				out.Flags = append(out.Flags, nativeFlag{Name: f.Name, Shorthand: f.Shorthand, Type: f.Value.Type(),
					Default: f.DefValue, NoOption: f.NoOptDefVal, Deprecated: f.Deprecated})
			})
			gates := compatibility.DefaultComponentGlobalsRegistry.FeatureGateFor(basecompatibility.DefaultKubeComponent)
			for name, spec := range gates.(featuregate.MutableFeatureGate).GetAll() {
				out.FeatureGates = append(out.FeatureGates,
					nativeGate{Name: string(name), Default: spec.Default, Locked: spec.LockToDefault, Stage: string(spec.PreRelease)})
			}
			e := json.NewEncoder(cmd.OutOrStdout())
			e.SetIndent("", "  ")
			return e.Encode(out)
		},
	}
}
