package clustertrustbundle

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"
	certificatesv1beta1 "k8s.io/api/certificates/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/cert"

	"github.com/windlass-dev/windlass/config"
	"github.com/windlass-dev/windlass/test/cluster"
	"github.com/windlass-dev/windlass/test/windlass"
)

const controller = "kube-apiserver-serving-clustertrustbundle-publisher-controller"

// Where the API server serves no version but v1beta1, the bundle is made, put right and deleted in that.
func TestOnClusterOlderVersion(t *testing.T) {
	c := cluster.Start(t, cluster.Options{RuntimeConfig: "certificates.k8s.io/v1/clustertrustbundles=false," +
		"certificates.k8s.io/v1beta1/clustertrustbundles=true"})
	all := c.Client().CertificatesV1beta1().ClusterTrustBundles()
	before := &certificatesv1beta1.ClusterTrustBundle{ObjectMeta: metav1.ObjectMeta{Name: prefix + "before"},
		Spec: certificatesv1beta1.ClusterTrustBundleSpec{SignerName: signer, TrustBundle: read(t, c.CAFile)}}
	if _, err := all.Create(t.Context(), before, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	windlass.Start(t, c, windlass.Options{Controllers: []string{controller}})

	bundle := read(t, c.CAFile)
	published := func() (bool, string) {
		l, err := all.List(t.Context(), metav1.ListOptions{})
		if err != nil {
			return false, err.Error()
		}
		var have []string
		for _, b := range l.Items {
			have = append(have, b.Name+": "+b.Spec.TrustBundle)
		}
		return strings.Join(have, "\n") == nameOf(bundle)+": "+bundle, strings.Join(have, "\n")
	}
	cluster.Eventually(t, cluster.Patience, "the bundle alone", published)

	change := fmt.Appendf(nil, `{"spec": {"trustBundle": %q}}`, another(t))
	if _, err := all.Patch(t.Context(), nameOf(bundle), types.MergePatchType, change, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	cluster.Eventually(t, cluster.Patience, "the bundle put right", published)
}

// Where the API server serves no version, the manager is ready all the same and says what the controller waits for.
// When it begins to serve one, the bundle is published.
func TestOnClusterWithoutVersion(t *testing.T) {
	o := cluster.Options{Dir: t.TempDir(), RuntimeConfig: "certificates.k8s.io/v1/clustertrustbundles=false"}
	c := cluster.Start(t, o)
	if _, err := fmt.Sscanf(c.RESTConfig().Host, "https://127.0.0.1:%d", &o.Port); err != nil {
		t.Fatal(err)
	}
	m := windlass.Start(t, c, windlass.Options{Controllers: []string{controller}})
	s := m.Status(t).Controllers[0]
	if s.State != "Starting" || !strings.Contains(s.Message, "certificates.k8s.io/v1/clustertrustbundles can't be read") {
		t.Errorf("%s: %s", s.State, s.Message)
	}

	if err := c.Stop(); err != nil {
		t.Fatal(err)
	}
	o.RuntimeConfig = ""
	c = cluster.Start(t, o)
	awaitBundles(t, c, read(t, c.CAFile))
}

// When the file changes, what is in it is published, and what was in it before is deleted. Without certificates nothing
// is done at all.
func TestOnClusterFileChanges(t *testing.T) {
	c := cluster.Start(t, cluster.Options{})
	first, second, file := read(t, c.CAFile), another(t), filepath.Join(t.TempDir(), "ca.crt")
	replace(t, file, first)
	m := windlass.Start(t, c, windlass.Options{Controllers: []string{controller},
		Configure: func(k *config.Configuration) {
			k.Plugins = []config.Plugin{{Name: "clustertrustbundle", Settings: map[string]string{"root-ca-file": file}}}
		}})
	awaitBundles(t, c, first)

	replace(t, file, second)
	m.Reload()
	awaitBundles(t, c, second)

	// What is nothing, or not for everybody's eyes, is refused, and told.
	for content, why := range map[string]string{
		"":                           "data does not contain any valid",
		first + read(t, c.CAKeyFile): "it has a private key",
	} {
		replace(t, file, content)
		m.Reload()
		cluster.Eventually(t, cluster.Patience, "the refusal in the status", func() (bool, string) {
			refused := m.Status(t).Refused
			return strings.Contains(refused, "settings[root-ca-file]: "+file+": "+why), refused
		})
		awaitBundles(t, c, second)
	}

	replace(t, file, first)
	m.Reload()
	awaitBundles(t, c, first)
	if refused := m.Status(t).Refused; refused != "" {
		t.Errorf("the file is mended, and the status says %q", refused)
	}
}

// awaitBundles waits until the signer has this bundle and no other.
func awaitBundles(t *testing.T, c *cluster.Cluster, bundle string) {
	t.Helper()
	cluster.Eventually(t, cluster.Patience, "the bundle alone", func() (bool, string) {
		l, err := c.Client().CertificatesV1().ClusterTrustBundles().List(context.WithoutCancel(t.Context()),
			metav1.ListOptions{FieldSelector: "spec.signerName=" + signer})
		if err != nil {
			return false, err.Error()
		}
		return len(l.Items) == 1 && is(&l.Items[0], bundle), fmt.Sprint(l.Items)
	})
}

func is(b *certificatesv1.ClusterTrustBundle, bundle string) bool {
	return b.Name == nameOf(bundle) && b.Spec.TrustBundle == bundle
}

func nameOf(bundle string) string {
	sum := sha256.Sum256([]byte(bundle))
	return prefix + fmt.Sprintf("%x", sum)[:2*hashed]
}

func read(t *testing.T, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// another returns the certificate of an authority of its own.
func another(t *testing.T) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	ca, err := cert.NewSelfSignedCACert(cert.Config{CommonName: "another"}, key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: ca.Raw}))
}

// replace puts another file in the place of one, whole.
func replace(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file+".new", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(file+".new", file); err != nil {
		t.Fatal(err)
	}
}
