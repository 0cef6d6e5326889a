package plugins

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/config"
	"github.com/windlass-dev/windlass/host/sandbox"
	"github.com/windlass-dev/windlass/host/sandbox/rewrite"
	"github.com/windlass-dev/windlass/host/views"
)

// Found is a plugin whose manifest was read and is sound.
type Found struct {
	*Plugin
	Manifest *abi.Manifest
	// Broken says why what its file holds now can't be used: the module is the one that was taken from there before. Nil:
	// the module is what the file holds.
	Broken error
	// Replaces is the manifest of the built-in plugin whose place this one takes, nil: there is none.
	Replaces *abi.Manifest
}

// Find returns the plugins of all sources, in their order, with what is wrong with the modules that are left out. A
// source's plugin replaces one of the same name from an earlier source; a file does so only if the configuration says
// it, which also says which plugin a file is: [config.Plugin.File]. No two plugins may have a controller of the same
// name or alias.
//
// A module whose manifest isn't in a section of its own runs here for it, interpreted: what isn't enabled is never
// compiled.
func Find(ctx context.Context, k *config.Configuration, sources ...Source) (all []Found, problems []error) {
	s := &search{config: k, read: readPlugin, before: func(string) []Found { return nil }}
	return s.findPlugins(ctx, sources)
}

// search is one look at the sources.
type search struct {
	config *config.Configuration
	read   func(context.Context, *Plugin) (Found, error)
	// before returns what was taken before from a file, or from all files of a folder; it stands in for what is rejected
	// there.
	before   func(origin string) []Found
	problems []error
}

func (s *search) findPlugins(ctx context.Context, sources []Source) (all []Found, problems []error) {
	for _, source := range sources {
		modules, errs := source.Modules()
		s.problems = append(s.problems, errs...)

		var own, standIns []Found
		for _, p := range modules {
			f, err := s.read(ctx, p)
			if err == nil {
				err = cmp.Or(s.admit(&f, all), checkDuplicate(own, f))
			}
			if err != nil {
				standIns = append(standIns, s.standInsFor(p.Origin, err)...)
				continue
			}
			own = append(own, f)
		}
		for _, f := range standIns {
			// it has moved to another file, or the configuration doesn't have it any longer
			if cmp.Or(s.admit(&f, all), checkDuplicate(own, f)) != nil {
				s.problems = append(s.problems, f.Broken)
				continue
			}
			own = append(own, f)
		}

		all = slices.DeleteFunc(all, func(old Found) bool { return indexOfPlugin(own, old.Name) >= 0 })
		all = append(all, own...)
	}
	return s.unambiguous(all), s.problems
}

// standInsFor returns what stands in for a file that can't be used. Where nothing does, the file is left out, and err
// is one of the problems.
func (s *search) standInsFor(origin string, err error) []Found {
	standIns := s.before(origin)
	if len(standIns) == 0 {
		s.problems = append(s.problems, err)
	}
	for i := range standIns {
		standIns[i].Broken = err
	}
	return standIns
}

func newFound(p *Plugin, m *abi.Manifest) Found {
	named := *p
	named.Name = m.Name
	return Found{Plugin: &named, Manifest: m}
}

// indexOfPlugin returns the index of the plugin of that name, -1 if there is none.
func indexOfPlugin(all []Found, name string) int {
	return slices.IndexFunc(all, func(f Found) bool { return f.Name == name })
}

// checkDuplicate returns an error if a plugin of the same name is there already.
func checkDuplicate(all []Found, f Found) error {
	if i := indexOfPlugin(all, f.Name); i >= 0 {
		return fmt.Errorf("%s: plugin %q is in %s already: remove one of them", f, f.Name, all[i])
	}
	return nil
}

// unambiguous rejects plugins whose controllers have a name that another plugin's has. Those come first that have the
// better claim: a new file takes nothing from what is built in, is configured, or was there before.
func (s *search) unambiguous(all []Found) (kept []Found) {
	claims := map[*Plugin]int{}
	for _, f := range all {
		claims[f.Plugin] = s.claim(f)
	}
	slices.SortStableFunc(all, func(a, b Found) int { return claims[a.Plugin] - claims[b.Plugin] })
	taken := map[string]Found{}
	for len(all) > 0 {
		f := all[0]
		all = all[1:]
		switch err := cmp.Or(checkControllerNames(taken, f), checkDuplicate(kept, f)); {
		case err == nil:
			kept = append(kept, f)
			for _, name := range controllerNames(f.Manifest) {
				taken[name] = f
			}
		case f.Broken != nil: // nor does what was there before fit in any longer
			s.problems = append(s.problems, f.Broken)
		default:
			all = append(all, s.standInsFor(f.Origin, err)...)
		}
	}
	return kept
}

// checkControllerNames returns an error if one of the plugin's controllers has a name that is taken.
func checkControllerNames(taken map[string]Found, f Found) error {
	for _, name := range controllerNames(f.Manifest) {
		if by, ok := taken[name]; ok {
			return fmt.Errorf("%s: plugin %q: controller %q is in plugin %q (%s) already: name the plugin %q to replace it, "+
				"or the controller differently",
				f, f.Name, name, by.Name, by, by.Name)
		}
	}
	return nil
}

