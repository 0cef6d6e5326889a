package start

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/windlass-dev/windlass/cmd/windlass/author"
	"github.com/windlass-dev/windlass/config"
	"github.com/windlass-dev/windlass/host/plugins"
	"github.com/windlass-dev/windlass/host/rbac"
)

func rbacCommand() *cobra.Command {
	var user string
	var viewers, operators []string
	var bindings bool
	c := &cobra.Command{
		Use:   "rbac [PLUGIN...]",
		Short: "Print the RBAC roles that the manager and its plugins need",
		Long: `Print the roles that the manager and the named plugins need, all enabled ones if none is named, as YAML for kubectl apply.

The role "windlass" is what the manager reads for its plugins' views. "windlass:PLUGIN" is what a plugin's effects need: the writes of its manifest as far as the grant in
the configuration has them, and events. Where a grant is for namespaces, it is a Role in each of them. The roles are made from the manifests that the modules themselves give, and
the host refuses what isn't in those: nothing else is ever asked for. Where no plugin is named there is "windlass:counts" besides, by which windlass status tells of
objects that nobody acts for because their controller doesn't run; without it status is silent about them.

Who writes RoleBindings or Roles needs more than a manifest can say: the verb bind or escalate on those roles. A comment above the roles says so.

--viewer and --operator print what people need who ask a running manager, as with windlass get.

The configuration is read as by windlass run: its grants narrow the roles, and --bindings binds each plugin's role to the account that it writes as.`,
		Example: `  windlass rbac deployment replicaset
  windlass rbac --config windlass.yaml --use-service-account-credentials --bindings | kubectl apply -f -
  windlass rbac --viewer jane --operator system:serviceaccount:ops:debugger | kubectl apply -f -`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(viewers)+len(operators) > 0 {
				return printAll(cmd.OutOrStdout(), rbac.People(viewers, operators))
			}
			k, err := config.FromFlags(cmd.Flags())
			if err != nil {
				return err
			}
			objects, err := generateRoles(cmd.Context(), k, args, rbac.Options{Config: k, User: user, Bindings: bindings,
				Counts: len(args) == 0})
			if err != nil {
				return err
			}
			for _, c := range rbac.Caveats(objects) {
				if _, err := fmt.Fprintf(cmd.OutOrStdout(), "# %s\n", c); err != nil {
					return err
				}
			}
			return printAll(cmd.OutOrStdout(), objects)
		},
	}
	config.AddFlags(c.Flags())
	c.Flags().StringVar(&user, "user", "system:kube-controller-manager",
		"whom the manager authenticates as; system:serviceaccount:NAMESPACE:NAME for a service account")
	c.Flags().StringSliceVar(&viewers, "viewer", nil,
		"print instead the role of a user who may see health, metrics and state, with its binding")
	c.Flags().StringSliceVar(&operators, "operator", nil,
		"print instead the role of a user who may besides have recordings, profiles and log levels, and end quarantines, with its binding")
	c.Flags().BoolVar(&bindings, "bindings", false, "print service accounts and bindings, too")
	groupFlags(c)
	return c
}

// findPlugins finds the plugins of a configuration, with the aliases of their controllers. What is wrong with one of
// them, or with a name that the configuration has, is an error.
func findPlugins(ctx context.Context, k *config.Configuration) (_ []plugins.Found, aliases map[string]string, _ error) {
	sources := []plugins.Source{plugins.Builtin{}}
	if k.PluginFolder != "" {
		sources = append(sources, plugins.Folder(k.PluginFolder))
	}

	fromRegistries, err := author.Images(ctx, k)
	if err != nil {
		return nil, nil, err
	}

	found, problems := plugins.Find(ctx, k, append(sources, fromRegistries)...)
	for _, p := range problems {
		return nil, nil, p // a plugin that is left out would lack its roles
	}

	if err := errors.Join(plugins.CheckConfigured(k, found)...); err != nil {
		return nil, nil, err
	}
	known, aliases := plugins.Controllers(found)
	return found, aliases, config.CheckNames(k.Controllers, known, aliases)
}

func generateRoles(ctx context.Context, k *config.Configuration, names []string, o rbac.Options) ([]runtime.Object,
	error) {
	found, aliases, err := findPlugins(ctx, k)
	if err != nil {
		return nil, err
	}
	var all []rbac.Plugin
	for _, f := range found {
		all = append(all, rbac.Plugin{Name: f.Name, Builtin: f.Origin == plugins.OriginBuiltin,
			Controllers: f.Manifest.Controllers})
	}

	chosen, err := rbac.Choose(k, all, aliases, names)
	if err != nil {
		return nil, err
	}
	return rbac.Make(chosen, o), nil
}

func printAll(w io.Writer, objects []runtime.Object) error {
	for i, o := range objects {
		b, err := yaml.Marshal(o)
		if err != nil {
			return err
		}
		if i > 0 {
			b = append([]byte("---\n"), b...)
		}
		if _, err := fmt.Fprintf(w, "%s", b); err != nil {
			return err
		}
	}
	return nil
}
