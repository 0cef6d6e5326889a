package effects

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/windlass-dev/windlass/abi"
)

// expected returns the preconditions of an effect: the version and UID that the object must have, "" for none.
//
// An effect says the version of the guest's copy. One that this session knows means the base, which the session's own
// writes may have moved since; one that it doesn't know is demanded as it is.
func expected(e *abi.Effect, b *base, byDefault abi.Precondition) (version, uid string) {
	p := e.Precondition
	if p == abi.PreconditionDefault {
		p = byDefault
	}
	version, uid = e.Version, e.UID
	if b != nil {
		if _, known := b.views[version]; known || version == "" {
			version = b.version
		}
		if uid == "" {
			uid = b.uid
		}
	}
	switch p {
	case abi.PreconditionVersion:
		return version, uid
	case abi.PreconditionUID:
		return "", uid
	}
	return "", ""
}

// withPreconditions adds the version and UID that the object must have to a patch.
func withPreconditions(t abi.PatchType, patch []byte, version, uid string) ([]byte, error) {
	if version == "" && uid == "" {
		return patch, nil
	}
	if t == abi.JSONPatch {
		var operations []json.RawMessage
		if err := json.Unmarshal(patch, &operations); err != nil {
			return nil, fmt.Errorf("the JSON patch: %w", err)
		}
		all := make([]any, 0, len(operations)+2)
		for _, o := range testOperations(version, uid) {
			all = append(all, o)
		}
		for _, o := range operations {
			all = append(all, o)
		}
		return json.Marshal(all)
	}

	var object map[string]json.RawMessage
	if err := json.Unmarshal(patch, &object); err != nil {
		return nil, fmt.Errorf("the patch: %w", err)
	}

	metadata := map[string]json.RawMessage{}
	if m := object["metadata"]; m != nil {
		if err := json.Unmarshal(m, &metadata); err != nil {
			return nil, fmt.Errorf("the patch's metadata: %w", err)
		}
	}

	for field, value := range map[string]string{"resourceVersion": version, "uid": uid} {
		if value != "" {
			metadata[field], _ = json.Marshal(value)
		}
	}

	m, err := json.Marshal(metadata)
	if err != nil {
		return nil, err
	}
	if object == nil {
		object = map[string]json.RawMessage{}
	}
	object["metadata"] = m
	return json.Marshal(object)
}

// testOperations returns the operations that fail a patch of another version of the object, or of another object.
func testOperations(version, uid string) []operation {
	var o []operation
	if uid != "" {
		o = append(o, operation{Op: "test", Path: "/metadata/uid", Value: uid})
	}
	if version != "" {
		o = append(o, operation{Op: "test", Path: "/metadata/resourceVersion", Value: version})
	}
	return o
}

// isFailedTest reports whether a JSON Patch couldn't be applied. The server doesn't say which operation failed (unlike
// its validation, which names fields); of a patch that begins with a test of the version, the others can't fail once
// that holds.
func isFailedTest(err error) bool {
	var s apierrors.APIStatus
	if !errors.As(err, &s) {
		return false
	}
	status := s.Status()
	return status.Code == http.StatusUnprocessableEntity &&
		(status.Details == nil || status.Details.Kind == "" && len(status.Details.Causes) == 0)
}

func asConflict(r abi.Resource, name string, err error) error {
	return apierrors.NewConflict(groupResource(r), name, err)
}
