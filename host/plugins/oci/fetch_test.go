package oci

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/host/plugins/oci/registrytest"
)

// A registry, or who sits before it, may send anything: nothing but what the digest names is taken, and that in bounded
// memory and time.
func TestTampering(t *testing.T) {
	r := registrytest.Start(t, registrytest.Options{})
	const hasty = time.Second
	waits := []string{"module slow", "no answer", "busy"} // until the client's time is over
	c, impatient := newClient(t, r), newClient(t, r, func(o *Options) { o.Timeout = hasty })
	pinned := mustPush(t, c, r.Host+"/a", wasm)
	blobPath, manifestPath := "/v2/a/blobs/"+digestOf(wasm), "/v2/a/manifests/"+pinned.Digest
	other := append(bytes.Clone(wasm[:len(wasm)-1]), '!')
	type handler = func(w http.ResponseWriter, q *http.Request, next http.Handler)

	at := func(path string, f handler) handler {
		return func(w http.ResponseWriter, q *http.Request, next http.Handler) {
			if q.URL.Path == path && q.Method == http.MethodGet {
				f(w, q, next)
				return
			}
			next.ServeHTTP(w, q)
		}
	}

	send := func(kind string, b []byte) handler {
		return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
			w.Header().Set("Content-Type", kind)
			w.Header().Set("Content-Length", strconv.Itoa(len(b)))
			_, _ = w.Write(b)
		}
	}

	endless := func(w http.ResponseWriter, q *http.Request, _ http.Handler) {
		block := make([]byte, 1<<20)
		for q.Context().Err() == nil {
			if _, err := w.Write(block); err != nil {
				return
			}
		}
	}

	slow := func(w http.ResponseWriter, q *http.Request, _ http.Handler) {
		w.Header().Set("Content-Length", strconv.Itoa(len(wasm)))
		_, _ = w.Write(wasm[:1])
		_ = http.NewResponseController(w).Flush()
		<-q.Context().Done()
	}

	cut := func(w http.ResponseWriter, q *http.Request, _ http.Handler) {
		w.Header().Set("Content-Length", strconv.Itoa(len(wasm)))
		_, _ = w.Write(wasm[:10])
	}

	for name, x := range map[string]struct {
		intercept handler
		want      string
	}{
		"other module": {at(blobPath, send("application/octet-stream", other)),
			"the registry sent 41 bytes with the digest " + digestOf(other) + " instead of " + digestOf(wasm)},
		"other manifest":   {at(manifestPath, send(typeManifest, []byte(`{"layers":[]}`))), "can't pull its manifest"},
		"manifest as HTML": {at(manifestPath, send("text/html", []byte("<html>"))), "can't pull its manifest"},
		"module cut":       {at(blobPath, cut), "unexpected EOF"},
		"module endless":   {at(blobPath, endless), "sends more than the limit of 41 bytes"},
		"manifest endless": {at(manifestPath, func(w http.ResponseWriter, q *http.Request, n http.Handler) {
			w.Header().Set("Content-Type", typeManifest)
			endless(w, q, n)
		}), "can't pull its manifest"},
		"module slow": {at(blobPath, slow), "the registry took too long"},
		"no answer": {func(_ http.ResponseWriter, q *http.Request, _ http.Handler) {
			<-q.Context().Done()
		}, "the registry took too long"},
		"gone": {at(blobPath, func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
			w.WriteHeader(404)
		}), "push it there, or correct the reference"},
		"down": {func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
			w.WriteHeader(503)
		}, "response status code 503"},
		"busy": {func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
			w.Header().Set("Retry-After", "3600")
			w.WriteHeader(429)
		}, ""},
		"redirects for ever": {func(w http.ResponseWriter, q *http.Request, _ http.Handler) {
			http.Redirect(w, q, q.URL.Path+"?key=hush", http.StatusTemporaryRedirect)
		}, "can't pull its manifest"},
		"shouts": {func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
			w.WriteHeader(400)
			fmt.Fprintf(w, `{"errors":[{"code":"X","message":"%s"}]}`, strings.Repeat(`\n\u001b[2Jlies`, 500))
		}, "can't pull its manifest"},
	} {
		t.Run(name, func(t *testing.T) {
			r.Intercept(x.intercept)
			defer r.Intercept(nil)
			c, most := c, time.Minute
			if slices.Contains(waits, name) {
				c, most = impatient, hasty
			}
			from := time.Now()
			_, err := c.Fetch(t.Context(), pinned)
			if err == nil {
				t.Fatal("was taken")
			}
			refused(t, err, x.want, "image "+pinned.String())
			if took := time.Since(from); took > most+time.Minute {
				t.Errorf("took %v", took)
			}
			if len(err.Error()) > 1500 || strings.Contains(err.Error(), "hush") {
				t.Errorf("says too much: %v", err)
			}
		})
	}

	if _, err := c.Fetch(t.Context(), pinned); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

