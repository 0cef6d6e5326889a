package record

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/abi/wire"
)

// secrets is the resource whose data is never written out.
const secrets = "v1/secrets"

// Redact returns a copy of a recording without what must not be written out. Zeros of the same length take the place of
//
//   - the values of data and stringData, and kubectl's copy of them in an annotation, in each Secret: in views, in
//     effects, in their outcomes; all but those that are no secret (secretName.isPublic)
//   - tokens that a sync has asked for, and what it has sent to be reviewed
//   - the state of a controller that may see the data of Secrets, where it isn't trusted: it may have kept some
//   - each of those values, and what is in files that settings name (certificates aside), wherever else in the
//     recording it turns up, as it is, in base64 or quoted in JSON
//
// A sync of which anything was wiped is marked as redacted.
func Redact(f *File) *File {
	out := *f
	out.Syncs = make([]Sync, len(f.Syncs))
	r := redaction{found: map[string]bool{}}
	for i := range f.Syncs {
		out.Syncs[i] = f.Syncs[i].clone()
	}

	for i := range out.Syncs {
		r.redactSync(f.Sources, &out.Syncs[i])
	}
	for i := range f.Sources {
		for _, b := range f.Sources[i].private {
			r.remember(b)
		}
	}

	for i := range out.Syncs {
		r.eraseFound(&out.Syncs[i])
	}
	out.Sources = append([]Source(nil), f.Sources...)
	for i := range out.Sources {
		settings := append([]Setting(nil), out.Sources[i].Settings...)
		for j := range settings {
			settings[j].Value = r.redactText(settings[j].Value)
		}
		out.Sources[i].Settings = settings
	}
	out.Reason = r.redactText(f.Reason)
	return &out
}

func (s *Sync) clone() Sync {
	c := *s
	c.Request, c.Answer = bytes.Clone(s.Request), bytes.Clone(s.Answer)
	c.Wrote = slices.Clone(s.Wrote)
	c.Performs = make([]Perform, len(s.Performs))
	for i, p := range s.Performs {
		c.Performs[i] = Perform{bytes.Clone(p.In), bytes.Clone(p.Out), p.Refused}
	}
	return c
}

// redaction wipes, in the bytes of the syncs that it is given. The decoded messages point into those.
type redaction struct {
	controller *abi.Controller
	wiped      bool
	found      map[string]bool // values that were wiped, to be looked for elsewhere
}

// valueMin is the length from which on a value is looked for elsewhere: shorter ones turn up by chance.
const valueMin = 6

func (r *redaction) remember(b []byte) {
	if len(b) >= valueMin && !isCertificates(b) {
		r.found[string(b)] = true
		r.found[base64.StdEncoding.EncodeToString(b)] = true
		if utf8.Valid(b) {
			for _, quoted := range quotedForms(string(b)) {
				r.found[quoted] = true
			}
		}
	}
}

// quotedForms are a text as it stands in JSON, such as a custom resource's: as the SDK, the API server and others write
// it.
func quotedForms(s string) []string {
	forms := []string{string(wire.AppendQuoted(nil, s))}
	for _, html := range []bool{true, false} {
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(html)
		if e.Encode(s) == nil {
			forms = append(forms, strings.TrimSuffix(b.String(), "\n"))
		}
	}
	for i, f := range forms {
		forms[i] = f[1 : len(f)-1]
	}
	return forms
}

// wipeValue wipes a value, to be looked for elsewhere, as are the values within it.
func (r *redaction) wipeValue(b []byte) {
	r.remember(bytes.Trim(b, "\x00"))
	r.rememberWithin(b)
	r.zeroBytes(b)
}

func (r *redaction) zeroBytes(b []byte) {
	if len(bytes.Trim(b, "\x00")) > 0 {
		clear(b)
		r.wiped = true
	}
}

