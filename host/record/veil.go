package record

import (
	"bytes"
	"strings"

	"github.com/windlass-dev/windlass/abi"
)

// Veil keeps what a recording leaves out from what else is written of a sync: the plugin's log, errors, differences. It
// is told of the sync's messages, and is used by one goroutine. A nil Veil, that of a version which can't see any
// secret, hides nothing and costs nothing.
type Veil struct {
	source *Source
	sync   Sync
	known  *redaction // of the sync so far; nil: it has to be made
}

// NewVeil makes the veil of one sync of a version, nil for one without a source.
func NewVeil(s *Source) *Veil {
	if s == nil {
		return nil
	}
	return &Veil{source: s}
}

// Veiled returns the source for the syncs of one of its controllers to be veiled with; nil where those can see no
// secrets.
func (s *Source) Veiled(controller int) *Source {
	if len(s.private) == 0 && !mayRead(&s.Manifest.Controllers[controller]) {
		return nil
	}
	return s
}

// mayRead reports whether a controller may come to see the data of Secrets, in views or by live reads and the answers
// to writes.
func mayRead(c *abi.Controller) bool {
	r := redaction{controller: c}
	if r.seesSecrets() {
		return true
	}
	for _, w := range c.Writes {
		if w.Resource.Name == "*" || w.Resource.String() == secrets || w.Subresource == "token" ||
			strings.Contains(w.Resource.Name, "review") && w.Resource.Group != "authorization.k8s.io" {
			return true
		}
	}
	return false
}

// Request takes the call as the guest got it.
func (v *Veil) Request(b []byte) {
	if v != nil {
		v.sync.Request, v.known = bytes.Clone(b), nil
	}
}

// Performed takes what the guest has asked for in the middle of the sync and what it was told, nothing where that ended
// the sync.
func (v *Veil) Performed(in, out []byte, _ error) {
	if v != nil {
		v.sync.Performs, v.known = append(v.sync.Performs, Perform{In: bytes.Clone(in), Out: bytes.Clone(out)}), nil
	}
}

// Answered takes the guest's answer.
func (v *Veil) Answered(b []byte) {
	if v != nil {
		v.sync.Answer, v.sync.Answered, v.known = bytes.Clone(b), true, nil
	}
}

// redaction returns the values that the sync has seen or sent.
func (v *Veil) redaction() *redaction {
	if v.known == nil {
		v.known = &redaction{found: map[string]bool{}}
		s := v.sync.clone()
		if len(s.Request) > 0 {
			v.known.redactSync([]Source{{Manifest: v.source.Manifest, Trusted: v.source.Trusted}}, &s)
		}
		for _, b := range v.source.private {
			v.known.remember(b)
		}
	}
	return v.known
}

// Text returns a text with what is secret replaced.
func (v *Veil) Text(s string) string {
	if v == nil || s == "" {
		return s
	}
	return v.redaction().redactText(s)
}

// Error returns an error whose text has nothing secret in it.
func (v *Veil) Error(err error) error {
	if v == nil || err == nil {
		return err
	}
	if text := err.Error(); v.Text(text) != text {
		return &veiled{v.Text(text), err}
	}
	return err
}

type veiled struct {
	text string
	err  error
}

func (e *veiled) Error() string { return e.text }
func (e *veiled) Unwrap() error { return e.err }

// Effects returns effects with the data of Secrets wiped.
func (v *Veil) Effects(all []abi.Effect) []abi.Effect {
	if v == nil {
		return all
	}
	var a abi.SyncResponse
	if err := abi.DecodeResponse(abi.AppendResponse(nil, &abi.SyncResponse{Effects: all}), &a); err != nil {
		return nil
	}
	r := v.redaction()
	for i := range a.Effects {
		r.redactEffect(&a.Effects[i])
	}
	return a.Effects
}

// readsAnnotations reports whether a field of a Secret's metadata holds kubectl's copy of its data.
func readsAnnotations(field string) bool {
	return field == "metadata" || field == "metadata.annotations" || strings.HasPrefix(field, "metadata.annotations[") ||
		strings.HasPrefix(field, "metadata.annotations.")
}
