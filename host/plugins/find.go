package plugins

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/config"
	"github.com/windlass-dev/windlass/host/sandbox"
	"github.com/windlass-dev/windlass/host/sandbox/rewrite"
)

// Found is a plugin whose manifest was read and is sound.
type Found struct {
	*Plugin
	Manifest *abi.Manifest
}

// Find gives the plugins of all sources, in their order, with what is wrong with the modules that are left out. A source's plugin replaces one of the same name from an
// earlier source. Within a source a name is taken by the first; no two plugins may have a controller of the same name or alias.
//
// A module whose manifest isn't in a section of its own runs here for it, interpreted: what isn't enabled is never compiled.
func Find(ctx context.Context, sources ...Source) (all []Found, problems []error) {
	return find(ctx, manifestOf, sources)
}

func find(ctx context.Context, manifestOf func(context.Context, *Plugin) (*abi.Manifest, error), sources []Source) (all []Found, problems []error) {
	for _, source := range sources {
		modules, errs := source.Modules()
		problems = append(problems, errs...)
		var own []Found
		for _, p := range modules {
			m, err := manifestOf(ctx, p)
			if err != nil {
				problems = append(problems, err)
				continue
			}
			f := found(p, m)
			if i := slices.IndexFunc(own, func(o Found) bool { return o.Name == f.Name }); i >= 0 {
				problems = append(problems, fmt.Errorf("%s: plugin %q is in %s already: remove one of them", p, f.Name, own[i]))
				continue
			}
			own = append(own, f)
		}
		all = slices.DeleteFunc(all, func(old Found) bool {
			return slices.ContainsFunc(own, func(f Found) bool { return f.Name == old.Name })
		})
		all = append(all, own...)
	}
	return unambiguous(all, problems)
}

func found(p *Plugin, m *abi.Manifest) Found {
	named := *p
	named.Name = m.Name
	return Found{&named, m}
}

// unambiguous leaves out plugins whose controllers have a name that an earlier plugin's has.
func unambiguous(all []Found, problems []error) ([]Found, []error) {
	taken := map[string]Found{}
	all = slices.DeleteFunc(all, func(f Found) bool {
		names := controllerNames(f.Manifest)
		for _, name := range names {
			if by, ok := taken[name]; ok {
				problems = append(problems, fmt.Errorf("%s: plugin %q: controller %q is in plugin %q (%s) already: name the plugin %q to replace it, or the controller differently",
					f, f.Name, name, by.Name, by, by.Name))
				return true
			}
		}
		for _, name := range names {
			taken[name] = f
		}
		return false
	})
	return all, problems
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

// manifestOf reads a module's manifest, or runs the module for it. What a section says is compared with what the module says when that is opened.
func manifestOf(ctx context.Context, p *Plugin) (*abi.Manifest, error) {
	if m, err := p.declares(); m != nil || err != nil {
		if p.Code == nil { // nor has the build checked it
			if err := sandbox.Check(p.Wasm, manifestOptions(p)); err != nil {
				return nil, err
			}
		}
		return m, err
	}
	module, err := sandbox.Load(ctx, p.Wasm, manifestOptions(p))
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
		return nil, fmt.Errorf("%s: section %s is not the manifest that the module gives: build it again", p, rewrite.ManifestSection)
	}
	return p.declares()
}

// declares gives the manifest of the module's section, nil where it has none.
func (p *Plugin) declares() (*abi.Manifest, error) {
	if p.declared != nil {
		return p.declared()
	}
	return declared(p)
}

func declared(p *Plugin) (*abi.Manifest, error) {
	if section, err := rewrite.Manifest(p.Wasm); err == nil && section != nil {
		return decodeManifest(p, section)
	}
	return nil, nil
}

func decodeManifest(p *Plugin, text []byte) (*abi.Manifest, error) {
	m, err := abi.DecodeManifest(text)
	if err == nil {
		err = check(m)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w: build the plugin with an SDK of ABI v1, or mend its manifest", p, err)
	}
	return m, nil
}

// check finds names that would hide each other.
func check(m *abi.Manifest) error {
	var settings, metrics []string
	for _, s := range m.Settings {
		settings = append(settings, s.Name)
	}
	for _, x := range m.Metrics {
		metrics = append(metrics, x.Name)
	}
	for what, names := range map[string][]string{"settings": settings, "metrics": metrics, "controllers": controllerNames(m)} {
		seen := map[string]bool{}
		for _, name := range names {
			if name == "" || seen[name] {
				return fmt.Errorf("manifest of %s: %s: the name %q is empty or there twice", m.Name, what, name)
			}
			seen[name] = true
		}
	}
	if m.Memory < 0 || m.Memory > sandbox.MaxMemoryLimit {
		return fmt.Errorf("manifest of %s: memory: %d bytes, must be from 0 to %d", m.Name, m.Memory, sandbox.MaxMemoryLimit)
	}
	return nil
}

// Controllers gives the names of all controllers of the plugins, and the names that their aliases stand for: what config.CheckNames and config.Canonical ask for.
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

// CheckConfigured gives an error for each configured plugin that wasn't found.
func CheckConfigured(c *config.Configuration, found []Found) error {
	var names []string
	for _, f := range found {
		names = append(names, f.Name)
	}
	var errs []error
	for i, p := range c.Plugins {
		if !slices.Contains(names, p.Name) {
			errs = append(errs, fmt.Errorf("plugins[%d].name: no plugin %q was found: there are %s", i, p.Name, strings.Join(names, ", ")))
		}
	}
	return errors.Join(errs...)
}
