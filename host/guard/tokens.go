package guard

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/cache"
	authenticationclient "k8s.io/client-go/kubernetes/typed/authentication/v1"
)

// errToken is of a token that the API server doesn't know.
var errToken = errors.New("the API server doesn't know the token, or it has expired")

// tokens asks the API server whose a token is.
type tokens struct {
	client  authenticationclient.TokenReviewInterface
	answers *answers[*User]
	good    *cache.LRUExpireCache // tokens that were good not long ago
	secret  [32]byte              // so that what is in memory isn't worth anything elsewhere
}

func newTokens(c authenticationclient.TokenReviewsGetter, ttl time.Duration) *tokens {
	t := &tokens{client: c.TokenReviews(), answers: newAnswers[*User](ttl, ttl), good: cache.NewLRUExpireCache(answersMax)}
	_, _ = rand.Read(t.secret[:])
	return t
}

// userOfToken returns whose token it is; errToken if it is nobody's.
func (t *tokens) userOfToken(ctx context.Context, token string, may func() error) (*User, error) {
	name := t.nameOf(token)
	u, err := t.answers.get(ctx, name, may, func(ctx context.Context) (*User, bool, error) {
		r, err := t.client.Create(ctx, &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}},
			metav1.CreateOptions{})
		if err != nil {
			return nil, false, &unavailableError{fmt.Errorf("asking the API server whose token it is: %w", err)}
		}
		if !r.Status.Authenticated || r.Status.User.Username == "" {
			return nil, false, nil
		}
		u := &User{Name: r.Status.User.Username, UID: r.Status.User.UID, Groups: r.Status.User.Groups,
			Extra: map[string][]string{}}
		for k, v := range r.Status.User.Extra {
			u.Extra[k] = v
		}
		return u, true, nil
	})
	switch {
	case err != nil:
		return nil, err
	case u == nil:
		return nil, errToken
	}
	t.good.Add(name, nil, metFor)
	return u, nil
}

// met reports whether a token was good before.
func (t *tokens) met(token string) bool {
	_, ok := t.good.Get(t.nameOf(token))
	return ok
}

func (t *tokens) nameOf(token string) string {
	h := hmac.New(sha256.New, t.secret[:])
	h.Write([]byte(token))
	return string(h.Sum(nil))
}
