package plugins

import (
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/client-go/util/cert"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/config"
)

// fileMax is the most bytes of a file setting: a bundle of certificates is a few hundred KiB at most.
const fileMax = 1 << 20

// CheckControllers refuses the configuration of a controller that the plugin doesn't have.
func CheckControllers(m *abi.Manifest, configured []config.PluginController) error {
	var names []string
	for i := range m.Controllers {
		names = append(names, m.Controllers[i].Name)
	}

	var errs []error
	for i := range configured {
		if name := configured[i].Name; !slices.Contains(names, name) {
			errs = append(errs, fmt.Errorf("plugin %q: controllers[%s]: the plugin has no such controller: it has %s", m.Name,
				name, strings.Join(names, ", ")))
		}
	}
	return errors.Join(errs...)
}

// Settings returns the values of a plugin's settings in the manifest's order: what values says, or else the default. Of
// a file setting values has the path, and the plugin gets the content. missing names the required ones that are empty.
func Settings(m *abi.Manifest, values map[string]string) (_ *abi.Settings, missing []string, _ error) {
	var names []string
	for _, s := range m.Settings {
		names = append(names, s.Name)
	}

	var errs []error
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if !slices.Contains(names, name) {
			hint := "it has none"
			if len(names) > 0 {
				hint = "it has " + strings.Join(names, ", ")
			}
			errs = append(errs, fmt.Errorf("plugin %q: settings[%s]: the plugin has no such setting: %s", m.Name, name, hint))
		}
	}

	out := &abi.Settings{}
	for _, s := range m.Settings {
		value, given := values[s.Name]
		switch {
		case !given:
			value = s.Default
		case s.File && value != "" && !strings.HasPrefix(value, "-----BEGIN "): // else the content itself, in PEM
			b, err := readAtMost(value, fileMax)
			if errors.Is(err, errTooLarge) {
				err = fmt.Errorf("%s: more than %d bytes", value, fileMax)
			}
			if err != nil {
				errs = append(errs, fmt.Errorf("plugin %q: settings[%s]: %w: name a file that windlass can read",
					m.Name, s.Name, err))
			} else if err = checkCertificates(&s, b); err != nil {
				errs = append(errs, fmt.Errorf("plugin %q: settings[%s]: %s: %w", m.Name, s.Name, value, err))
			}
			value = string(b)
		case s.File && value != "":
			if err := checkCertificates(&s, []byte(value)); err != nil {
				errs = append(errs, fmt.Errorf("plugin %q: settings[%s]: %w", m.Name, s.Name, err))
			}
		}
		if s.Required && value == "" {
			missing = append(missing, s.Name)
		}
		out.Values = append(out.Values, value)
	}

	if err := errors.Join(errs...); err != nil {
		return nil, nil, err
	}
	return out, missing, nil
}

// checkCertificates reports why a setting that is to be certificates isn't: they get to whoever may read them.
func checkCertificates(s *abi.Setting, content []byte) error {
	if !s.Certificates {
		return nil
	}
	for block, rest := pem.Decode(content); block != nil; block, rest = pem.Decode(rest) {
		if strings.HasSuffix(block.Type, "PRIVATE KEY") {
			return errors.New("it has a private key, which would be published: name a file that has certificates alone")
		}
	}
	_, err := cert.ParseCertsPEM(content)
	return err
}
