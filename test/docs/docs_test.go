// Package docs does what the pages of docs/ tell their readers to do: runs the commands, writes the files, and compares what is printed. Code that pages show is code that is compiled.
package docs

import (
	"bytes"
	"flag"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/test/cluster"
	"github.com/windlass-dev/windlass/test/pages"
)

var update = flag.Bool("update", false, "write the outputs in the pages anew")

// worlds are what is there when a reader begins with a page: a running windlass, some objects. The commands of a page that isn't here are run by the test that is named.
var worlds = map[string]func(t *testing.T, c *cluster.Cluster) *shell{
	"abi.md": running("hello-controller"),
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
				pages.Follow(t, page, pages.Reader{Run: s.run, Looks: looks, Write: s.write, Update: *update})
			})
		}
	}
}

// free is a port on loopback that nobody has taken.
func free(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// empty is a shell with a cluster, in which no windlass runs yet.
func empty(t *testing.T, c *cluster.Cluster) *shell {
	t.Helper()
	return newShell(t, c.Kubeconfig, free(t))
}

// running is a shell beside a windlass that runs these controllers and plugins of the folder plugins/.
func running(controllers string) func(t *testing.T, c *cluster.Cluster) *shell {
	return func(t *testing.T, c *cluster.Cluster) *shell {
		t.Helper()
		s := empty(t, c)
		s.must("mkdir plugins")
		s.must(fmt.Sprintf("windlass run --kubeconfig $KUBECONFIG --leader-elect=false --plugin-folder plugins --controllers '%s' >windlass.log 2>&1 &", controllers))
		s.must("until windlass status >/dev/null 2>&1; do sleep 0.1; done")
		return s
	}
}

// must runs a command that has nothing to say.
func (s *shell) must(command string) {
	s.t.Helper()
	if out := s.run(command); strings.TrimSpace(out) != "" {
		s.t.Fatalf("$ %s printed\n%s", command, out)
	}
}