func (r *redaction) redactSync(sources []Source, s *Sync) {
	r.wiped = s.Redacted
	defer func() { s.Redacted = r.wiped }()
	if s.Cut {
		return
	}

	// What can't be read can't be known to be harmless.
	var call abi.SyncRequest
	if abi.DecodeRequest(s.Request, &call) != nil || s.Source >= len(sources) || call.Controller < 0 ||
		int(call.Controller) >= len(sources[s.Source].Manifest.Controllers) {
		r.wipeAll(s)
		return
	}

	r.controller = &sources[s.Source].Manifest.Controllers[call.Controller]
	for i := range call.Views {
		r.redactView(r.resourceOf(call.Views[i].View), &call.Views[i])
	}

	sees := r.seesSecrets() && !sources[s.Source].Trusted
	if sees {
		r.wipeValue(call.State)
	}

	for i := range s.Performs {
		r.perform(&s.Performs[i])
	}
	if !s.Answered {
		return
	}

	var answer abi.SyncResponse
	if abi.DecodeResponse(s.Answer, &answer) != nil {
		r.wipeValue(s.Answer)
		return
	}

	for i := range answer.Effects {
		r.redactEffect(&answer.Effects[i])
	}
	if sees {
		r.wipeValue(answer.State)
	}
}

// wipeAll wipes all messages.
func (r *redaction) wipeAll(s *Sync) {
	r.wipeValue(s.Request)
	for _, p := range s.Performs {
		r.wipeValue(p.In)
		r.wipeValue(p.Out)
	}
	r.wipeValue(s.Answer)
}

func (r *redaction) perform(p *Perform) {
	var in abi.PerformRequest
	var out abi.PerformResponse
	if abi.DecodePerform(p.In, &in) != nil || abi.DecodePerformed(p.Out, &out) != nil {
		r.wipeValue(p.In)
		r.wipeValue(p.Out)
		return
	}
	for i := range in.Effects {
		r.redactEffect(&in.Effects[i])
	}
	r.outcomes(in.Effects, out.Outcomes)
}

func (r *redaction) resourceOf(view int32) string {
	if view < 0 || int(view) >= len(r.controller.Views) {
		return secrets // nobody knows what it is
	}
	return r.controller.Views[view].Resource.String()
}

// seesSecrets reports whether the controller may see the data of Secrets.
func (r *redaction) seesSecrets() bool {
	for _, v := range r.controller.Views {
		if v.Resource.String() == secrets || v.Resource.Name == "*" {
			for _, field := range v.Fields {
				if !strings.HasPrefix(field, "metadata") || readsAnnotations(field) {
					return true
				}
			}
		}
	}
	for _, w := range r.controller.Writes {
		if w.Resource.String() == secrets {
			return true
		}
	}
	return false
}

func (r *redaction) redactView(resource string, v *abi.ViewData) {
	for i := range v.Objects {
		of := resource
		if own := v.Objects[i].Resource; own != "" {
			of = own
		}
		r.redactObject(of, v.Objects[i].Data)
	}
}

// reviewsToken reports whether a review may have a token in it. What may be done by whom is no secret.
func reviewsToken(e *abi.Effect) bool {
	return e.Kind == abi.EffectReview && !strings.HasPrefix(e.Resource, "authorization.k8s.io/")
}

func (r *redaction) redactEffect(e *abi.Effect) {
	switch {
	case reviewsToken(e), e.Subresource == "token":
		r.wipeValue(e.Object)
	case e.Kind == abi.EffectPatch && e.Resource == secrets:
		r.wipeValue(e.Object)
	default:
		r.redactObject(e.Resource, e.Object)
	}
	for i := range e.Members {
		r.redactEffect(&e.Members[i])
	}
}

