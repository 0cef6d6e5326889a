// Package runningtest serves what a running windlass would, for tests of the commands that ask it.
package runningtest

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Known serves as a windlass of this user's on this machine does: commands know it by the certificate that it has left.
// There is no kubeconfig.
func Known(t testing.TB, h http.Handler) (address string) {
	t.Helper()
	s := httptest.NewTLSServer(h)
	t.Cleanup(s.Close)
	address = strings.TrimPrefix(s.URL, "https://")
	_, port, _ := strings.Cut(address, ":")
	home := t.TempDir()
	for name, value := range map[string]string{"HOME": home, "XDG_CACHE_HOME": home, "KUBECONFIG": "",
		"KUBERNETES_SERVICE_HOST": ""} {
		t.Setenv(name, value)
	}
	Leave(t, home, port, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})))
	return address
}

// Leave leaves a server's certificate in the user's cache folder.
func Leave(t testing.TB, cache, port, certificate string) {
	t.Helper()
	folder := filepath.Join(cache, "windlass", "serving")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, port+".crt"), []byte(certificate), 0o600); err != nil {
		t.Fatal(err)
	}
}
