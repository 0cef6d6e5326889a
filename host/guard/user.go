package guard

import (
	"context"
	"slices"
)

// User is whom a request is from.
type User struct {
	Name, UID string
	Groups    []string
	Extra     map[string][]string
}

// The groups that have a meaning here, as in k8s.io/apiserver/pkg/authentication/user.
const (
	masters       = "system:masters"
	authenticated = "system:authenticated"
)

// known adds the group of all who are known, as upstream's authentication/group does.
func (u *User) known() *User {
	if !slices.Contains(u.Groups, authenticated) {
		u.Groups = append(slices.Clone(u.Groups), authenticated)
	}
	return u
}

type userKey struct{}

// UserOf is whom a request is from that the guard has let through; nil for one of an always allowed path.
func UserOf(ctx context.Context) *User {
	u, _ := ctx.Value(userKey{}).(*User)
	return u
}