// A body that breaks off, or an answer that says later, is asked for again, a few times.
func TestRetries(t *testing.T) {
	r := registrytest.Start(t, registrytest.Options{})
	c := newClient(t, r)
	pinned := mustPush(t, c, r.Host+"/a", wasm)
	n := 0
	r.Intercept(func(w http.ResponseWriter, q *http.Request, next http.Handler) {
		switch n++; n {
		case 1:
			w.WriteHeader(502)
		case 3:
			w.Header().Set("Content-Length", strconv.Itoa(len(wasm)))
			_, _ = w.Write(wasm[:3])
		default:
			next.ServeHTTP(w, q)
		}
	})
	if _, err := c.Fetch(t.Context(), pinned); err != nil || n != 4 {
		t.Errorf("after %d requests: %v", n, err)
	}
	n = 0
	r.Intercept(func(w http.ResponseWriter, _ *http.Request, _ http.Handler) { n++; w.WriteHeader(502) })
	if _, err := c.Fetch(t.Context(), pinned); err == nil || n != attempts {
		t.Errorf("after %d requests: %v", n, err)
	}
}

// Nothing goes without TLS unless that was configured, wherever the registry sends us; a password goes to its registry
// only.
func TestRedirectsAndPlainHTTP(t *testing.T) {
	leaked := make(chan string, 10)
	storage := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		leaked <- q.Header.Get("Authorization")
		_, _ = w.Write(wasm)
	}))
	defer storage.Close()
	storageHost := strings.TrimPrefix(storage.URL, "http://")
	r := registrytest.Start(t, registrytest.Options{TLS: true, User: "u", Password: "p"})
	credentials := r.Credentials("u", "p")
	strict := newClient(t, r, func(o *Options) { o.Credentials = credentials })
	pinned := mustPush(t, strict, r.Host+"/a", wasm)

	r.Intercept(func(w http.ResponseWriter, q *http.Request, next http.Handler) {
		if strings.Contains(q.URL.Path, "/blobs/") {
			http.Redirect(w, q, storage.URL+"/blob?signature=hush", http.StatusTemporaryRedirect)
			return
		}
		next.ServeHTTP(w, q)
	})

	_, err := strict.Fetch(t.Context(), pinned)
	refused(t, err, "sends to "+storageHost+" without TLS", "registries.plainHTTP")
	if strings.Contains(fmt.Sprint(err), "hush") {
		t.Errorf("tells a secret: %v", err)
	}
	lax := newClient(t, r, func(o *Options) { o.Credentials, o.PlainHTTP = credentials, []string{storageHost} })
	if _, err := lax.Fetch(t.Context(), pinned); err != nil {
		t.Error(err)
	}
	if got := <-leaked; got != "" {
		t.Errorf("the storage was sent %q", got)
	}
	plain := registrytest.Start(t, registrytest.Options{})
	_, err = newClient(t, plain, func(o *Options) { o.PlainHTTP = nil }).Fetch(t.Context(), pinnedAt(plain.Host))
	refused(t, err, "a registry without TLS has to be listed in registries.plainHTTP (--plain-http)")
	_, err = newClient(t, r, func(o *Options) { o.CAFile = "" }).Fetch(t.Context(), pinned)
	refused(t, err, "name the CA that signed the registry's certificate in registries.caFile")
}

func pinnedAt(host string) Reference {
	return Reference{Repository: host + "/a", Digest: digestOf(nil)}
}

func TestCredentials(t *testing.T) {
	r := registrytest.Start(t, registrytest.Options{User: "u", Password: "correct"})
	pinned := mustPush(t, newClient(t, r, func(o *Options) { o.Credentials = r.Credentials("u", "correct") }), r.Host+"/a",
		wasm)
	ran := filepath.Join(t.TempDir(), "ran")
	dir := t.TempDir()
	helper := filepath.Join(dir, "docker-credential-test")
	if err := os.WriteFile(helper, []byte("#!/bin/sh\ntouch "+ran+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}

	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	helping := filepath.Join(dir, "config.json")
	if err := os.WriteFile(helping, []byte(`{"credsStore":"test","credHelpers":{"`+r.Host+`":"test"}}`), 0o600); err !=
		nil {
		t.Fatal(err)
	}

	for name, file := range map[string]string{"none": "", "wrong": r.Credentials("u", "wr0ng"), "helper": helping} {
		_, err := newClient(t, r, func(o *Options) { o.Credentials = file }).Fetch(t.Context(), pinned)
		refused(t, err, "give credentials for "+r.Host+" in a docker config file")
		if strings.Contains(fmt.Sprint(err), "wr0ng") {
			t.Errorf("%s: tells the password: %v", name, err)
		}
	}

	if _, err := os.Stat(ran); err == nil {
		t.Error("a credential helper was run")
	}
	for _, o := range []Options{{Credentials: "/nowhere"}, {CAFile: "/nowhere"}, {CAFile: helping},
		{Credentials: helper}} {
		if _, err := New(o); err == nil {
			t.Errorf("%+v was taken", o)
		}
	}
}
