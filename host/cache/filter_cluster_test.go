package cache

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// filtered has one controller update the config maps with a label, as root-ca-publisher does those with a name.
func filtered(t *testing.T, config *rest.Config, w configMapWriter) {
	var all sync.WaitGroup
	for g := range 8 {
		all.Go(func() {
			for i := g; i < 200; i += 8 {
				m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("keep-%03d", i)},
					Data: map[string]string{"k": "data-of-many"}}
				if i%20 == 0 {
					m.Labels = map[string]string{"mine": "yes"}
				}
				if _, err := w.CoreV1().ConfigMaps("default").Create(t.Context(), m, metav1.CreateOptions{}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	c, err := New(Options{Config: config})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Declare(configMaps, Want{Filter: labelled(t, configMaps, "mine", "yes")}); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	events := newRecorder()
	if _, err := c.Handle(configMaps, events); err != nil {
		t.Fatal(err)
	}
	if err := c.Start(ctx); err != nil {
		t.Fatal(err)
	}
	waitForSync(t, c, configMaps)
	store := c.Store(configMaps)
	if store.Len() != 10 {
		t.Fatalf("%d objects are kept, want the 10 with the label", store.Len())
	}
	eventually(t, "the ten are told of", func() bool { return len(events.eventsAbout("keep-")) == 10 })
	relabel := func(name, value string) *corev1.ConfigMap {
		m, err := w.CoreV1().ConfigMaps("default").Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		m.Labels = map[string]string{"mine": value}
		return w.update(m)
	}
	m := relabel("keep-001", "yes")
	eventually(t, "an object that matches now is there, whole", func() bool {
		return atVersion(store, m)() && strings.Contains(string(store.Get("default", m.Name).Raw), "data-of-many")
	})
	m = relabel("keep-000", "no")
	eventually(t, "one that doesn't match any longer is gone", func() bool { return store.Get("default", m.Name) == nil })
	if store.Version() != m.ResourceVersion {
		t.Errorf("the store is at %s, not %s", store.Version(), m.ResourceVersion)
	}
	m = w.update(relabel("keep-002", "no")) // whoever wrote it has to see that the cache has got there
	eventually(t, "the version of a write to an object that isn't kept", func() bool {
		return store.Version() == m.ResourceVersion
	})
	w.delete("keep-000")
	w.delete("keep-001")
	want := []string{"add? keep-001", "delete? keep-000", "delete keep-001"}
	eventually(t, fmt.Sprint(want), func() bool { return len(events.eventsAbout("keep-")) >= 13 })
	if got := events.eventsAbout("keep-")[10:]; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}

	// Someone who reads the labels of all: the data stays away.
	if _, err := c.Declare(configMaps, Want{Mask: pathMask(t, configMaps, "metadata.labels")}); err != nil {
		t.Fatal(err)
	}
	second := newRecorder()
	if _, err := c.Handle(configMaps, second); err != nil {
		t.Fatal(err)
	}
	waitForSync(t, c, configMaps)
	withData := 0
	for _, o := range store.List() {
		if strings.Contains(string(o.Raw), "data-of-many") {
			withData++
		}
	}
	eventually(t, "the newcomer hears of all", func() bool { return len(second.eventsAbout("keep-")) == 198 })
	if withData != 9 {
		t.Errorf("the data of %d is kept, want 9", withData)
	}
	m = relabel("keep-003", "yes")
	eventually(t, "the data of one that matches now", func() bool {
		return atVersion(store, m)() && strings.Contains(string(store.Get("default", m.Name).Raw), "data-of-many")
	})
	eventually(t, "an update for both", func() bool {
		return slices.Equal(events.eventsAbout("keep-003"), []string{"update keep-003"}) &&
			len(second.eventsAbout("keep-003")) == 2
	})
	if got := len(events.eventsAbout("keep-")); got != 14 {
		t.Errorf("the first heard %v", events.eventsAbout("keep-")[13:])
	}
}