func controllerNames(m *abi.Manifest) (names []string) {
	for _, c := range m.Controllers {
		names = append(names, c.Name)
		if c.Alias != "" && c.Alias != c.Name {
			names = append(names, c.Alias)
		}
	}
	return names
}

// readPlugin reads a plugin by its module's manifest.
func readPlugin(ctx context.Context, p *Plugin) (Found, error) {
	m, err := manifestOf(ctx, p)
	if err != nil {
		return Found{}, err
	}
	return newFound(p, m), nil
}

// manifestOf reads a module's manifest, or runs the module for it. What a section says is compared with what the module
// says when that is opened.
func manifestOf(ctx context.Context, p *Plugin) (*abi.Manifest, error) {
	m, err := p.declares()
	if err != nil {
		return nil, err
	}
	if m != nil && p.Code != nil {
		return m, nil // the build has checked it
	}
	wasm, err := p.Wasm()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p, err)
	}
	if m != nil {
		return m, sandbox.Check(wasm, manifestOptions(p, wasm))
	}
	module, err := sandbox.Load(ctx, wasm, manifestOptions(p, wasm))
	if err != nil {
		return nil, err
	}
	defer module.Close(context.WithoutCancel(ctx))
	return readManifest(ctx, p, module)
}

// readManifest runs a module for its manifest.
func readManifest(ctx context.Context, p *Plugin, module *sandbox.Module) (*abi.Manifest, error) {
	text, err := module.Manifest(ctx)
	if err != nil {
		return nil, err
	}
	if section := module.ManifestSection(); section == nil {
		return decodeManifest(p, text)
	} else if !bytes.Equal(section, text) {
		return nil, fmt.Errorf("%s: section %s differs from the manifest that the module returns: build the plugin again",
			p, rewrite.ManifestSection)
	}
	return p.declares()
}

// declares returns the manifest of the module's section, nil where it has none.
func (p *Plugin) declares() (*abi.Manifest, error) {
	if p.declared != nil {
		return p.declared()
	}
	return declared(p)
}

func declared(p *Plugin) (*abi.Manifest, error) {
	wasm, err := p.Wasm()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p, err)
	}
	if section, err := rewrite.Manifest(wasm); err == nil && section != nil {
		return decodeManifest(p, section)
	}
	return nil, nil
}

func decodeManifest(p *Plugin, text []byte) (*abi.Manifest, error) {
	if p.Code != nil {
		return abi.DecodeCheckedManifest(text) // as the build has
	}
	m, err := abi.DecodeManifest(text)
	if err == nil {
		err = checkNames(m)
	}
	if err == nil && p.Origin != OriginBuiltin {
		err = checkViews(m)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w: build the plugin with an SDK of ABI v1, or correct its manifest", p, err)
	}
	return m, nil
}

// checkViews finds views that can't be compiled, whether or not their controllers are enabled.
func checkViews(m *abi.Manifest) error {
	for i := range m.Controllers {
		if _, err := views.Compile(&m.Controllers[i]); err != nil {
			return fmt.Errorf("manifest of %s: %w", m.Name, err)
		}
	}
	return nil
}

// checkNames finds names that would hide each other.
func checkNames(m *abi.Manifest) error {
	var settings, metrics []string
	for _, s := range m.Settings {
		settings = append(settings, s.Name)
	}
	for _, x := range m.Metrics {
		metrics = append(metrics, x.Name)
	}
	for what, names := range map[string][]string{"settings": settings, "metrics": metrics,
		"controllers": controllerNames(m)} {
		seen := map[string]bool{}
		for _, name := range names {
			if name == "" || seen[name] {
				return fmt.Errorf("manifest of %s: %s: the name %q is empty or used twice", m.Name, what, name)
			}
			seen[name] = true
		}
	}
	if m.Memory < 0 || m.Memory > sandbox.MaxMemoryLimit {
		return fmt.Errorf("manifest of %s: memory: %d bytes, must be from 0 to %d", m.Name, m.Memory, sandbox.MaxMemoryLimit)
	}
	return nil
}

// Controllers returns the names of all controllers of the plugins, and the names that their aliases stand for: what
// config.CheckNames and config.Canonical ask for.
func Controllers(found []Found) (names []string, aliases map[string]string) {
	aliases = map[string]string{}
	for _, f := range found {
		for _, c := range f.Manifest.Controllers {
			if c.PartOf != "" {
				continue // goes by the other's name
			}
			names = append(names, c.Name)
			if c.Alias != "" {
				aliases[c.Alias] = c.Name
			}
		}
	}
	return names, aliases
}

// CheckConfigured returns an error for each configured plugin that wasn't found.
func CheckConfigured(c *config.Configuration, found []Found) (errs []error) {
	var names []string
	for _, f := range found {
		names = append(names, f.Name)
	}
	for i, p := range c.Plugins {
		if !slices.Contains(names, p.Name) {
			where := ""
			if p.File != "" {
				where = " in the file " + p.File + " of the plugin folder"
			}
			errs = append(errs, fmt.Errorf("plugins[%d].name: no plugin %q was found%s: there are %s",
				i, p.Name, where, strings.Join(names, ", ")))
		}
	}
	return errs
}
