package oci

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/windlass-dev/windlass/config"
	"github.com/windlass-dev/windlass/host/plugins"
	"github.com/windlass-dev/windlass/host/plugins/oci/registrytest"
)

// newSource returns a source whose modules' names are what follows "name:" in them.
func newSource(t *testing.T) *Source {
	t.Helper()
	return NewSource(t.Context(), func(_ context.Context, p *plugins.Plugin) (string, error) {
		wasm, err := p.Wasm()
		if err != nil {
			return "", err
		}
		_, name, ok := bytes.Cut(wasm, []byte("name:"))
		if !ok {
			return "", errors.New("has no manifest")
		}
		return string(name), nil
	})
}

func configuration(t *testing.T, r *registrytest.Registry, images map[string]Reference,
	change ...func(*config.Configuration)) *config.Configuration {
	k := config.Default()
	k.Registries.PlainHTTP = []string{r.Host}
	k.Registries.CacheFolder = filepath.Join(t.TempDir(), "modules")
	k.Registries.Timeout = metav1.Duration{Duration: time.Minute}
	for _, name := range []string{"a", "b"} {
		if ref, ok := images[name]; ok {
			k.Plugins = append(k.Plugins, config.Plugin{Name: name, Image: ref.String()})
		}
	}
	for _, f := range change {
		f(k)
	}
	return k
}

func configure(t *testing.T, s *Source, k *config.Configuration) {
	t.Helper()
	from := time.Now()
	if err := s.Configure(k); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(from); took > k.Registries.Timeout.Duration {
		t.Errorf("configuring waited %v", took)
	}
}

// waitForImage waits until a plugin's image is as wanted.
func waitForImage(t *testing.T, s *Source, name string, wanted func(State) bool) State {
	t.Helper()
	timeout := time.After(2 * time.Minute)
	for {
		var last State
		for _, i := range s.Images() {
			if i.Name == name {
				if last = i; wanted(i) {
					return i
				}
			}
		}
		select {
		case <-s.Changed():
		case <-timeout:
			t.Fatalf("plugin %s is %+v", name, last)
		}
	}
}

func isPulled(i State) bool { return i.Plugin != nil }
func failing(i State) bool  { return i.Err != nil }

func TestSourceGets(t *testing.T) {
	r := registrytest.Start(t, registrytest.Options{})
	c := newClient(t, r)
	a, b := mustPush(t, c, r.Host+"/x/a", []byte("name:a")), mustPush(t, c, r.Host+"/x/b", []byte("name:b"))
	s := newSource(t)
	k := configuration(t, r, map[string]Reference{"a": a, "b": b})
	configure(t, s, k)
	p := waitForImage(t, s, "a", isPulled).Plugin
	waitForImage(t, s, "b", isPulled)
	if p.Name != "a" || p.Origin != a.String() || p.Digest != digestOf([]byte("name:a")) {
		t.Errorf("%+v", p)
	}
	if wasm, err := p.Wasm(); err != nil || string(wasm) != "name:a" {
		t.Errorf("it holds %q, %v", wasm, err)
	}

	// The same again is the same; what is gone from the configuration is gone.
	k.Plugins = k.Plugins[:1]
	configure(t, s, k)
	if all := s.Images(); len(all) != 1 || all[0].Plugin != p {
		t.Errorf("%+v", all)
	}

	// Another process finds them in the cache, and asks nobody.
	n := len(r.Requests(""))
	again := newSource(t)
	configure(t, again, k)
	if all := again.Images(); len(all) != 1 || !isPulled(all[0]) || len(r.Requests("")) != n {
		t.Errorf("%+v after %v", all, r.Requests("")[n:])
	}
}

// A registry that is down, or mute, holds nobody up; what the cache has is used, the rest comes when the registry does.
func TestSourceWithoutRegistry(t *testing.T) {
	r := registrytest.Start(t, registrytest.Options{})
	c := newClient(t, r)
	a, b := mustPush(t, c, r.Host+"/x/a", []byte("name:a")), mustPush(t, c, r.Host+"/x/b", []byte("name:b"))
	k := configuration(t, r, map[string]Reference{"a": a})
	first := newSource(t)
	configure(t, first, k)
	waitForImage(t, first, "a", isPulled)

	release := make(chan struct{})
	r.Intercept(func(w http.ResponseWriter, q *http.Request, next http.Handler) {
		select {
		case <-release:
			next.ServeHTTP(w, q)
		case <-q.Context().Done():
		}
	})
	k.Plugins = append(k.Plugins, config.Plugin{Name: "b", Image: b.String()})
	patient := newSource(t)
	configure(t, patient, k)
	if all := patient.Images(); !isPulled(all[0]) || isPulled(all[1]) || all[1].Err != nil {
		t.Errorf("%+v", all)
	}

	hasty, s := *k, newSource(t)
	hasty.Registries.Timeout.Duration = time.Second
	if err := s.Configure(&hasty); err != nil {
		t.Fatal(err)
	}
	why := waitForImage(t, s, "b", failing).Err
	refused(t, why, "image "+b.String()+": can't pull its manifest", "the registry took too long")

	close(release)
	waitForImage(t, patient, "b", isPulled)
	configure(t, s, k) // with time for an answer on a busy machine, too
	s.Retry()
	waitForImage(t, s, "b", isPulled)
}

