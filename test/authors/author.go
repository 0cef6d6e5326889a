// Package authors does what people do who write plugins: with the programs alone, in folders outside of the repository,
// beside a Windlass that is running.
package authors

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"

	"github.com/windlass-dev/windlass/config"
	"github.com/windlass-dev/windlass/host/state"
	"github.com/windlass-dev/windlass/test/cluster"
	"github.com/windlass-dev/windlass/test/windlass"
)

// author is somebody with a folder, a few programs, and a cluster on which Windlass runs.
type author struct {
	t      *testing.T
	c      *cluster.Cluster
	client kubernetes.Interface
	m      *windlass.Manager
	home   string        // an empty folder at first
	loaded string        // the running Windlass's plugin folder
	env    []string      // of commands
	spent  time.Duration // processor time of the last command, with all that it started
}

// newAuthor returns an author who has windlass, Go, TinyGo and what they need of the system on the path, and no
// network. Caches of compilers are the machine's, or empty ones.
func newAuthor(t *testing.T, c *cluster.Cluster, cold bool) *author {
	a := &author{t: t, c: c, client: c.Client(), home: t.TempDir(), loaded: t.TempDir()}
	bin := t.TempDir()
	out := filepath.Dir(cluster.Binary())
	for name, target := range map[string]string{"windlass": filepath.Join(out, "windlass"),
		"tinygo": filepath.Join(out, "toolchain", "tinygo")} {
		if _, err := os.Stat(target); err != nil {
			t.Fatalf("%v: run make build", err)
		}
		if err := os.Symlink(target, filepath.Join(bin, name)); err != nil {
			t.Fatal(err)
		}
	}

	goProgram, err := exec.LookPath("go")
	if err != nil {
		t.Fatal(err)
	}

	path := strings.Join([]string{bin, filepath.Dir(goProgram), "/usr/local/bin", "/usr/bin", "/bin"}, ":")
	a.env = []string{"PATH=" + path, "HOME=" + a.home, "KUBECONFIG=" + c.Kubeconfig, "GOPROXY=off", "GOTOOLCHAIN=local",
		"PLUGINS=" + a.loaded}
	if !cold {
		caches, err := os.UserCacheDir()
		if err != nil {
			t.Fatal(err)
		}
		a.env = append(a.env, "XDG_CACHE_HOME="+caches)
	}
	return a
}

// runShell runs a shell's command line in a folder and returns what it prints.
func (a *author) runShell(folder, line string) string {
	a.t.Helper()
	out, err := a.tryShell(folder, line)
	if err != nil {
		a.t.Fatalf("$ %s\n%s%v", line, out, err)
	}
	return out
}

func (a *author) tryShell(folder, line string) (string, error) {
	a.t.Helper()
	c := exec.CommandContext(a.t.Context(), "sh", "-c", line)
	c.Dir, c.Env = folder, a.env
	begun := time.Now()
	out, err := c.CombinedOutput()
	a.spent = c.ProcessState.UserTime() + c.ProcessState.SystemTime()
	a.t.Logf("%s$ %s (%v)\n%s", filepath.Base(folder), line, time.Since(begun).Round(10*time.Millisecond), out)
	return string(out), err
}

// runWindlass has the manager run with all built-in controllers and the plugins in the folder.
func (a *author) runWindlass(configure func(*config.Configuration)) {
	a.t.Helper()
	windlass.LogTo(a.t, a.t.Output())
	a.m = windlass.Start(a.t, a.c, windlass.Options{Configure: func(k *config.Configuration) {
		k.PluginFolder = a.loaded
		configure(k)
	}})
	windlass.Account(a.t, a.client, "default")
}

// pluginStatus returns what the manager says of a plugin; nothing if it doesn't run.
func (a *author) pluginStatus(name string) (p state.PluginStatus) {
	a.t.Helper()
	plugins := a.m.Status(a.t).Plugins
	if i := slices.IndexFunc(plugins, func(p state.PluginStatus) bool { return p.Name == name }); i >= 0 {
		return plugins[i]
	}
	return p
}

// loadPlugin copies a module into the plugin folder, and waits until it runs.
func (a *author) loadPlugin(name, module string) {
	a.t.Helper()
	before := a.pluginStatus(name).Digest
	a.runShell(a.home, fmt.Sprintf("cp %s $PLUGINS/.new && mv $PLUGINS/.new $PLUGINS/%s.wasm", module, name))
	a.eventually(name+" runs from the folder", func() error {
		if p := a.pluginStatus(name); p.Digest == before || !strings.HasSuffix(p.Origin, "/"+name+".wasm") {
			return fmt.Errorf("%+v", p)
		}
		return nil
	})
}

// unloadPlugin takes a module out of the folder, and waits until it runs no more; in its place there may be a built-in
// one.
func (a *author) unloadPlugin(name string) {
	a.t.Helper()
	a.runShell(a.home, "rm $PLUGINS/"+name+".wasm")
	a.eventually(name+" doesn't run from the folder any more", func() error {
		if p := a.pluginStatus(name); strings.HasSuffix(p.Origin, ".wasm") {
			return fmt.Errorf("%+v", p)
		}
		return nil
	})
}

// eventually waits until there is no error any more.
func (a *author) eventually(what string, check func() error) {
	a.t.Helper()
	cluster.Eventually(a.t, time.Minute, what, func() (bool, string) {
		err := check()
		return err == nil, fmt.Sprint(err)
	})
}

// checkSize fails the test if a module is larger than what a scaffolded one may be.
func (a *author) checkSize(module string) {
	a.t.Helper()
	const most = 150_000
	i, err := os.Stat(module)
	if err != nil {
		a.t.Fatal(err)
	}
	if a.t.Logf("%s: %d bytes", filepath.Base(module), i.Size()); i.Size() > most {
		a.t.Errorf("%s has %d bytes, more than %d", module, i.Size(), most)
	}
}

// onlySDK fails the test if the plugin in a folder imports anything but Go's own library, the SDK and itself.
func (a *author) onlySDK(folder string) {
	a.t.Helper()
	itself := strings.TrimSpace(a.runShell(folder, "go list -m"))
	for _, p := range strings.Fields(a.runShell(folder,
		"go list -deps -f '{{if not .Standard}}{{.ImportPath}}{{end}}' ./module")) {
		sdk := slices.ContainsFunc([]string{"abi", "sdk"}, func(part string) bool {
			root := "github.com/windlass-dev/windlass/" + part
			return p == root || strings.HasPrefix(p, root+"/")
		})
		if !sdk && p != itself && !strings.HasPrefix(p, itself+"/") {
			a.t.Errorf("%s depends on %s", itself, p)
		}
	}
}

var errNotYet = errors.New("not yet")
