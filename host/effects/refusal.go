package effects

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// beforeNames are how those refusals begin that an API server makes before it would have made a name from generateName:
// what its own plugins of mutating admission say, of those that are on by default (NamespaceLifecycle, ServiceAccount,
// Priority, RuntimeClass). Quotas, policies and validation come after that.
var beforeNames = []string{
	"unable to create new content in namespace ",
	"error looking up service account ",
	"no PriorityClass with name ",
	"the integer value of priority (",
	"the string value of PreemptionPolicy (",
	"pod rejected: RuntimeClass ",
	"pod rejected: Pod's Overhead doesn't match ",
}

// quotePrefix has a refusal of a create whose name was made here quote generateName where an API server would have had
// no name to quote yet. So all attempts are refused in the same words, and events about them are counted as one.
func quotePrefix(err error, name, generateName string) error {
	var status *apierrors.StatusError
	if !errors.As(err, &status) {
		return err
	}
	quoted := strconv.Quote(name)
	_, why, ok := strings.Cut(status.ErrStatus.Message, quoted+" is forbidden: ")
	if !ok || !slices.ContainsFunc(beforeNames, func(s string) bool { return strings.HasPrefix(why, s) }) {
		return err
	}

	other := *status
	other.ErrStatus.Message = strings.Replace(other.ErrStatus.Message, quoted, strconv.Quote(generateName), 1)
	return &other
}
