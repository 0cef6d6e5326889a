package guard

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"

	"github.com/windlass-dev/windlass/config"
)

// always are the paths that anybody may ask for (k8s.io/apiserver/pkg/authorization/path).
type always []string

func (all always) matchesPath(path string) bool {
	for _, p := range all {
		if prefix, ok := strings.CutSuffix(p, "*"); ok && strings.HasPrefix(path, prefix) || path == p {
			return true
		}
	}
	return false
}

// access asks the API server what a user may.
type access struct {
	client  authorizationclient.SubjectAccessReviewInterface
	answers *answers[verdict]
}

// verdict is what the API server said; why is for people.
type verdict struct {
	allowed bool
	why     string
}

func newAccess(c authorizationclient.SubjectAccessReviewsGetter, a *config.Authorization) *access {
	return &access{client: c.SubjectAccessReviews(),
		answers: newAnswers[verdict](a.AllowCacheTTL.Duration, a.DenyCacheTTL.Duration)}
}

// authorize returns whether the user may do what the verb says with the path.
func (a *access) authorize(ctx context.Context, u *User, verb, path string, may func() error) (verdict, error) {
	if slices.Contains(u.Groups, user.SystemPrivilegedGroup) {
		return verdict{allowed: true}, nil
	}
	spec := authorizationv1.SubjectAccessReviewSpec{User: u.Name, UID: u.UID, Groups: u.Groups,
		Extra:                 map[string]authorizationv1.ExtraValue{},
		NonResourceAttributes: &authorizationv1.NonResourceAttributes{Path: path, Verb: verb}}
	for k, v := range u.Extra {
		spec.Extra[k] = v
	}
	question, err := json.Marshal(&spec)
	if err != nil {
		return verdict{}, err
	}
	short := sha256.Sum256(question) // a user may have many groups
	return a.answers.get(ctx, string(short[:]), may, func(ctx context.Context) (verdict, bool, error) {
		r, err := a.client.Create(ctx, &authorizationv1.SubjectAccessReview{Spec: spec}, metav1.CreateOptions{})
		if err != nil {
			return verdict{}, false, &unavailableError{fmt.Errorf("asking the API server what user %q may do: %w", u.Name, err)}
		}
		v := verdict{allowed: r.Status.Allowed && !r.Status.Denied, why: r.Status.Reason}
		return v, v.allowed, nil
	})
}
