package console

import (
	"compress/gzip"
	"io"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
)

// The page is whole, needs nothing from elsewhere, and its policy allows its own script and style and no other.
func TestPage(t *testing.T) {
	s := httptest.NewServer(Handler())
	t.Cleanup(s.Close)
	answer, err := s.Client().Get(s.URL)
	if err != nil {
		t.Fatal(err)
	}

	defer answer.Body.Close()
	b, err := io.ReadAll(answer.Body) // the client unpacks it
	if err != nil {
		t.Fatal(err)
	}

	page, policy := string(b), answer.Header.Get("Content-Security-Policy")
	inner := func(tag string) string {
		_, rest, _ := strings.Cut(page, "<"+tag+">")
		text, _, ok := strings.Cut(rest, "</"+tag+">")
		if !ok || text == "" {
			t.Fatalf("no %s in the page", tag)
		}
		return text
	}
	if !strings.Contains(policy, "script-src 'sha256-"+digest(inner("script"))+"';") ||
		!strings.Contains(policy, "style-src 'sha256-"+digest(inner("style"))+"';") ||
		!strings.HasPrefix(policy, "default-src 'none';") {
		t.Errorf("the policy doesn't allow the page's own script and style: %s", policy)
	}

	unsafe := regexp.MustCompile(`{{|innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(| style=|https?://[^w]`)
	if at := unsafe.FindString(page); at != "" {
		t.Errorf("the page has %q in it", at)
	}
	r := httptest.NewRequest("GET", "/console", nil)
	r.Header.Set("If-None-Match", answer.Header.Get("ETag"))
	w := httptest.NewRecorder()
	Handler().ServeHTTP(w, r)
	if w.Code != 304 || w.Body.Len() > 0 {
		t.Errorf("a page that is known: %d, %d bytes", w.Code, w.Body.Len())
	}
	r = httptest.NewRequest("GET", "/console", nil)
	r.Header.Set("Accept-Encoding", "gzip")
	w = httptest.NewRecorder()
	Handler().ServeHTTP(w, r)
	packed := w.Body.Len()
	z, err := gzip.NewReader(w.Body)
	if err != nil {
		t.Fatal(err)
	}

	if b, err := io.ReadAll(z); err != nil || string(b) != page {
		t.Errorf("packed, it is another page: %v", err)
	}
	t.Logf("%d bytes, %d packed", len(page), packed)
	if packed > 20<<10 {
		t.Errorf("the page is %d bytes packed", packed)
	}
}
