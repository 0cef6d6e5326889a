// Package docs does what the pages of docs/ tell their readers to do: runs the commands, writes the files, and compares
// what is printed. Code that pages show is code that is compiled.
package docs

import (
	"bytes"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/config"
	"github.com/windlass-dev/windlass/host/plugins/oci/registrytest"
	builtin "github.com/windlass-dev/windlass/plugins"
	"github.com/windlass-dev/windlass/test/cluster"
	"github.com/windlass-dev/windlass/test/pages"
	"github.com/windlass-dev/windlass/test/windlass"
)

var update = flag.Bool("update", false, "write the outputs in the pages anew")

// worlds are what is there when a reader begins with a page: a running windlass, some objects. The commands of a page
// that isn't here are run by the test that is named.
var worlds = map[string]func(t *testing.T, c *cluster.Cluster) *shell{
	"abi.md":         running("*"),
	"debugging.md":   recorded,
	"get-started.md": checkout,
	"languages.md":   newEmptyShell,
	"security.md":    registry,
	"tutorial.md":    registry,
}

var elsewhere = map[string]string{"console.md": "test/console"}

// Every page's commands print what the page says.
func TestCommands(t *testing.T) {
	all, err := filepath.Glob(filepath.Join(root, "docs/*.md"))
	if err != nil {
		t.Fatal(err)
	}
	c := cluster.Start(t, cluster.Options{Nodes: 2})
	for _, page := range all {
		b, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Base(page)
		world, known := worlds[name]
		switch has := bytes.Contains(b, []byte("\n    $ ")); {
		case has && !known && elsewhere[name] == "":
			t.Errorf("%s has commands that no test runs: add it to worlds, or write them without $", name)
		case known && !has:
			t.Errorf("%s has no commands", name)
		case known:
			t.Run(strings.TrimSuffix(name, ".md"), func(t *testing.T) {
				s := world(t, c)
				pages.Follow(t, page, pages.Reader{Run: s.runCommand, Looks: isReadOnly, Write: s.writeFile, Update: *update})
			})
		}
	}
}

// newEmptyShell returns a shell with a cluster, in which no windlass runs yet.
func newEmptyShell(t *testing.T, c *cluster.Cluster) *shell {
	t.Helper()
	return newShell(t, c.Kubeconfig)
}

// checkout is a shell in an empty folder beside a checkout in which everything is built; the page starts the cluster.
func checkout(t *testing.T, _ *cluster.Cluster) *shell {
	t.Helper()
	s := newShell(t, "")
	path, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	s.must(fmt.Sprintf("ln -s %q windlass && mkdir try && cd try", path))
	return s
}

// running is a shell beside a windlass that runs these controllers and plugins of the folder plugins/.
func running(controllers string) func(t *testing.T, c *cluster.Cluster) *shell {
	return func(t *testing.T, c *cluster.Cluster) *shell {
		t.Helper()
		s := newEmptyShell(t, c)
		s.must("mkdir plugins")
		s.writeFile("windlass.yaml", "apiVersion: "+config.APIVersion+"\nkind: "+config.Kind+"\n")
		s.must(fmt.Sprintf("windlass run --config windlass.yaml --kubeconfig $KUBECONFIG --leader-elect=false --plugin-folder plugins --controllers '%s' >windlass.log 2>&1 &", controllers))
		s.must("until windlass status >/dev/null 2>&1; do sleep 0.1; done")
		return s
	}
}

const deployment = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: web:1}]}
`

// recorded is a shell beside a windlass that has just made a Deployment's pods, with the plugin's next version in a
// file.
func recorded(t *testing.T, c *cluster.Cluster) *shell {
	t.Helper()
	s := running("deployment,replicaset,serviceaccount")(t, c)
	windlass.Account(t, c.Client(), "default")
	s.writeFile("web.yaml", deployment)
	s.runCommand("kubectl apply -f web.yaml")
	cluster.Eventually(t, time.Minute, "the deployment is available", func() (bool, string) {
		out := s.runCommand("kubectl get deployment web")
		return strings.Contains(out, "3/3"), out
	})
	wasm, ok := builtin.Module("deployment")
	if !ok {
		t.Fatal("no built-in plugin deployment: run make plugins")
	}
	s.writeFile("deployment-next.wasm", strings.ReplaceAll(string(wasm), "ScalingReplicaSet", "ScaledReplicaSets"))
	return s
}

// registry is a shell with a registry, which pages call registry.example, a module and a key.
func registry(t *testing.T, c *cluster.Cluster) *shell {
	t.Helper()
	r := registrytest.Start(t, registrytest.Options{TLS: true})
	s := newShell(t, c.Kubeconfig, "registry.example", r.Host)
	s.must("export SSL_CERT_FILE=" + r.CAFile)
	wasm, ok := builtin.Module("replicaset")
	if !ok {
		t.Fatal("no built-in plugin replicaset: run make plugins")
	}
	s.writeFile("replicaset.wasm", string(wasm))
	public, private := newKey(t)
	s.writeFile("plugins.key", private)
	s.writeFile("plugins.pub", public)
	return s
}

// newKey returns the halves of a key for signatures, in PEM.
func newKey(t *testing.T) (public, private string) {
	t.Helper()
	half, whole, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(whole)
	if err != nil {
		t.Fatal(err)
	}
	private = string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
	if der, err = x509.MarshalPKIXPublicKey(half); err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})), private
}

// must runs a command that has nothing to say.
func (s *shell) must(command string) {
	s.t.Helper()
	if out := s.runCommand(command); strings.TrimSpace(out) != "" {
		s.t.Fatalf("$ %s printed\n%s", command, out)
	}
}
