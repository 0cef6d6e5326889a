package manager

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"k8s.io/klog/v2"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/config"
	"github.com/windlass-dev/windlass/host/plugins"
	"github.com/windlass-dev/windlass/host/plugins/oci"
)

// chooser finds plugins, in folders, registries and the process itself, and chooses which are to run. It remembers what
// it has found last.
type chooser struct {
	given   []plugins.Source // nil: those of the configuration
	finder  plugins.Finder
	folder  *plugins.Watched // that of the configuration; by who holds manager.changing
	source  *oci.Source
	shadows *oci.Source // of their images
	leaders *leaders
	// said is what was said once, accepted the configuration that was last chosen for: by who holds manager.changing.
	said     map[string]bool
	accepted *config.Configuration

	last atomic.Pointer[look]
}

// look is what was seen when plugins were looked for.
type look struct {
	leftOut []string     // why plugins that were found don't run
	known   []catalogued // the controllers that there could be
}

func newChooser(ctx context.Context, given []plugins.Source, l *leaders) *chooser {
	x := &chooser{given: given, leaders: l, said: map[string]bool{}}
	x.source = oci.NewSource(ctx, func(ctx context.Context, p *plugins.Plugin) (string, error) {
		f, err := x.finder.Read(ctx, p)
		if err != nil {
			return "", err
		}
		return f.Name, nil
	})
	// shadows needn't have the names of what they shadow
	x.shadows = oci.NewSource(ctx, func(ctx context.Context, p *plugins.Plugin) (string, error) {
		_, err := x.finder.Read(ctx, p)
		return p.Name, err
	})
	return x
}

// sources are where plugins come from, images aside.
func (x *chooser) sources(k *config.Configuration) []plugins.Source {
	if x.given != nil {
		return x.given
	}
	all := []plugins.Source{plugins.Builtin{}}
	if k.PluginFolder != "" {
		if x.folder == nil || x.folder.Folder != plugins.Folder(k.PluginFolder) {
			x.folder = plugins.NewWatched(k.PluginFolder)
		}
		all = append(all, x.folder)
	}
	return all
}

// choose finds the plugins and returns those with enabled controllers. runs are those that run.
func (x *chooser) choose(ctx context.Context, k *config.Configuration, runs []plugins.Found) ([]*choice, error) {
	images, err := x.findImages(k, runs)
	if err != nil {
		return nil, err
	}

	found, problems := x.finder.Find(ctx, k, append(slices.Clip(x.sources(k)), images)...)
	known := found
	found = images.dropMissing(slices.Clone(found))
	leftOut := []string{}
	leave := func(why error) {
		leftOut = append(leftOut, why.Error())
		x.sayOnce(why.Error(), func() { klog.ErrorS(why, "Plugin isn't loaded") })
	}
	for _, p := range problems {
		leave(p)
	}
	for _, f := range found {
		if p := k.Plugin(f.Name); p.File != "" && f.File == "" && f.Origin == plugins.OriginBuiltin &&
			!isThere(filepath.Join(k.PluginFolder, p.File)) {
			leave(fmt.Errorf("plugins[%s].file: %s has no file %s: the built-in plugin runs", f.Name, k.PluginFolder, p.File))
		}
	}

	// What isn't there may be in a file that can't be used, or has been removed: that is no reason not to run the others.
	missing := images.checkConfigured(k, found)
	excused := len(problems) > 0 || x.excuses(k, len(missing) > 0)
	excuse := func(err error) error {
		if err = because(err, problems...); err == nil || !excused {
			return err
		}
		leave(err)
		return nil
	}
	if err := excuse(errors.Join(missing...)); err != nil {
		return nil, err
	}

	names, aliases := plugins.Controllers(found)
	unknown := errors.Join(config.CheckNames(k.Controllers, names, aliases),
		x.leaders.election.CheckGroups(names, aliases))
	if unknown != nil && images.hasUnknown() {
		x.sayOnce(unknown.Error(), func() {
			klog.InfoS("Unknown name: it may be a controller of a plugin whose image hasn't been pulled yet", "err",
				unknown.Error())
		})
	} else if err := excuse(unknown); err != nil {
		return nil, err
	}
	if !images.hasUnknown() {
		x.tellMissing(k.Controllers, names)
	}

	x.leaders.aliases.Store(&aliases)
	list := config.Canonical(k.Controllers, aliases)
	misnamed := len(missing) > len(problems) // each of these may be one that is missing
	var all []*choice
	for _, f := range found {
		y := &choice{Found: f, list: list}
		y.enableControllers(func(c *abi.Controller) {
			x.sayOnce(c.Name+" is disabled", func() { klog.InfoS("Controller is disabled", "controller", c.Name) })
		})
		if len(y.controllers) == 0 {
			if f.Broken != nil {
				leave(f.Broken)
			}
			continue
		}
		if misnamed && mayBeMeant(k, f, runs) {
			leave(fmt.Errorf("%s: plugin %q isn't started while the configuration names a plugin that wasn't found: "+
				"that entry and its grant may be meant for this one: correct the name, or add this one to plugins", f, f.Name))
			continue
		}
		p := k.Plugin(f.Name)
		_, _, err := plugins.Settings(f.Manifest, p.Settings)
		if err := errors.Join(plugins.CheckControllers(f.Manifest, p.Controllers), err); err != nil {
			y.unfit = because(err, f.Broken)
		}
		if x.accepted == nil && y.unfit != nil && f.Origin != plugins.OriginBuiltin {
			leave(y.unfit)
			continue
		}
		all = append(all, y)
	}

	if len(all) == 0 && !images.hasUnknown() {
		list := fmt.Sprint(k.Controllers)
		x.sayOnce(list+" enables none", func() { klog.InfoS("No controller is enabled: nothing runs", "controllers", list) })
	}

	x.accepted = k
	x.last.Store(&look{leftOut, catalogue(known, k.Controllers, aliases)})
	return all, nil
}

