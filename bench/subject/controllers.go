package subject

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/windlass-dev/windlass/test/cluster"
)

// Controllers are the names of all built-in controllers of Windlass that are on by default, by upstream's names: what
// both managers run.
func Controllers(ctx context.Context) ([]string, error) {
	modules, err := filepath.Glob(filepath.Join(filepath.Dir(cluster.Binary()), "..", "plugins", "*", "module"))
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(Program()); err != nil {
		return nil, fmt.Errorf("%s is missing: run make build", Program())
	}
	var all []string
	for _, m := range modules {
		plugin := filepath.Base(filepath.Dir(m))
		out, err := exec.CommandContext(ctx, Program(), "plugin", "inspect", "builtin:"+plugin, "-o", "json").Output()
		if err != nil {
			return nil, fmt.Errorf("windlass plugin inspect builtin:%s: %w: run make build", plugin, err)
		}
		names, err := defaultControllers(out)
		if err != nil {
			return nil, fmt.Errorf("windlass plugin inspect builtin:%s: %w", plugin, err)
		}
		all = append(all, names...)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("no controllers: there are no plugins beside %s", cluster.Binary())
	}
	slices.Sort(all)
	return all, nil
}

// knownNatively returns those of the names that the native manager has too. A controller of Windlass's own does a part
// of what one of the native manager's does.
func knownNatively(names []string) ([]string, error) {
	help, err := exec.Command(cluster.Binary(), "kube-controller-manager", "--", "--help").Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w: run make devcluster", cluster.Binary(), err)
	}
	_, list, ok := strings.Cut(string(help), "All controllers: ")
	if !ok {
		return nil, fmt.Errorf("%s kube-controller-manager -- --help lists no controllers", cluster.Binary())
	}
	all := strings.FieldsFunc(list, func(r rune) bool { return unicode.IsSpace(r) || r == ',' })
	return slices.DeleteFunc(slices.Clone(names), func(n string) bool { return !slices.Contains(all, n) }), nil
}

// defaultControllers reads the controllers that a plugin has on by default, parts of others aside.
func defaultControllers(inspection []byte) ([]string, error) {
	var i struct {
		Manifest struct {
			Controllers []struct {
				Name, PartOf      string
				DisabledByDefault bool
			}
		}
	}
	if err := json.Unmarshal(inspection, &i); err != nil {
		return nil, err
	}
	var names []string
	for _, c := range i.Manifest.Controllers {
		if c.PartOf == "" && !c.DisabledByDefault {
			names = append(names, c.Name)
		}
	}
	return names, nil
}