func (r *redaction) outcomes(effects []abi.Effect, outcomes []abi.Outcome) {
	for i := range outcomes {
		o := &outcomes[i]
		var e abi.Effect
		if i < len(effects) {
			e = effects[i]
		}
		resource := e.Resource
		switch {
		case e.Kind == abi.EffectSign && abi.IsPlaceholder(o.Object.Data):
			continue
		case e.Kind == abi.EffectView && e.Ask != nil:
			resource = r.resourceOf(e.Ask.View)
		case e.Kind == abi.EffectRead && strings.Contains(e.Path, "/secrets"), reviewsToken(&e),
			e.Subresource == "token":
			r.wipeValue(o.Object.Data)
		}
		r.redactObject(resource, o.Object.Data)
		if o.View != nil {
			r.redactView(resource, o.View)
		}
		r.outcomes(e.Members, o.Members)
	}
}

// The fields of a Secret and of its metadata.
const (
	secretMeta       = 1
	secretData       = 2
	secretStringData = 4
	metaName         = 1
	metaNamespace    = 3
	metaAnnotations  = 12
	entryKey         = 1
	entryValue       = 2

	lastApplied = "kubectl.kubernetes.io/last-applied-configuration"
)

// redactObject wipes the values in a Secret.
func (r *redaction) redactObject(resource string, raw []byte) {
	if resource != secrets || len(raw) == 0 {
		return
	}
	if raw[0] == '{' || raw[0] == '[' {
		r.wipeValue(raw) // JSON has no values that could be wiped in place
		return
	}

	of := nameIn(raw)
	f := wire.Fields{Data: raw}
	for f.Next() {
		switch {
		case f.Type != wire.WireBytes:
		case f.Num == secretData || f.Num == secretStringData:
			r.redactEntry(f.Bytes, func(key string, value []byte) bool { return !of.isPublic(key, value) })
		case f.Num == secretMeta:
			m := wire.Fields{Data: f.Bytes}
			for m.Next() {
				if m.Num == metaAnnotations {
					r.redactEntry(m.Bytes, func(key string, _ []byte) bool { return key == lastApplied })
				}
			}
		}
	}
	if f.Err != 0 {
		r.wipeValue(raw)
	}
}

// redactEntry wipes the value of a map's entry.
func (r *redaction) redactEntry(raw []byte, secret func(key string, value []byte) bool) {
	key, f := "", wire.Fields{Data: raw}
	var values [][]byte
	for f.Next() {
		switch f.Num {
		case entryKey:
			key = string(f.Bytes)
		case entryValue:
			values = append(values, f.Bytes)
		}
	}
	if f.Err != 0 {
		r.wipeValue(raw)
		return
	}
	for _, v := range values {
		switch {
		case !secret(key, v):
		case key == corev1.ServiceAccountNamespaceKey:
			r.zeroBytes(v) // no secret elsewhere
		default:
			r.wipeValue(v)
		}
	}
}

// eraseFound erases the values everywhere else.
func (r *redaction) eraseFound(s *Sync) {
	for value := range r.found {
		s.Redacted = eraseValue(s.Request, value) || s.Redacted
		s.Redacted = eraseValue(s.Answer, value) || s.Redacted
		for i := range s.Performs {
			p := &s.Performs[i]
			s.Redacted = eraseValue(p.In, value) || s.Redacted
			s.Redacted = eraseValue(p.Out, value) || s.Redacted
		}
	}
	s.Error = r.redactText(s.Error)
	for i := range s.Wrote {
		s.Wrote[i] = r.redactText(s.Wrote[i])
	}
	for i := range s.Performs {
		s.Performs[i].Refused = r.redactText(s.Performs[i].Refused)
	}
}

func (r *redaction) redactText(s string) string {
	for value := range r.found {
		s = strings.ReplaceAll(s, value, "***")
	}
	return s
}

func eraseValue(b []byte, value string) (found bool) {
	for {
		i := bytes.Index(b, []byte(value))
		if i < 0 {
			return found
		}
		clear(b[i : i+len(value)])
		b, found = b[i+len(value):], true
	}
}
