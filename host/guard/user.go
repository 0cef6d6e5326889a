package guard

import (
	"context"
	"slices"

	"k8s.io/apiserver/pkg/authentication/user"
)

// User is whom a request is from.
type User struct {
	Name, UID string
	Groups    []string
	Extra     map[string][]string
}

// anonymous is whom a request is from that shows nothing to be known by
// (k8s.io/apiserver/pkg/authentication/request/anonymous).
var anonymous = &User{Name: user.Anonymous, Groups: []string{user.AllUnauthenticated}}

// withAuthenticated adds the group of all who are known, as upstream's authentication/group does.
func (u *User) withAuthenticated() *User {
	if !slices.Contains(u.Groups, user.AllAuthenticated) {
		u.Groups = append(slices.Clone(u.Groups), user.AllAuthenticated)
	}
	return u
}

type userKey struct{}

// UserOf is whom a request is from that the guard has let through; nil for an anonymous one, and for one of an always
// allowed path.
func UserOf(ctx context.Context) *User {
	u, _ := ctx.Value(userKey{}).(*User)
	return u
}
