// Package serving holds the server to what it promises: nobody is let through whom the cluster doesn't let, and what is
// wrong with a certificate doesn't end what was right.
package serving

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"io"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/spf13/pflag"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/windlass-dev/windlass/config"
	"github.com/windlass-dev/windlass/test/cluster"
	"github.com/windlass-dev/windlass/test/windlass"
)

// world is a manager on a cluster, whose API server publishes the CA of its clients and one of front proxies.
type world struct {
	*cluster.Cluster
	m     *windlass.Manager
	front tls.Certificate // the CA of front proxies
	tweak func(*config.Serving)
	// controllers are those that run.
	controllers []string
}

const proxyName = "front-proxy"

// beginWorld makes a world in which one controller runs.
func beginWorld(t *testing.T) *world {
	t.Helper()
	w := prepare(t)
	w.startManager(t)
	return w
}

// prepare makes a world without a manager.
func prepare(t *testing.T) *world {
	t.Helper()
	w := &world{Cluster: cluster.Start(t, cluster.Options{Audit: true}), front: newCA(t), tweak: func(*config.Serving) {},
		controllers: []string{"serviceaccount-controller"}}
	w.publish(t)
	return w
}

// startManager starts the manager.
func (w *world) startManager(t *testing.T) {
	t.Helper()
	w.m = windlass.Start(t, w.Cluster, windlass.Options{Flags: defaultFlags(), Configure: func(k *config.Configuration) {
		k.Controllers = w.controllers
		k.Serving.Authentication.ClientCAFile = "" // what the API server publishes instead
		k.Serving.Authentication.TokenCacheTTL, k.Serving.Authorization.AllowCacheTTL,
			k.Serving.Authorization.DenyCacheTTL = metav1.Duration{}, metav1.Duration{}, metav1.Duration{}
		w.tweak(&k.Serving)
	}})
}

// defaultFlags returns all flags of `windlass run`, but for cobra's, with their defaults.
func defaultFlags() map[string]string {
	fs, all := pflag.NewFlagSet("run", pflag.ContinueOnError), map[string]string{}
	config.AddFlags(fs)
	fs.VisitAll(func(f *pflag.Flag) { all[f.Name] = f.Value.String() })
	return all
}

// publish adds front proxies to what the API server publishes, which it would do itself with
// --requestheader-client-ca-file.
func (w *world) publish(t *testing.T) {
	t.Helper()
	maps := w.Client().CoreV1().ConfigMaps("kube-system")
	ca, _, err := cluster.PEM(w.front)
	if err != nil {
		t.Fatal(err)
	}
	cluster.Eventually(t, time.Minute, "the API server has published its CA, and that of front proxies",
		func() (bool, string) {
			m, err := maps.Get(t.Context(), "extension-apiserver-authentication", metav1.GetOptions{})
			if err != nil {
				return false, err.Error()
			}
			if m.Data["client-ca-file"] == "" {
				return false, "no client-ca-file"
			}
			m.Data["requestheader-client-ca-file"] = string(ca)
			m.Data["requestheader-allowed-names"] = `["` + proxyName + `"]`
			m.Data["requestheader-username-headers"] = `["X-Remote-User"]`
			m.Data["requestheader-group-headers"] = `["X-Remote-Group"]`
			m.Data["requestheader-extra-headers-prefix"] = `["X-Remote-Extra-"]`
			_, err = maps.Update(t.Context(), m, metav1.UpdateOptions{})
			return err == nil, errorText(err)
		})
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func newCA(t *testing.T) tls.Certificate {
	t.Helper()
	ca, err := cluster.Sign(tls.Certificate{}, pkix.Name{CommonName: "ca"})
	if err != nil {
		t.Fatal(err)
	}
	return ca
}

// caller asks a server.
type caller struct {
	certificate *tls.Certificate
	token       string
	headers     map[string]string
}

func (w *world) certificate(t *testing.T, user string, groups ...string) *tls.Certificate {
	t.Helper()
	c, err := w.ClientCertificate(user, groups...)
	if err != nil {
		t.Fatal(err)
	}
	return &c
}

// signCertificate returns a certificate of another CA.
func signCertificate(t *testing.T, ca tls.Certificate, user string, groups ...string) *tls.Certificate {
	t.Helper()
	c, err := cluster.Sign(ca, pkix.Name{CommonName: user, Organization: groups})
	if err != nil {
		t.Fatal(err)
	}
	return &c
}

// newClient returns a client that trusts the cluster's CA.
func (w *world) newClient(t *testing.T, certificate *tls.Certificate) *http.Client {
	t.Helper()
	ca, err := os.ReadFile(w.CAFile)
	if err != nil {
		t.Fatal(err)
	}
	c := &tls.Config{RootCAs: x509.NewCertPool()}
	c.RootCAs.AppendCertsFromPEM(ca)
	if certificate != nil {
		// Whether or not the server asks for it.
		c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return certificate, nil }
	}
	transport := &http.Transport{TLSClientConfig: c}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: 20 * time.Second}
}

// askManager returns the code and the beginning of the answer.
func (w *world) askManager(t *testing.T, c caller, method, path string) (int, string) {
	t.Helper()
	q, err := http.NewRequestWithContext(t.Context(), method, w.m.URL(path), nil)
	if err != nil {
		t.Fatal(err)
	}
	if c.token != "" {
		q.Header.Set("Authorization", "Bearer "+c.token)
	}
	for k, v := range c.headers {
		q.Header.Set(k, v)
	}
	client := w.newClient(t, c.certificate)
	defer client.CloseIdleConnections()
	r, err := client.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	b, _ := io.ReadAll(io.LimitReader(r.Body, 4096))
	return r.StatusCode, string(b)
}

// account makes a service account, and returns a token of it.
func (w *world) account(t *testing.T, name string) (token string) {
	t.Helper()
	core := w.Client().CoreV1().ServiceAccounts(metav1.NamespaceDefault)
	if _, err := core.Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}},
		metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	r, err := core.CreateToken(t.Context(), name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return r.Status.Token
}

// createRoles makes roles and their bindings.
func (w *world) createRoles(t *testing.T, objects []runtime.Object) {
	t.Helper()
	r := w.Client().RbacV1()
	for _, o := range objects {
		var err error
		switch o := o.(type) {
		case *rbacv1.ClusterRole:
			_, err = r.ClusterRoles().Create(t.Context(), o, metav1.CreateOptions{})
		case *rbacv1.ClusterRoleBinding:
			_, err = r.ClusterRoleBindings().Create(t.Context(), o, metav1.CreateOptions{})
		default:
			t.Fatalf("a %T", o)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func writeFile(t *testing.T, path string, content []byte) string {
	t.Helper()
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
