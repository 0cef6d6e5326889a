package authors

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/windlass-dev/windlass/config"
	"github.com/windlass-dev/windlass/test/cluster"
)

// coldBuild is the processor time that a first build may take, which what else runs on a machine changes little: far
// more than it does.
const coldBuild = 2 * time.Minute

// A new user, in an empty folder and with nothing in any cache, comes in five commands from nothing to a controller's
// effect in a cluster whose Windlass has been running all the while.
func TestNewUser(t *testing.T) {
	c := cluster.Start(t, cluster.Options{Nodes: 1})
	a := newAuthor(t, c, true)
	a.runWindlass(func(k *config.Configuration) {
		// an administrator's, with which most people try things
		k.ClientConnection.Kubeconfig, k.UseServiceAccountCredentials = c.Kubeconfig, false
	})

	a.runShell(a.home, "windlass plugin new hello")
	a.runShell(a.home, "windlass plugin build hello")
	if a.spent > coldBuild {
		t.Errorf("the first build took %v of processor time", a.spent)
	}
	a.runShell(a.home, "windlass plugin test hello")
	a.runShell(a.home, "cp hello/hello.wasm $PLUGINS")
	// And kubectl label namespace default hello=world.
	if _, err := a.client.CoreV1().Namespaces().Patch(t.Context(), "default", types.MergePatchType,
		[]byte(`{"metadata":{"labels":{"hello":"world"}}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	a.eventually("the controller's config map is there", func() error {
		m, err := a.client.CoreV1().ConfigMaps("default").Get(t.Context(), "hello", metav1.GetOptions{})
		if err == nil && m.Data["message"] != "world" {
			return fmt.Errorf("%v", m.Data)
		}
		return err
	})

	a.checkSize(filepath.Join(a.home, "hello", "hello.wasm"))
	a.onlySDK(filepath.Join(a.home, "hello"))
}
