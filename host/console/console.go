// Package console is a page that shows what a running Windlass does, to people who would rather look than read.
//
// The page is one file: markup, style and script, put together from the folder page. It asks the host for
// /windlass/v1/status once a second, and for what belongs to the controller or key that is open. It holds no data
// itself, so anybody may have it; the data needs whatever credentials the host demands. What comes from a cluster only
// ever becomes text in it, and its Content-Security-Policy allows the one script and the one style by their digests,
// trusted types forbid any other way into the markup.
package console

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"net/http"
	"strings"
	"sync"
)

//go:embed page
var files embed.FS

// scripts make the page's script, in this order.
var scripts = []string{"text.js", "api.js", "rows.js", "sync.js", "detail.js", "main.js"}

// page is what is served.
type page struct {
	plain, packed []byte
	etag, policy  string
}

var built = sync.OnceValue(func() *page {
	read := func(name string) string {
		b, err := files.ReadFile("page/" + name)
		if err != nil {
			panic("console: " + err.Error()) // it is built in
		}
		return string(b)
	}
	script := "\"use strict\";\n(() => {\n"
	for _, name := range scripts {
		script += read(name)
	}
	script += "})();\n"
	style := read("style.css")
	html := strings.NewReplacer("{{style}}", style, "{{script}}", script).Replace(read("index.html"))
	p := &page{plain: []byte(html), etag: `"` + digest(html) + `"`}
	p.policy = "default-src 'none'; script-src 'sha256-" + digest(script) + "'; style-src 'sha256-" + digest(style) +
		"'; img-src data:; connect-src 'self'; " +
		"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types " +
		"'none'"
	var packed bytes.Buffer
	w, _ := gzip.NewWriterLevel(&packed, gzip.BestCompression) // that level is one
	_, _ = w.Write(p.plain)
	_ = w.Close()
	p.packed = packed.Bytes()
	return p
})

func digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return base64.StdEncoding.EncodeToString(sum[:])
}

// Path is where the page is served.
const Path = "/console"

// Handler serves the page.
func Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p := built()
		h := w.Header()
		h.Set("Content-Security-Policy", p.policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-cache") // asked again each time, by its ETag: another version of the host has another page
		h.Set("ETag", p.etag)
		h.Set("Vary", "Accept-Encoding")
		if r.Header.Get("If-None-Match") == p.etag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		h.Set("Content-Type", "text/html; charset=utf-8")
		body := p.plain
		if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
			h.Set("Content-Encoding", "gzip")
			body = p.packed
		}
		_, _ = w.Write(body)
	})
}

// Redirect leads from the root to the page.
func Redirect() http.Handler { return http.RedirectHandler(Path, http.StatusFound) }
