package effects

import (
	"errors"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apischema "k8s.io/apimachinery/pkg/runtime/schema"
)

// A refusal quotes the prefix where an API server that makes the name itself would have, and stays the refusal that it
// is.
func TestRefusalQuotesThePrefix(t *testing.T) {
	const name, prefix = "rs-twxpx", "rs-"
	forbidden := func(why string) error {
		return apierrors.NewForbidden(apischema.GroupResource{Resource: "pods"}, name, errors.New(why))
	}
	const priority = "no PriorityClass with name high was found"
	const account = `error looking up service account default/robot: serviceaccount "robot" not found`
	for _, x := range []struct {
		err  error
		want string
	}{
		{forbidden(account), `pods "rs-" is forbidden: ` + account},
		{forbidden(priority), `pods "rs-" is forbidden: ` + priority},
		{forbidden("exceeded quota: " + account), `pods "rs-twxpx" is forbidden: exceeded quota: ` + account},
		{apierrors.NewInvalid(apischema.GroupKind{Kind: "Pod"}, name, nil), `Pod "rs-twxpx" is invalid`},
		{errors.New(account), account},
	} {
		err := quotePrefix(x.err, name, prefix)
		if err.Error() != x.want || apierrors.ReasonForError(err) != apierrors.ReasonForError(x.err) {
			t.Errorf("%v: %v, should be %s", x.err, err, x.want)
		}
	}
}
