package running

import (
	"net/http"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/windlass-dev/windlass/cmd/windlass/running/runningtest"
)

func TestServerAddress(t *testing.T) {
	for text, want := range map[string]string{
		"127.0.0.1:10257": "127.0.0.1:10257", "https://windlass.example:443/": "windlass.example:443",
		"https://[::1]:10257":    "[::1]:10257",
		"http://127.0.0.1:10257": "", "windlass.example": "", "https://windlass.example:443/x": "", ":10257": "", "": "",
	} {
		var a serverAddress
		if err := a.Set(text); a.address != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v", text, a.address, err)
		}
	}
}

// What a windlass says of a mistake has commands that ask the same one.
func TestHintsOfErrors(t *testing.T) {
	server := runningtest.Known(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, `no controller "x" runs here: see windlass get controllers`, http.StatusNotFound)
	}))
	c := &cobra.Command{}
	s := serverFlags(c)
	if err := c.ParseFlags([]string{"--server", server}); err != nil {
		t.Fatal(err)
	}
	_, err := s.get(t.Context(), "/", nil)
	if err == nil || !strings.Contains(err.Error(), "see windlass get controllers --server "+server) {
		t.Error(err)
	}
}

// The environment names the windlass to ask, --server takes precedence, and hints say --server where it is needed.
func TestServerVariable(t *testing.T) {
	const hint = "windlass get keys --controller a; windlass record a; windlass docs abi"
	for _, x := range []struct {
		variable string
		args     []string
		address  string
		hint     string
	}{
		{"", nil, localServer, hint},
		{"windlass.example:443", nil, "windlass.example:443", hint},
		{"windlass.example:443", []string{"--server", "other.example:1"}, "other.example:1",
			"windlass get keys --server other.example:1 --controller a; windlass record --server other.example:1 a; " +
				"windlass docs abi"},
	} {
		t.Setenv(serverVariable, x.variable)
		c := &cobra.Command{}
		s := serverFlags(c)
		if err := c.ParseFlags(x.args); err != nil {
			t.Fatal(err)
		}
		if got := s.addressed(hint); s.address != x.address || got != x.hint || s.misnamed != nil {
			t.Errorf("%q, %q: %s, %s, %v", x.variable, x.args, s.address, got, s.misnamed)
		}
	}

	t.Setenv(serverVariable, "nowhere")
	c := &cobra.Command{}
	s := serverFlags(c)
	_, err := s.get(t.Context(), "/", nil)
	if err == nil || !strings.Contains(err.Error(), `WINDLASS_SERVER="nowhere": must be host:port`) {
		t.Error(err)
	}
	if err := c.ParseFlags([]string{"--server", localServer}); err != nil || s.misnamed != nil {
		t.Errorf("--server takes no precedence: %v, %v", err, s.misnamed)
	}
}
