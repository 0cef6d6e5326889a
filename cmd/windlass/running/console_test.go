package running

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// The printed address lets one browser in, once; nobody else gets more than the empty page, whatever this address is
// called.
func TestDoor(t *testing.T) {
	address, _ := serveStatus(t, ailingStatus(), true)
	front := httptest.NewUnstartedServer(nil)
	d := newDoor(newServer(address), front.Listener.Addr().String())
	front.Config.Handler = d.handler()
	front.Start()
	t.Cleanup(front.Close)
	ask := func(method, path, token, host string) (int, string) {
		t.Helper()
		r, err := http.NewRequest(method, front.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		r.Host = host
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		b, _ := io.ReadAll(answer.Body)
		return answer.StatusCode, string(b)
	}

	expect := func(what string, code, want int, body, has string) {
		t.Helper()
		if code != want || !strings.Contains(body, has) {
			t.Errorf("%s: %d %.200s, want %d with %q", what, code, body, want, has)
		}
	}

	once := d.once
	code, body := ask("GET", "/console", "", "")
	expect("the page", code, 200, body, "<title>Windlass</title>")
	for _, s := range []string{once, d.session, "node-1"} {
		if strings.Contains(body, s) {
			t.Errorf("the page has %q in it", s)
		}
	}

	code, body = ask("GET", "/windlass/v1/status", "", "")
	expect("without a token", code, 401, body, "open the address that windlass console has printed")
	code, body = ask("GET", "/windlass/v1/status", once, "")
	expect("with the one-time token", code, 401, body, "")
	code, body = ask("POST", "/session", "guess", "")
	expect("a guess", code, 403, body, "")
	code, session := ask("POST", "/session", once, "")
	expect("the address", code, 200, session, "")
	code, body = ask("POST", "/session", once, "")
	expect("the address again", code, 403, body, "works only once")
	code, body = ask("GET", "/windlass/v1/status", session, "")
	expect("the session", code, 200, body, `"host":"node-1"`)
	code, body = ask("GET", "/windlass/v1/keys?controller=job", session, "")
	expect("keys", code, 200, body, "shop/pay")
	code, body = ask("POST", "/windlass/v1/controllers/job-controller/release", session, "")
	expect("anything but looking", code, 404, body, "")
	code, body = ask("GET", "/debug/recordings/job-controller", session, "")
	expect("recordings", code, 404, body, "")
	code, body = ask("GET", "/debug/recordings/job-controller/sync?key=shop/pay", "", "")
	expect("one sync without a token", code, 401, body, "")
	code, body = ask("GET", "/debug/recordings/job-controller/sync?key=shop/pay", session, "")
	expect("one sync", code, 200, body, `"key":"shop/pay"`)
	code, body = ask("GET", "/windlass/v1/status", session, "evil.example")
	expect("another name", code, 421, body, "served as 127.0.0.1:")
}
