package isolation

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/windlass-dev/windlass/config"
	"github.com/windlass-dev/windlass/host/controller"
	"github.com/windlass-dev/windlass/host/state"
	"github.com/windlass-dev/windlass/test/cluster"
	"github.com/windlass-dev/windlass/test/windlass"
)

// A key that nothing but its own writes wakes, again and again, is slowed down; somebody else's change wakes it as
// ever.
func TestKeyThatWakesItselfIsSlowedDown(t *testing.T) {
	folder := buildPlugins(t, "restless")
	c := cluster.Start(t, cluster.Options{})
	m := windlass.Start(t, c, windlass.Options{Controllers: []string{"restless-controller"},
		Configure: func(k *config.Configuration) {
			k.ClientConnection.Kubeconfig, k.UseServiceAccountCredentials = c.Kubeconfig, false
			k.PluginFolder = folder
		}})
	client := c.Client()
	if _, err := client.CoreV1().Namespaces().Create(t.Context(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	createVictims(t, client, "restless", 0, 1)
	syncs := func() float64 {
		return m.Count(t, "windlass_syncs_total", "controller", "restless-controller", "result", "ok")
	}
	cluster.Eventually(t, time.Minute, "a dozen syncs", func() (bool, string) {
		n := syncs()
		return n >= 12, fmt.Sprint(n)
	})
	// By now it is held back for two seconds each time: unbounded it would do hundreds of syncs in five.
	n, from := syncs(), time.Now()
	cluster.Eventually(t, time.Minute, "three more", func() (bool, string) {
		now := syncs()
		return now >= n+3, fmt.Sprint(now - n)
	})
	if took := time.Since(from); took < 2*time.Second {
		t.Errorf("three more syncs took %v: the key isn't held back", took)
	}

	// Held back it would be seen later each time, on a busy machine it is now and then.
	fastest := time.Hour
	for n := 0; n < 5 && fastest > time.Second; n++ {
		before := syncs()
		cluster.Eventually(t, time.Minute, "the next sync", func() (bool, string) { return syncs() > before, "" })
		from = time.Now()
		before = syncs()
		patch := fmt.Appendf(nil, `{"data":{"other":"%d"}}`, n)
		if _, err := client.CoreV1().ConfigMaps(namespace).Patch(t.Context(), "restless-0", "application/merge-patch+json",
			patch, metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
		cluster.Eventually(t, time.Minute, "a sync for somebody else's change",
			func() (bool, string) { return syncs() > before, "" })
		fastest = min(fastest, time.Since(from))
	}
	if fastest > time.Second {
		t.Errorf("somebody else's change was seen after %v at the earliest", fastest)
	}
}

// A key that does nothing but ask for its next sync at once is slowed down, and the status tells of it.
func TestKeyThatAsksForItselfIsSlowedDown(t *testing.T) {
	folder := buildPlugins(t, "hasty")
	c := cluster.Start(t, cluster.Options{})
	m := windlass.Start(t, c, windlass.Options{Controllers: []string{"hasty-controller"},
		Configure: func(k *config.Configuration) {
			k.ClientConnection.Kubeconfig, k.UseServiceAccountCredentials = c.Kubeconfig, false
			k.PluginFolder = folder
		}})
	client := c.Client()
	if _, err := client.CoreV1().Namespaces().Create(t.Context(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	createVictims(t, client, "hasty", 0, 1)
	const key = namespace + "/hasty-0"
	cluster.Eventually(t, time.Minute, "the status tells of it", func() (bool, string) {
		s := m.Status(t)
		told := slices.ContainsFunc(s.Troubles, func(x state.Trouble) bool {
			return x.Level == state.Warning && x.About == "hasty-controller" && strings.Contains(x.What, key) &&
				strings.Contains(x.What, "1ns")
		})
		return told, fmt.Sprintf("%+v", s.Troubles)
	})

	// In the end it waits for two seconds each time: unbounded it would do thousands of syncs in four.
	cluster.Eventually(t, time.Minute, "two dozen syncs", func() (bool, string) {
		s := m.Status(t)
		h := s.Controllers[0].Hastiest
		return h != nil && h.Tries >= 24, fmt.Sprintf("%+v", h)
	})
	slowed := func() float64 { return m.Count(t, "windlass_slowed_syncs_total", "controller", "hasty-controller") }
	n, from := slowed(), time.Now()
	cluster.Eventually(t, time.Minute, "three more", func() (bool, string) {
		now := slowed()
		return now >= n+3, fmt.Sprint(now - n)
	})
	if took := time.Since(from); took < 2*time.Second {
		t.Errorf("three more syncs took %v: the key isn't slowed down", took)
	}

	cluster.Eventually(t, time.Minute, "the key is listed", func() (bool, string) {
		var k state.Keys
		b := m.Get(t, "/windlass/v1/keys?controller=hasty-controller")
		if err := json.Unmarshal(b, &k); err != nil {
			t.Fatal(err)
		}
		return len(k.Keys) == 1 && k.Keys[0].Key == key && k.Keys[0].State == controller.Restless, string(b)
	})
}
