package running

import (
	"crypto/tls"
	"crypto/x509/pkix"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/windlass-dev/windlass/cmd/windlass/running/runningtest"
	"github.com/windlass-dev/windlass/test/cluster"
)

// newTokenServer starts a TLS server with a certificate that nobody has vouched for, and the tokens that it was sent.
func newTokenServer(t *testing.T) (address string, certificate []byte, tokens *[]string) {
	t.Helper()
	tokens = &[]string{}
	s := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		*tokens = append(*tokens, strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
	}))
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "https://"), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE",
		Bytes: s.Certificate().Raw}), tokens
}

func writeTempFile(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// kubeconfigOf is one of a user with a token, of a cluster that says that nothing needs to be verified.
func kubeconfigOf(t *testing.T, token string) string {
	t.Helper()
	k := clientcmdapi.NewConfig()
	k.Clusters["c"] = &clientcmdapi.Cluster{Server: "https://192.0.2.1", InsecureSkipTLSVerify: true}
	k.AuthInfos["u"] = &clientcmdapi.AuthInfo{Token: token}
	k.Contexts["x"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "u"}
	k.CurrentContext = "x"
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*k, path); err != nil {
		t.Fatal(err)
	}
	return path
}

// A token goes to a server that is known, and to no other one unless the user says so.
func TestCredentials(t *testing.T) {
	home, cache := t.TempDir(), t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("KUBECONFIG", "")
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	t.Setenv("XDG_CACHE_HOME", cache)
	address, certificate, tokens := newTokenServer(t)
	_, port, _ := strings.Cut(address, ":")

	stranger := another(t)
	for name, c := range map[string]struct {
		credentials
		pinned string
		token  string // that arrives
		fails  []string
	}{
		"unknown": {credentials{tokenFile: writeTempFile(t, "secret")}, "", "",
			[]string{"is windlass, nothing was sent", "--certificate-authority",
				filepath.Join(cache, "windlass", "serving", port+".crt")}},
		"left here":    {credentials{tokenFile: writeTempFile(t, "secret")}, string(certificate), "secret", nil},
		"another left": {credentials{tokenFile: writeTempFile(t, "secret")}, stranger, "", []string{"nothing was sent"}},
		"authority": {credentials{tokenFile: writeTempFile(t, "secret"), authority: writeTempFile(t, string(certificate))},
			"",
			"secret", nil},
		"authority goes first": {credentials{tokenFile: writeTempFile(t, "secret"), authority: writeTempFile(t, stranger)},
			string(certificate), "", []string{"nothing was sent"}},
		"other name": {credentials{tokenFile: writeTempFile(t, "secret"), authority: writeTempFile(t, string(certificate)),
			serverName: "windlass"}, "", "", []string{"nothing was sent", "--tls-server-name"}},
		"a name that it has": {credentials{tokenFile: writeTempFile(t, "secret"),
			authority:  writeTempFile(t, string(certificate)),
			serverName: "example.com"}, "", "secret", nil},
		"not verified":        {credentials{tokenFile: writeTempFile(t, "secret"), insecure: true}, "", "secret", nil},
		"kubeconfig":          {credentials{kubeconfig: kubeconfigOf(t, "theirs")}, string(certificate), "theirs", nil},
		"kubeconfig, unknown": {credentials{kubeconfig: kubeconfigOf(t, "theirs")}, "", "", []string{"nothing was sent"}},
		"nobody":              {credentials{}, string(certificate), "", nil},
		"no such file":        {credentials{tokenFile: "/nowhere"}, "", "", []string{"--token-file: stat /nowhere"}},
		"no such kubeconfig":  {credentials{kubeconfig: "/nowhere"}, "", "", []string{"kubeconfig: stat /nowhere"}},
		"no such context": {credentials{kubeconfig: kubeconfigOf(t, "theirs"), context: "y"}, "", "",
			[]string{"kubeconfig: context \"y\" does not exist"}},
		"half a certificate": {credentials{cert: "/c"}, "", "",
			[]string{"--client-certificate and --client-key go together"}},
		"two":               {credentials{cert: "/c", key: "/k", tokenFile: "/t"}, "", "", []string{"not both"}},
		"no such authority": {credentials{authority: "/nowhere"}, "", "", []string{"open /nowhere"}},
	} {
		t.Run(name, func(t *testing.T) {
			if err := os.RemoveAll(filepath.Join(cache, "windlass")); err != nil {
				t.Fatal(err)
			}
			if c.pinned != "" {
				runningtest.Leave(t, cache, port, c.pinned)
			}
			*tokens = nil
			client, err := c.newClient(address)
			if err == nil {
				var r *http.Response
				if r, err = client.Get("https://" + address); err == nil {
					r.Body.Close()
				} else {
					err = c.explain(address, err)
				}
			}
			if (err == nil) != (len(c.fails) == 0) {
				t.Errorf("got %v", err)
			}
			for _, want := range c.fails {
				if err != nil && !strings.Contains(err.Error(), want) {
					t.Errorf("no %q in %v", want, err)
				}
			}
			if got := strings.Join(*tokens, ","); got != c.token {
				t.Errorf("the server was sent the tokens %q, want %q", got, c.token)
			}
		})
	}
}

// another is a certificate of another server.
func another(t *testing.T) string {
	t.Helper()
	c, err := cluster.Sign(tls.Certificate{}, pkix.Name{CommonName: "another"})
	if err != nil {
		t.Fatal(err)
	}
	b, _, err := cluster.PEM(c)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
