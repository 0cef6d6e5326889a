package effects

import (
	"errors"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apischema "k8s.io/apimachinery/pkg/runtime/schema"
)

// A refusal quotes no random name, so that events about it are alike; it stays the refusal that it is.
func TestRefusalsQuoteThePrefix(t *testing.T) {
	pods := apischema.GroupResource{Resource: "pods"}
	err := withPrefix(apierrors.NewForbidden(pods, "rs-twxpx", errors.New("exceeded quota")), "rs-twxpx", "rs-")
	if err.Error() != `pods "rs-" is forbidden: exceeded quota` || !apierrors.IsForbidden(err) {
		t.Errorf("%v", err)
	}
	invalid := apierrors.NewInvalid(apischema.GroupKind{Kind: "Pod"}, "rs-twxpx", nil)
	if err := withPrefix(invalid, "rs-twxpx", "rs-"); err.Error() != invalid.Error() {
		t.Errorf("%v", err)
	}
}
