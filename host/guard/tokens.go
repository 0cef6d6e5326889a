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
	authenticationclient "k8s.io/client-go/kubernetes/typed/authentication/v1"
)

// errToken is of a token that the API server doesn't know.
var errToken = errors.New("the API server doesn't know the token, or it has expired")

// tokens asks the API server whose a token is.
type tokens struct {
	client  authenticationclient.TokenReviewInterface
	answers *answers[*User]
	secret  [32]byte // so that what is in memory isn't worth anything elsewhere
}

func newTokens(c authenticationclient.TokenReviewsGetter, ttl time.Duration) *tokens {
	t := &tokens{client: c.TokenReviews(), answers: newAnswers[*User](ttl, ttl)}
	_, _ = rand.Read(t.secret[:])
	return t
}

// userOfToken returns whose token it is; errToken if it is nobody's.
func (t *tokens) userOfToken(ctx context.Context, token string) (*User, error) {
	h := hmac.New(sha256.New, t.secret[:])
	h.Write([]byte(token))
	u, err := t.answers.get(ctx, string(h.Sum(nil)), func(ctx context.Context) (*User, bool, error) {
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
	if err == nil && u == nil {
		err = errToken
	}
	return u, err
}
