// Package completion is what a shell offers while a command is typed.
package completion

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/author/build"
	"github.com/windlass-dev/windlass/cmd/windlass/answer"
	"github.com/windlass-dev/windlass/cmd/windlass/running"
	"github.com/windlass-dev/windlass/config"
	"github.com/windlass-dev/windlass/docs"
	"github.com/windlass-dev/windlass/host/plugins"
	"github.com/windlass-dev/windlass/host/record"
)

// words are what a shell offers.
type words func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective)

// Add tells a shell of all commands what may be typed: their arguments and their flags' values.
func Add(root *cobra.Command) {
	arguments := map[string]words{
		"docs":            completeFirst(completeFrom(docs.Names()...)),
		"record":          completeFirst(controllers),
		"release":         completeFirst(controllers),
		"get sync":        completeFirst(controllers),
		"rbac":            completeAll(builtinPlugins),
		"replay":          completeFirst(completeFiles(strings.TrimPrefix(record.Extension, "."))),
		"plugin generate": completeFirst(folders),
		"plugin inspect":  completeFirst(modules),
		"plugin push":     completeFirst(modules),
		"plugin build":    completeFirst(folders),
		"plugin bench":    completeFirst(modules),
		"plugin sdk":      completeFirst(folders),
		"plugin test":     completeFirst(modules),
		"plugin run":      completeFirst(modules),
	}

	flags := map[string]words{
		"config":                     completeFiles("yaml", "yml", "json"),
		"controller":                 controllers,
		"controllers":                enabled,
		"plugin":                     modules,
		"plugin-folder":              folders,
		"crd":                        folders,
		"engine":                     completeFrom("compiler", "interpreter"),
		"compiler":                   completeFrom(build.TinyGo, build.Go),
		"cases":                      folders,
		"run":                        nothing,
		"running":                    completeFiles("yaml", "yml", "json"),
		"dir":                        folders,
		"sort":                       completeFrom("syncs", "time", "queue", "errors", "name"),
		"logging-format":             completeFrom("text", "json"),
		"tls-min-version":            completeFrom("VersionTLS12", "VersionTLS13"),
		"leader-elect-resource-lock": completeFrom("leases"),
		"key":                        completeFiles("pub", "key", "pem"),
		"ca-file":                    completeFiles("crt", "pem"),
		"server":                     nothing,
		"user":                       nothing,
		"namespace":                  nothing,
		"v":                          completeFrom("0", "1", "2", "4", "6"),
	}

	answer.Walk(root, func(path string, c *cobra.Command) {
		if c.Name() == "help" || strings.HasPrefix(path, "completion") {
			return
		}
		if f := arguments[path]; f != nil {
			c.ValidArgsFunction = f
		} else if !c.HasSubCommands() && c.ValidArgsFunction == nil {
			c.ValidArgsFunction = nothing
		}
		if o := answer.Formats[path]; o != nil {
			register(c, "output", completeFrom(o...))
		}
		for name, f := range flags {
			// elsewhere it is one that is synced
			if name == "key" && (path == "plugin run" || !strings.HasPrefix(path, "plugin ")) {
				f = nothing
			}
			register(c, name, f)
		}
	})
}

func register(c *cobra.Command, flag string, f words) {
	if c.Flags().Lookup(flag) == nil {
		return
	}
	_ = c.RegisterFlagCompletionFunc(flag, f) // an error says that it was done before
}

func nothing(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveNoFileComp
}

func completeFrom(all ...string) words {
	return func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		return beginning(all, typed), cobra.ShellCompDirectiveNoFileComp
	}
}

func completeFiles(suffixes ...string) words {
	return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return suffixes, cobra.ShellCompDirectiveFilterFileExt
	}
}

func folders(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveFilterDirs
}

// completeFirst completes as f does for the first argument, and nothing for others.
func completeFirst(f words) words {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nothing(cmd, args, typed)
		}
		return f(cmd, args, typed)
	}
}

// completeAll completes as f does for each argument, without those that are there already.
func completeAll(f words) words {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		found, directive := f(cmd, args, typed)
		return slices.DeleteFunc(found, func(w string) bool {
			name, _, _ := strings.Cut(w, "\t")
			return slices.Contains(args, name)
		}), directive
	}
}

// beginning returns those that begin with what was typed, descriptions behind a tab aside.
func beginning(all []string, typed string) (out []string) {
	for _, w := range all {
		if strings.HasPrefix(w, typed) {
			out = append(out, w)
		}
	}
	return out
}

// controllers are those of the windlass that --server names, or if it doesn't answer the built-in ones.
func controllers(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	var names []string
	if s := running.Status(cmd); s != nil {
		for _, c := range s.Controllers {
			names = append(names, c.Name+"\t"+c.State+", of plugin "+c.Plugin)
		}
	} else {
		names = builtinControllers()
	}
	return beginning(names, typed), cobra.ShellCompDirectiveNoFileComp
}

// eachBuiltin calls f for each built-in plugin.
func eachBuiltin(f func(p plugins.Found)) {
	found, _ := plugins.Find(context.Background(), config.Default(), plugins.Builtin{})
	for _, p := range found {
		f(p)
	}
}

func builtinControllers() (names []string) {
	eachBuiltin(func(p plugins.Found) {
		for _, c := range p.Manifest.Controllers {
			names = append(names, c.Name+"\t"+described(p.Manifest))
		}
	})
	slices.Sort(names)
	return names
}

func builtinPlugins(_ *cobra.Command, _ []string, typed string) (names []string, _ cobra.ShellCompDirective) {
	eachBuiltin(func(p plugins.Found) { names = append(names, p.Name+"\t"+described(p.Manifest)) })
	slices.Sort(names)
	return beginning(names, typed), cobra.ShellCompDirectiveNoFileComp
}

// described is a manifest's description, of which a shell shows one line.
func described(m *abi.Manifest) string {
	text, _, _ := strings.Cut(m.Description, "\n")
	return answer.Line(text, answer.LineMax)
}

// modules are the built-in ones as "builtin:NAME", and files: as soon as what was typed can't be the former.
func modules(cmd *cobra.Command, _ []string, typed string) (names []string, _ cobra.ShellCompDirective) {
	const prefix = plugins.OriginBuiltin + ":"
	if !strings.HasPrefix(prefix, typed) && !strings.HasPrefix(typed, prefix) {
		return []string{"wasm"}, cobra.ShellCompDirectiveFilterFileExt
	}
	eachBuiltin(func(p plugins.Found) { names = append(names, prefix+p.Name+"\t"+described(p.Manifest)) })
	slices.Sort(names)
	return beginning(names, typed), cobra.ShellCompDirectiveNoFileComp
}

// enabled completes the last entry of an enablement list.
func enabled(_ *cobra.Command, _ []string, typed string) (out []string, _ cobra.ShellCompDirective) {
	before, last := "", typed
	if i := strings.LastIndexByte(typed, ','); i >= 0 {
		before, last = typed[:i+1], typed[i+1:]
	}
	names := []string{"*\tall that are on by default"}
	known := builtinControllers()
	for _, w := range known {
		name, what, _ := strings.Cut(w, "\t")
		names = append(names, w, "-"+name+"\toff: "+what)
	}
	for _, w := range beginning(names, last) {
		out = append(out, before+w)
	}
	return out, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}
