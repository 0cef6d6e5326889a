package manager

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/config"
)

// Without a kubeconfig of its own the manager takes kubectl's, $KUBECONFIG; what the configuration names comes first.
func TestKubeconfigOfTheEnvironment(t *testing.T) {
	write := func(server string) string {
		file := filepath.Join(t.TempDir(), "kubeconfig")
		text := "apiVersion: v1\nkind: Config\ncurrent-context: a\nclusters: [{name: a, cluster: {server: '" + server +
			"'}}]\ncontexts: [{name: a, context: {cluster: a}}]\n"
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	named, ambient := write("https://named.example"), write("https://ambient.example")

	t.Setenv("KUBECONFIG", ambient)
	for _, x := range []struct {
		c    config.ClientConnection
		host string
	}{
		{config.ClientConnection{}, "https://ambient.example"},
		{config.ClientConnection{Kubeconfig: named}, "https://named.example"},
	} {
		r, err := restConfig(&x.c)
		if err != nil || r.Host != x.host || r.UserAgent != userAgent {
			t.Errorf("%+v: %+v, %v", x.c, r, err)
		}
	}

	t.Setenv("KUBECONFIG", "")
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	if _, err := restConfig(&config.ClientConnection{}); err == nil || !strings.Contains(err.Error(), "$KUBECONFIG") {
		t.Error(err)
	}
}
