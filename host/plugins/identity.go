package plugins

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/windlass-dev/windlass/config"
	"github.com/windlass-dev/windlass/config/kcm"
)

// A plugin is who the configuration says, whatever its manifest says: a grant, settings and an account belong to a
// name, and a module must not come by them, or by a built-in plugin's place, by calling itself so.

// moduleSuffix ends the names of the files in a plugin folder.
const moduleSuffix = ".wasm"

// admit returns an error if a module may not run as the plugin that its manifest names. earlier are the plugins of the
// earlier sources: of one that is built in and whose place f takes, f gets the manifest.
func (s *search) admit(f *Found, earlier []Found) error {
	replaced := slices.IndexFunc(earlier, func(e Found) bool {
		return e.Name == f.Name && e.Origin == OriginBuiltin && e.File == ""
	})
	if err := s.checkIdentity(f, replaced >= 0); err != nil || replaced < 0 {
		return err
	}
	f.Replaces = earlier[replaced].Manifest
	return s.checkWhole(f)
}

// checkIdentity returns an error if a file of the plugin folder isn't the plugin that its manifest names: by its own
// name, or because the configuration says so. A built-in plugin's place it takes only by that.
func (s *search) checkIdentity(f *Found, builtin bool) error {
	if f.File == "" {
		return nil // it is built in, or an image, which the configuration names
	}

	entry := func(is func(*config.Plugin) bool) *config.Plugin {
		for i := range s.config.Plugins {
			if is(&s.config.Plugins[i]) {
				return &s.config.Plugins[i]
			}
		}
		return nil
	}
	byFile := entry(func(p *config.Plugin) bool { return p.File == f.File })
	byName := entry(func(p *config.Plugin) bool { return p.Name == f.Name })

	asConfigured := fmt.Sprintf("plugins: [{name: %s, file: %s}]", f.Name, f.File)
	switch {
	case byFile != nil && byFile.Name != f.Name:
		return fmt.Errorf("%s: plugins[%s].file names this file, but its manifest says that it is the plugin %q: correct the "+
			"entry's name or its file", f, byFile.Name, f.Name)
	case byFile != nil, byName != nil && byName.Image != "": // which goes before a file
		return nil
	case byName != nil && byName.File != "":
		return fmt.Errorf("%s: plugin %q is in %s, as plugins[%s].file says: remove one of them", f, f.Name,
			filepath.Join(filepath.Dir(f.Origin), byName.File), f.Name)
	case f.File != f.Name+moduleSuffix:
		return fmt.Errorf("%s: its manifest says that it is the plugin %q, which only %s is without being configured: give "+
			"the file that name, or configure %s", f, f.Name,
			filepath.Join(filepath.Dir(f.Origin), f.Name+moduleSuffix), asConfigured)
	case builtin:
		return fmt.Errorf("%s: plugin %q is built in, and a file doesn't take its place by its name alone: configure %s",
			f, f.Name, asConfigured)
	}
	return nil
}

// checkWhole returns an error if a plugin that takes a built-in one's place lacks one of its controllers, and the
// configuration doesn't turn that off.
func (s *search) checkWhole(f *Found) error {
	aliases := kcm.Aliases()
	for i := range f.Replaces.Controllers {
		if c := &f.Replaces.Controllers[i]; c.Alias != "" {
			aliases[c.Alias] = c.Name
		}
	}
	list := config.Canonical(s.config.Controllers, aliases)

	names := controllerNames(f.Manifest)
	var missing, off []string
	for i := range f.Replaces.Controllers {
		c := &f.Replaces.Controllers[i]
		if c.PartOf == "" && !slices.Contains(names, c.Name) && config.Enabled(c.Name, list, c.DisabledByDefault) {
			missing, off = append(missing, c.Name), append(off, fmt.Sprintf("%q", "-"+c.Name))
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return fmt.Errorf("%s: doesn't take the place of the built-in plugin %q, because it hasn't its controller %s: add the "+
		"controller, or turn it off with %s in controllers", f, f.Name, strings.Join(missing, ", "), strings.Join(off, ", "))
}

// claim returns how good a plugin's claim to its controllers' names is, 0 for the best.
func (s *search) claim(f Found) int {
	switch {
	case f.File == "" || f.Replaces != nil:
		return 0
	case slices.ContainsFunc(s.config.Plugins, func(p config.Plugin) bool { return p.Name == f.Name }):
		return 1
	case slices.ContainsFunc(s.before(f.Origin), func(b Found) bool { return b.Name == f.Name }):
		return 2
	}
	return 3
}
