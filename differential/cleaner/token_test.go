package cleaner

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"
	_ "unsafe" // for go:linkname

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	upstream "k8s.io/kubernetes/pkg/controller/bootstrap"

	"github.com/windlass-dev/windlass/differential"
	"github.com/windlass-dev/windlass/differential/api"
	"github.com/windlass-dev/windlass/differential/native"
	"github.com/windlass-dev/windlass/differential/world"
	"github.com/windlass-dev/windlass/plugins/cleaner"
)

//go:linkname processToken k8s.io/kubernetes/pkg/controller/bootstrap.(*TokenCleaner).processNextWorkItem
func processToken(*upstream.TokenCleaner, context.Context) bool

var secrets = corev1.SchemeGroupVersion.WithResource("secrets")

func TestTokensAsUpstream(t *testing.T) { differential.Run(t, tokenCleaner()) }

func TestTokenWakesAsUpstream(t *testing.T) { differential.Wakes(t, tokenCleaner()) }

func tokenCleaner() *differential.Subject {
	return &differential.Subject{
		Controller: "token-cleaner-controller",
		Plugin:     cleaner.Plugin,
		Native: func(e *native.Env) (*native.Made, error) {
			c, err := upstream.NewTokenCleaner(e.Client, e.Informers.Core().V1().Secrets(),
				upstream.DefaultTokenCleanerOptions())
			return &native.Made{Controller: c, Process: func(ctx context.Context) bool { return processToken(c, ctx) }}, err
		},
		World: func(r *world.Rand) []runtime.Object {
			all := []runtime.Object{r.Namespace(metav1.NamespaceSystem)}
			for i := range 1 + r.IntN(4) {
				all = append(all, token(r, i))
			}
			return all
		},
		Deeds: []differential.Deed{
			differential.Appear(func(r *world.Rand) runtime.Object { return token(r, r.IntN(8)) }),
			differential.Vary(secrets, "another time", func(r *world.Rand, s *corev1.Secret) { expire(r, s) }),
			differential.Vary(secrets, "other labels", func(r *world.Rand, s *corev1.Secret) { s.Labels = r.Labels("web") }),
			differential.Vary(secrets, "no finalizers", func(_ *world.Rand, s *corev1.Secret) {
				if s.DeletionTimestamp == nil {
					s.Finalizers = nil
				}
			}),
			differential.Delete(secrets),
			differential.Vanish(secrets),
		},
		Faults: []string{"delete secrets"},
		Loosen: withoutRepeated,
	}
}

// withoutRepeated leaves out deletes of what is being deleted already: upstream's controllers send such each time they
// look while finalizers keep an object, and change nothing by it.
func withoutRepeated(_ string, _, _ *api.Cluster, writes []*api.Request) ([]*api.Request, []string, error) {
	return slices.DeleteFunc(slices.Clone(writes), func(q *api.Request) bool {
		return q.Verb == "delete" && q.Err == nil && !q.Changed
	}), nil, nil
}

// token is a bootstrap token, or a Secret that is none, by its type or its namespace.
func token(r *world.Rand, i int) *corev1.Secret {
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
		Name: fmt.Sprintf("bootstrap-token-%06d", i), Namespace: metav1.NamespaceSystem, UID: r.UID(),
		CreationTimestamp: r.Ago(3000),
	}, Type: corev1.SecretTypeBootstrapToken}
	if r.One(6) {
		s.Type = corev1.SecretTypeOpaque
	}
	if r.One(6) {
		s.Namespace = world.Namespace
	}
	if r.One(5) {
		s.Finalizers = []string{"example.com/stay"}
	}
	s.Immutable = world.Maybe(r, false)
	expire(r, s)
	return s
}

// expire has a token's time be over or not, or be none.
func expire(r *world.Rand, s *corev1.Secret) {
	s.Data = map[string][]byte{"token-id": []byte("abcdef"), "token-secret": []byte("0123456789abcdef")}
	at := r.Ago(4000).Add(2000 * time.Second)
	if r.One(8) {
		at = r.Ago(0).Add(0) // now
	}
	var text string
	switch r.IntN(12) {
	case 0:
		return
	case 1:
		text = ""
	case 2:
		text = world.Of(r, "tomorrow", "2000-01-01", "2000-01-01T00:00:00", " 2000-01-02T00:00:00Z", "2000-13-01T00:00:00Z",
			"9999-12-31T23:59:59Z", "2000-01-01t00:30:00z", "2000-01-01T00:30:00,5Z", "2000-01-01T24:00:00Z", "0",
			"2000-01-01T00:30:00+24:00", "2000-02-30T00:00:00Z", "0000-01-01T00:00:00Z")
	case 3:
		text = at.In(time.FixedZone("", world.Of(r, 3600, -5400, 19800))).Format(time.RFC3339)
	case 4:
		text = at.Add(time.Duration(r.IntN(1e9))).UTC().Format(time.RFC3339Nano)
	default:
		text = at.UTC().Format(time.RFC3339)
	}
	s.Data["expiration"] = []byte(text)
}