// isThere reports whether a file is there, whatever is wrong with it.
func isThere(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// excuses reports whether names that nothing has are told of only: at a start if plugins are missing that may have been
// files, later those that the configuration had before.
func (x *chooser) excuses(k *config.Configuration, missing bool) bool {
	if x.accepted == nil {
		return missing && (x.given != nil || k.PluginFolder != "")
	}
	return !namesMore(k, x.accepted)
}

// mayBeMeant reports whether a plugin may be what a name that isn't there was meant for: one that isn't built in, that
// the configuration doesn't name, and that doesn't run.
func mayBeMeant(k *config.Configuration, f plugins.Found, runs []plugins.Found) bool {
	return f.Origin != plugins.OriginBuiltin &&
		!slices.ContainsFunc(k.Plugins, func(p config.Plugin) bool { return p.Name == f.Name }) &&
		!slices.ContainsFunc(runs, func(r plugins.Found) bool { return r.Name == f.Name })
}

// namesMore reports whether a configuration names plugins or controllers that the one before doesn't.
func namesMore(k, before *config.Configuration) bool {
	return slices.ContainsFunc(k.Plugins, func(p config.Plugin) bool {
		return !slices.ContainsFunc(before.Plugins, func(q config.Plugin) bool { return p.Name == q.Name })
	}) || slices.ContainsFunc(k.Controllers, func(name string) bool { return !slices.Contains(before.Controllers, name) })
}

// because adds to an error that something wasn't found which files can't be used, for one of them may have it.
func because(err error, broken ...error) error {
	if broken := errors.Join(broken...); err != nil && broken != nil {
		return fmt.Errorf("%w; it may be in a plugin that couldn't be loaded: %w", err, broken)
	}
	return err
}

// tellMissing tells of kube-controller-manager's controllers that the list turns on and that aren't here.
func (x *chooser) tellMissing(list, names []string) {
	named, others := config.Missing(list, names)
	for _, name := range named {
		x.sayOnce(name+" is missing", func() {
			klog.InfoS("Windlass doesn't have this controller of kube-controller-manager yet: run it elsewhere",
				"controller", name)
		})
	}
	if len(others) > 0 {
		x.sayOnce(fmt.Sprint(others, " are missing"), func() {
			klog.InfoS("\"*\" has more controllers in kube-controller-manager: Windlass doesn't have these yet, run them elsewhere",
				"controllers", strings.Join(others, ","))
		})
	}
}

// sayOnce says something once, for what is looked at again and again.
func (x *chooser) sayOnce(what string, how func()) {
	if !x.said[what] {
		x.said[what] = true
		how()
	}
}

// missing reports why images aren't there, by plugin.
func (x *chooser) missing() map[string]error {
	all := map[string]error{}
	for _, i := range x.source.Images() {
		if i.Plugin == nil {
			all[i.Name] = i.Err
		}
	}
	return all
}

// findImages reports which of the configured images are there.
func (x *chooser) findImages(k *config.Configuration, runs []plugins.Found) (*images, error) {
	if err := x.source.Configure(k); err != nil {
		return nil, err
	}
	if err := x.shadows.Configure(shadowsOf(k)); err != nil {
		return nil, err
	}

	all := &images{missing: map[string]*plugins.Plugin{}}
	for _, i := range x.source.Images() {
		p := i.Plugin
		if p == nil {
			if at := slices.IndexFunc(runs, func(f plugins.Found) bool { return f.Name == i.Name }); at >= 0 {
				p = runs[at].Plugin
			}
			all.missing[i.Name] = p
		}
		if p != nil {
			all.modules = append(all.modules, p)
		}
		switch {
		case i.Err != nil:
			all.errs = append(all.errs, fmt.Errorf("plugin %q: %w", i.Name, i.Err))
		case i.Plugin == nil:
			x.sayOnce("waits for "+i.Name, func() { klog.InfoS("Plugin waits for its image", "plugin", i.Name) })
		}
	}
	return all, nil
}

// shadowModule finds a plugin's shadow, nil for an image that hasn't come yet.
func (x *chooser) shadowModule(p *config.Plugin) (*plugins.Plugin, error) {
	if p.ShadowImage() == "" {
		return plugins.Named(p.Shadow)
	}
	for _, i := range x.shadows.Images() {
		if i.Name == p.Name {
			return i.Plugin, i.Err
		}
	}
	return nil, nil // it was configured a moment ago
}

// retry asks registries anew for what they couldn't give.
func (x *chooser) retry() {
	x.source.Retry()
	x.shadows.Retry()
}
