package effects

import (
	"errors"
	"net/http"
	"unicode/utf8"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validate/content"
	apischema "k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/abi/names"
	"github.com/windlass-dev/windlass/host/schema"
)

// nameMax bounds a name in the address of a request, in bytes: escaped it may be three times as long, and the API
// server reads a header of a megabyte.
const nameMax = 256 << 10

// checkAddress returns what an effect comes to without a request because of what it names: objects hold names that
// name nothing, and longer ones than can be asked for. It is the effect's failure, never the answer's refusal, for
// whoever may write an object chooses them.
func checkAddress(e *abi.Effect, res *schema.Resource) error {
	if isMisplaced(e, res) {
		return nowhere()
	}
	for _, name := range [...]string{e.Namespace, addressedName(e)} {
		switch {
		case len(name) > nameMax:
			return &LimitError{"a name", len(name), nameMax}
		case !isSegment(name):
			return apierrors.NewNotFound(groupResource(res.Resource), name)
		}
	}
	return nil
}

// nowhere is what the API server answers where it serves nothing.
func nowhere() error {
	return apierrors.NewGenericServerResponse(http.StatusNotFound, "", apischema.GroupResource{}, "", "", 0, true)
}

// addressedName returns the name that an effect's request has in its path, none where it has one in its body alone.
func addressedName(e *abi.Effect) string {
	switch e.Kind {
	case abi.EffectReview, abi.EffectList, abi.EffectDeleteCollection:
		return ""
	case abi.EffectCreate:
		if e.Subresource == "" {
			return ""
		}
	}
	return e.Name
}

// isSegment reports whether an object's name, or none, may be a segment of a path. What may not names no object: the
// API server would take it apart, or decode it before it looks which resource is meant.
func isSegment(name string) bool { return len(content.IsPathSegmentName(name)) == 0 }

// isMisplaced reports whether an effect looks in a namespace for what is in none: the API server serves no such path.
// A reference in an object may well name such a kind.
func isMisplaced(e *abi.Effect, res *schema.Resource) bool {
	return e.Kind == abi.EffectGet && e.Namespace != "" && !res.Custom && !res.Namespaced
}

// checkWoken reports why a key can't be woken. Its name need not be an object's: it may be a value in one.
func checkWoken(k *abi.KeyRef) error {
	for _, part := range [...]string{k.Namespace, k.Name, k.Resource} {
		switch {
		case len(part) > nameMax:
			return &LimitError{"a part of a key", len(part), nameMax}
		case !utf8.ValidString(part):
			return errors.New(names.Quote(part) + " can't be part of a key: it must be UTF-8")
		}
	}
	return nil
}