// Without being told to, an image that couldn't be had is tried again.
func TestSourceTriesAgain(t *testing.T) {
	r := registrytest.Start(t, registrytest.Options{})
	a := mustPush(t, newClient(t, r), r.Host+"/x/a", []byte("name:a"))
	r.Intercept(func(w http.ResponseWriter, _ *http.Request, _ http.Handler) { w.WriteHeader(404) })
	s := newSource(t)
	configure(t, s, configuration(t, r, map[string]Reference{"a": a}))
	waitForImage(t, s, "a", failing)
	r.Intercept(nil)
	if i := waitForImage(t, s, "a", isPulled); i.Err != nil {
		t.Errorf("is there, and yet %v", i.Err)
	}
}

func TestSourceRefuses(t *testing.T) {
	r := registrytest.Start(t, registrytest.Options{})
	c := newClient(t, r)
	b := mustPush(t, c, r.Host+"/x/b", []byte("name:b"))
	none := mustPush(t, c, r.Host+"/x/none", []byte("none"))
	s := newSource(t)
	configure(t, s, configuration(t, r, map[string]Reference{"a": b, "b": none}))
	refused(t, waitForImage(t, s, "a", failing).Err,
		"image "+b.String()+`: holds the plugin "b": write plugins[].name: b, or name another image`)
	refused(t, waitForImage(t, s, "b", failing).Err, "has no manifest")
	n := len(r.Requests("/x/none"))
	s.Retry() // what the digest names never changes: nobody is asked again
	tag := b
	tag.Digest, tag.Tag = "", "latest"
	k := configuration(t, r, map[string]Reference{"a": tag})
	k.Plugins = append(k.Plugins, config.Plugin{Name: "b", Image: none.String()})
	k.Registries.CacheFolder = s.images[1].folder
	configure(t, s, k)
	refused(t, waitForImage(t, s, "a", failing).Err, "names no digest")
	if len(r.Requests("/x/none")) != n {
		t.Errorf("asked again: %v", r.Requests("/x/none")[n:])
	}
}

// The keys are asked each time, whatever is in the cache: a key that is exchanged takes hold at once.
func TestSourceVerifies(t *testing.T) {
	r := registrytest.Start(t, registrytest.Options{})
	c := newClient(t, r)
	ours, _, file := keyPair(t)
	theirs, _, theirFile := keyPair(t)
	a := mustPush(t, c, r.Host+"/x/a", []byte("name:a"))
	k := configuration(t, r, map[string]Reference{"a": a}, func(k *config.Configuration) {
		k.Registries.VerificationKeys = []string{file}
	})
	s := newSource(t)
	configure(t, s, k)
	refused(t, waitForImage(t, s, "a", failing).Err, "isn't signed, and must be signed by a key of "+file)
	if err := c.Sign(t.Context(), a, ours); err != nil {
		t.Fatal(err)
	}

	s.Retry()
	waitForImage(t, s, "a", isPulled)
	n := len(r.Requests(""))
	again := newSource(t)
	configure(t, again, k)
	if all := again.Images(); !isPulled(all[0]) || len(r.Requests("")) != n {
		t.Errorf("%+v: the cache's signature wasn't enough", all)
	}

	// The key's file changes in place.
	b, err := os.ReadFile(theirFile)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, b, 0o600); err != nil {
		t.Fatal(err)
	}

	configure(t, s, k)
	refused(t, waitForImage(t, s, "a", failing).Err, "is signed, but not by a key of "+file)
	if err := c.Sign(t.Context(), a, theirs); err != nil {
		t.Fatal(err)
	}

	s.Retry()
	waitForImage(t, s, "a", isPulled)
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}

	if err := s.Configure(k); err == nil || !strings.Contains(err.Error(), "plugins[0]: verificationKeys: stat "+file) {
		t.Errorf("got %v", err)
	}
	if i := s.Images()[0]; !isPulled(i) {
		t.Errorf("a configuration that can't be taken changed what is: %+v", i)
	}
}

// Without a cache all the same.
func TestSourceWithoutCache(t *testing.T) {
	r := registrytest.Start(t, registrytest.Options{})
	a := mustPush(t, newClient(t, r), r.Host+"/x/a", []byte("name:a"))
	open := t.TempDir()
	if err := os.Chmod(open, 0o777); err != nil {
		t.Fatal(err)
	}
	s := newSource(t)
	configure(t, s, configuration(t, r, map[string]Reference{"a": a}, func(k *config.Configuration) {
		k.Registries.CacheFolder = open
	}))
	waitForImage(t, s, "a", isPulled)
	if entries, err := os.ReadDir(open); err != nil || len(entries) != 0 {
		t.Errorf("%v, %v", entries, err)
	}
}
