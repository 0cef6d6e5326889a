package serviceaccounttoken

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	_ "unsafe" // for go:linkname

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	upstream "k8s.io/kubernetes/pkg/controller/serviceaccount"
	"k8s.io/kubernetes/pkg/serviceaccount"

	"github.com/windlass-dev/windlass/config"
	"github.com/windlass-dev/windlass/differential"
	"github.com/windlass-dev/windlass/differential/api"
	"github.com/windlass-dev/windlass/differential/native"
	"github.com/windlass-dev/windlass/differential/world"
	"github.com/windlass-dev/windlass/host/signing/keyring"
	"github.com/windlass-dev/windlass/plugins/serviceaccounttoken"
)

//go:linkname syncAccount k8s.io/kubernetes/pkg/controller/serviceaccount.(*TokensController).syncServiceAccount
func syncAccount(*upstream.TokensController, context.Context)

//go:linkname syncSecret k8s.io/kubernetes/pkg/controller/serviceaccount.(*TokensController).syncSecret
func syncSecret(*upstream.TokensController, context.Context)

var (
	secrets  = corev1.SchemeGroupVersion.WithResource("secrets")
	accounts = corev1.SchemeGroupVersion.WithResource("serviceaccounts")
)

const rootCA = "-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n"

func TestAsUpstream(t *testing.T) { differential.Run(t, subject(t)) }

// subject compares where both have come to rest: upstream's controller has a queue of Secrets and one of accounts, ours
// one of Secrets. The key is RSA: what is signed with it has nothing random in it.
func subject(t *testing.T) *differential.Subject {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "sa.key")
	text := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	c := config.Default()
	c.Signing.ServiceAccountKeyFile = file
	keys := &keyring.Keyring{}
	if err := keys.Configure(c); err != nil {
		t.Fatal(err)
	}

	return &differential.Subject{
		Controller: "serviceaccount-token-controller",
		Plugin:     serviceaccounttoken.Plugin,
		Settings:   map[string]string{"root-ca-file": rootCA},
		Signer:     keys,
		Apart:      true,
		Native: func(e *native.Env) (*native.Made, error) {
			generator, err := serviceaccount.JWTTokenGenerator(serviceaccount.LegacyIssuer, key)
			if err != nil {
				return nil, err
			}
			c, err := upstream.NewTokensController(klog.Background(), e.Informers.Core().V1().ServiceAccounts(),
				e.Informers.Core().V1().Secrets(), e.Client,
				upstream.TokensControllerOptions{TokenGenerator: generator, RootCA: []byte(rootCA)})
			if err != nil {
				return nil, err
			}
			parts := reflect.ValueOf(c).Elem()
			ofAccounts := native.Exposed(parts.FieldByName("syncServiceAccountQueue")).(queue)
			ofSecrets := native.Exposed(parts.FieldByName("syncSecretQueue")).(queue)
			end := func() { ofAccounts.ShutDown(); ofSecrets.ShutDown() }
			return &native.Made{Controller: c, End: end, Work: func(ctx context.Context) bool {
				switch {
				case ofAccounts.Len() > 0:
					syncAccount(c, ctx)
				case ofSecrets.Len() > 0:
					syncSecret(c, ctx)
				default:
					return false
				}
				return true
			}}, nil
		},
		World: func(r *world.Rand) (all []runtime.Object) {
			for i := range 1 + r.IntN(2) {
				all = append(all, account(r, i))
			}
			for i := range 1 + r.IntN(4) {
				all = append(all, secret(r, i))
			}
			return all
		},
		Deeds: []differential.Deed{
			differential.Appear(func(r *world.Rand) runtime.Object { return secret(r, r.IntN(8)) }),
			differential.Appear(func(r *world.Rand) runtime.Object { return account(r, r.IntN(3)) }),
			differential.Vary(secrets, "other data", func(r *world.Rand, s *corev1.Secret) { fill(r, s) }),
			differential.Vary(secrets, "other labels", func(r *world.Rand, s *corev1.Secret) { s.Labels = r.Labels("web") }),
			differential.Vary(accounts, "other Secrets", func(r *world.Rand, a *corev1.ServiceAccount) { list(r, a) }),
			deleteSecret,
			differential.Delete(accounts),
			differential.Vanish(secrets),
			differential.Vanish(accounts),
		},
		Faults: []string{"update secrets", "delete secrets"},
	}
}

// deleteSecret has somebody delete a Secret at once: one that finalizers keep gets nothing more here, as a row says,
// and is filled by upstream's controller.
func deleteSecret(r *world.Rand, c *api.Cluster) (string, error) {
	all, err := c.List(secrets)
	if err != nil || len(all) == 0 {
		return "", err
	}
	s := all[r.IntN(len(all))].(*corev1.Secret)
	return "delete secrets " + s.Name, c.Delete(secrets, s.Namespace, s.Name, &metav1.DeleteOptions{})
}

type queue interface {
	Len() int
	ShutDown()
}

// uidOf is the UID that the account of a number has most often.
func uidOf(i int) types.UID { return types.UID(fmt.Sprintf("aaaaaaaa-0000-4000-8000-%012d", i)) }

func account(r *world.Rand, i int) *corev1.ServiceAccount {
	a := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault,
		Name: fmt.Sprintf("robot-%d", i), UID: uidOf(i), CreationTimestamp: r.Ago(3000)}}
	if r.One(6) {
		a.UID = r.UID()
	}
	list(r, a)
	return a
}

// list has an account list some Secrets.
func list(r *world.Rand, a *corev1.ServiceAccount) {
	a.Secrets = nil
	for i := range 4 {
		if r.One(3) {
			a.Secrets = append(a.Secrets, corev1.ObjectReference{Name: fmt.Sprintf("token-%d", i)})
		}
	}
}

// secret is one for the token of an account that there may be, or one of another type.
func secret(r *world.Rand, i int) *corev1.Secret {
	of := r.IntN(4)
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault,
		Name: fmt.Sprintf("token-%d", i), UID: r.UID(), CreationTimestamp: r.Ago(3000),
		Annotations: map[string]string{corev1.ServiceAccountNameKey: fmt.Sprintf("robot-%d", of)}},
		Type: corev1.SecretTypeServiceAccountToken}
	switch r.IntN(6) {
	case 0, 1, 2:
		s.Annotations[corev1.ServiceAccountUIDKey] = string(uidOf(of))
	case 3:
		s.Annotations[corev1.ServiceAccountUIDKey] = "another"
	}
	if r.One(8) {
		s.Type = corev1.SecretTypeOpaque
	}
	if r.One(2) {
		fill(r, s)
	}
	return s
}

// fill fills a Secret, perhaps with what doesn't belong there, or not with all.
func fill(r *world.Rand, s *corev1.Secret) {
	s.Data = map[string][]byte{}
	if !r.One(3) {
		s.Data["ca.crt"] = []byte(world.Of(r, rootCA, rootCA, "old", ""))
	}
	if !r.One(3) {
		s.Data["namespace"] = []byte(world.Of(r, "default", "default", "other", ""))
	}
	if !r.One(3) {
		s.Data["token"] = []byte(world.Of(r, "a.b.c", "a.b.c", ""))
	}
	if r.One(8) {
		s.Data["more"] = []byte("x")
	}
}
