package bootstrapsigner

import (
	"context"
	"fmt"
	"testing"
	"time"
	_ "unsafe" // for go:linkname

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	upstream "k8s.io/kubernetes/pkg/controller/bootstrap"

	"github.com/windlass-dev/windlass/differential"
	"github.com/windlass-dev/windlass/differential/native"
	"github.com/windlass-dev/windlass/differential/world"
	"github.com/windlass-dev/windlass/host/signing/keyring"
	"github.com/windlass-dev/windlass/plugins/bootstrapsigner"
)

//go:linkname serve k8s.io/kubernetes/pkg/controller/bootstrap.(*Signer).serviceConfigMapQueue
func serve(*upstream.Signer, context.Context)

var (
	secrets    = corev1.SchemeGroupVersion.WithResource("secrets")
	configMaps = corev1.SchemeGroupVersion.WithResource("configmaps")
)

func TestAsUpstream(t *testing.T) { differential.Run(t, subject()) }

func TestWakesAsUpstream(t *testing.T) { differential.Wakes(t, subject()) }

func subject() *differential.Subject {
	return &differential.Subject{
		Controller: "bootstrap-signer-controller",
		Plugin:     bootstrapsigner.Plugin,
		Signer:     &keyring.Keyring{}, // what is signed with a token takes no other key
		Native: func(e *native.Env) (*native.Made, error) {
			c, err := upstream.NewSigner(e.Client, e.Informers.Core().V1().Secrets(), e.Informers.Core().V1().ConfigMaps(),
				upstream.DefaultSignerOptions())
			return &native.Made{Controller: c, Queue: "syncQueue", Process: func(ctx context.Context) bool {
				serve(c, ctx)
				return true
			}}, err
		},
		World: func(r *world.Rand) []runtime.Object {
			all := []runtime.Object{r.Namespace(metav1.NamespaceSystem), r.Namespace(metav1.NamespacePublic)}
			if !r.One(8) {
				all = append(all, info(r))
			}
			for i := range r.IntN(4) {
				all = append(all, token(r, i))
			}
			return all
		},
		Deeds: []differential.Deed{
			differential.Appear(func(r *world.Rand) runtime.Object { return token(r, r.IntN(8)) }),
			differential.Appear(func(r *world.Rand) runtime.Object { return info(r) }),
			differential.Vary(secrets, "other data", func(r *world.Rand, s *corev1.Secret) { fill(r, s) }),
			differential.Vary(secrets, "other labels", func(r *world.Rand, s *corev1.Secret) { s.Labels = r.Labels("web") }),
			differential.Vary(configMaps, "other data", func(r *world.Rand, m *corev1.ConfigMap) { inform(r, m) }),
			differential.Vary(configMaps, "other labels", func(r *world.Rand,
				m *corev1.ConfigMap) {
				m.Labels = r.Labels("web")
			}),
			differential.Delete(secrets),
			differential.Vanish(secrets),
			differential.Vanish(configMaps),
		},
		// No write fails: upstream's controller takes one that does for done, as a row says, ours tries it again.
	}
}

// info is the cluster's information, or a config map of another name or elsewhere.
func info(r *world.Rand) *corev1.ConfigMap {
	m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "cluster-info", Namespace: metav1.NamespacePublic,
		UID: r.UID(), CreationTimestamp: r.Ago(3000)}}
	switch r.IntN(12) {
	case 0:
		m.Name = "other"
	case 1:
		m.Namespace = metav1.NamespaceSystem
	}
	inform(r, m)
	return m
}

// inform has the config map say something, perhaps with signatures that somebody has made.
func inform(r *world.Rand, m *corev1.ConfigMap) {
	m.Data = map[string]string{"kubeconfig": world.Of(r, "apiVersion: v1", "apiVersion: v1\nkind: Config\n", "")}
	if r.One(10) {
		delete(m.Data, "kubeconfig")
	}
	if r.One(4) {
		m.Data["jws-kubeconfig-"+world.Of(r, "000001", "000009", "")] = "stale"
	}
	if r.One(6) {
		m.Data["other"] = "x"
	}
}

// token is a bootstrap token, or a Secret that is none, by its type, its namespace or its name.
func token(r *world.Rand, i int) *corev1.Secret {
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
		Name: fmt.Sprintf("bootstrap-token-%06d", i), Namespace: metav1.NamespaceSystem, UID: r.UID(),
		CreationTimestamp: r.Ago(3000),
	}, Type: corev1.SecretTypeBootstrapToken}
	switch r.IntN(16) {
	case 0:
		s.Type = corev1.SecretTypeOpaque
	case 1:
		s.Namespace = metav1.NamespacePublic
	case 2:
		s.Name = world.Of(r, "bootstrap-token-abc", "bootstrap-token-0000001", "token")
	}
	fill(r, s)
	return s
}

// fill fills a token's data: most often it is good for signing.
func fill(r *world.Rand, s *corev1.Secret) {
	id := s.Name[max(0, len(s.Name)-6):]
	s.Data = map[string][]byte{"token-id": []byte(id), "token-secret": []byte(world.Of(r, "0123456789abcdef", "fedcba9876543210", "x")),
		"usage-bootstrap-signing": []byte("true")}
	switch r.IntN(8) {
	case 0:
		s.Data["token-id"] = []byte(world.Of(r, "", "000009", "abc"))
	case 1:
		s.Data["token-secret"] = []byte{}
	case 2:
		s.Data["usage-bootstrap-signing"] = []byte(world.Of(r, "", "false", "True"))
	case 3:
		delete(s.Data, world.Of(r, "token-id", "token-secret", "usage-bootstrap-signing"))
	}
	switch r.IntN(4) {
	case 0:
		s.Data["expiration"] = []byte(r.Ago(100).Add(50 * time.Second).UTC().Format(time.RFC3339))
	case 1:
		s.Data["expiration"] = []byte(world.Of(r, "", "soon"))
	}
}
