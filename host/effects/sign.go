package effects

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/grant"
	"github.com/windlass-dev/windlass/host/printable"
	"github.com/windlass-dev/windlass/host/schema"
)

// Signer signs with keys that only the host has, what the API server has.
type Signer interface {
	// Certificate makes the certificate of a request, in PEM.
	Certificate(r *certificatesv1.CertificateSigningRequest, now time.Time) ([]byte, error)
	// Token makes the token of a service account's Secret.
	Token(account *corev1.ServiceAccount, secret *corev1.Secret) (string, error)
	// Bootstrap signs a cluster's information with a bootstrap token, and returns the key of its data that the signature
	// is for.
	Bootstrap(info *corev1.ConfigMap, token *corev1.Secret, now time.Time) (key, signature string, _ error)
}

// The resources of what is signed, and of what the right to sign is about: a signer, a service account, a bootstrap
// token.
var (
	requests   = abi.Resource{Group: "certificates.k8s.io", Version: "v1", Name: "certificatesigningrequests"}
	signers    = abi.Resource{Group: "certificates.k8s.io", Version: "v1", Name: "signers"}
	allSecrets = abi.Resource{Version: "v1", Name: "secrets"}
	accounts   = abi.Resource{Version: "v1", Name: "serviceaccounts"}
	infos      = abi.Resource{Version: "v1", Name: "configmaps"}
)

// signs is what each kind of signature is for, and what the right to it is about: the verb "sign" of that.
var signs = map[abi.SignKind]struct{ of, by abi.Resource }{
	abi.SignCertificate: {requests, signers},
	abi.SignToken:       {allSecrets, accounts},
	abi.SignBootstrap:   {infos, allSecrets},
}

// checkSign reports why nothing is signed, as far as the effect itself shows it.
func (c *checker) checkSign(e *abi.Effect) error {
	if e.Sign == nil {
		return errors.New("it doesn't say what to sign")
	}
	kind, known := signs[e.Sign.Kind]
	switch {
	case !known:
		return fmt.Errorf("unknown kind of signature %d", e.Sign.Kind)
	case e.Resource != kind.of.String():
		return fmt.Errorf("a signature of kind %d is one for %s", e.Sign.Kind, kind.of)
	case kind.of == requests && e.Namespace != "":
		return fmt.Errorf("it names a namespace, which %s don't have", kind.of)
	case kind.of != requests && e.Namespace == "":
		return fmt.Errorf("it names no namespace, which %s have", kind.of)
	case e.Name == "" || e.UID == "" || e.Version == "":
		return errors.New("it names no object with its UID, in the version that the plugin saw")
	case !slices.ContainsFunc(c.w.rights[right{kind.by, ""}], func(w abi.Write) bool { return slices.Contains(w.Verbs, "sign") }):
		return c.w.rights.notAllowed(kind.by, "", "sign", e)
	}
	return nil
}

// sign signs what the API server has, and keeps it: the guest gets a placeholder.
func (s *Session) sign(ctx context.Context, e *abi.Effect) (abi.Outcome, error) {
	if s.w.Signer == nil {
		return abi.Outcome{}, &notGranted{"the operator hasn't granted it: only built-in plugins sign with the cluster's keys"}
	}
	x, err := map[abi.SignKind]func(context.Context, *abi.Effect) (signature, error){
		abi.SignCertificate: s.signCertificate, abi.SignToken: s.signToken, abi.SignBootstrap: s.signBootstrap,
	}[e.Sign.Kind](ctx, e)
	if err != nil {
		return abi.Outcome{}, err
	}
	if x.present { // whoever may read the object sees it there
		return abi.Outcome{Object: abi.ObjectData{Data: x.credential}}, nil
	}
	of := signs[e.Sign.Kind].of
	x.key = objectKey{resource: of, namespace: strings.Clone(e.Namespace), name: strings.Clone(e.Name)}
	x.uid, x.versions = strings.Clone(e.UID), []string{strings.Clone(e.Version)}
	placeholder, err := s.signatures.keep(x)
	return abi.Outcome{Object: abi.ObjectData{Data: placeholder}}, err
}

func (s *Session) signCertificate(ctx context.Context, e *abi.Effect) (signature, error) {
	r := &certificatesv1.CertificateSigningRequest{}
	if err := s.readSeen(ctx, e, r); err != nil {
		return signature{}, err
	}
	if err := s.maySign(signers, "", r.Spec.SignerName, func() (labels.Set, error) { return nil, nil }); err != nil {
		return signature{}, err
	}
	certificate, err := s.w.Signer.Certificate(r, time.Now())
	return signature{credential: certificate, subresource: "status", path: "status.certificate",
		place: func(object []byte) []byte {
			r := &certificatesv1.CertificateSigningRequest{}
			_ = r.Unmarshal(object) // what isn't one has no place for it
			return r.Status.Certificate
		}}, err
}

func (s *Session) signToken(ctx context.Context, e *abi.Effect) (signature, error) {
	secret := &corev1.Secret{}
	if err := s.readSeen(ctx, e, secret); err != nil {
		return signature{}, err
	}
	name, account := secret.Annotations[corev1.ServiceAccountNameKey], &corev1.ServiceAccount{}
	if err := s.maySign(accounts, secret.Namespace, name, func() (labels.Set, error) {
		err := s.readObject(ctx, accounts, secret.Namespace, name, account)
		return account.Labels, err
	}); err != nil {
		return signature{}, err
	}
	token, err := s.w.Signer.Token(account, secret)
	return signature{credential: []byte(token), path: "data[token]", place: func(object []byte) []byte {
		secret := &corev1.Secret{}
		_ = secret.Unmarshal(object)
		return secret.Data[corev1.ServiceAccountTokenKey]
	}}, err
}

func (s *Session) signBootstrap(ctx context.Context, e *abi.Effect) (signature, error) {
	info, token := &corev1.ConfigMap{}, &corev1.Secret{}
	if err := s.readSeen(ctx, e, info); err != nil {
		return signature{}, err
	}
	if err := s.maySign(allSecrets, metav1.NamespaceSystem, e.Sign.Token, func() (labels.Set, error) {
		err := s.readToken(ctx, strings.Clone(e.Sign.Token), token)
		return token.Labels, err
	}); err != nil {
		return signature{}, err
	}
	key, signed, err := s.w.Signer.Bootstrap(info, token, time.Now())
	present := err == nil && info.Data[key] == signed
	return signature{credential: []byte(signed), present: present, path: "data[" + key + "]",
		place: func(object []byte) []byte {
			info := &corev1.ConfigMap{}
			_ = info.Unmarshal(object)
			return []byte(info.Data[key])
		}}, err
}

// decodable is an object of a built-in type.
type decodable interface{ Unmarshal([]byte) error }

// readSeen reads the object that an effect names, which must be as the plugin saw it. The host's own cache is as good
// as the API server: the signature is for an update that demands this version, so whatever has changed since makes it
// fail.
func (s *Session) readSeen(ctx context.Context, e *abi.Effect, into interface {
	decodable
	metav1.Object
}) error {
	of := signs[e.Sign.Kind].of
	o := s.bases.cached(objectKey{resource: of, namespace: e.Namespace, name: e.Name})
	if o != nil && string(o.UID) == e.UID && o.ResourceVersion == e.Version {
		return into.Unmarshal(o.Raw)
	}
	if err := s.readObject(ctx, of, e.Namespace, e.Name, into); err != nil {
		return err
	}
	if string(into.GetUID()) != e.UID || into.GetResourceVersion() != e.Version {
		return apierrors.NewConflict(groupResource(of), strings.Clone(e.Name), fmt.Errorf(
			"the plugin saw version %s, the server has %s", printable.Line(e.Version, textMost), into.GetResourceVersion()))
	}
	return nil
}

// readToken reads a bootstrap token, from the cache as upstream does: there may be hundreds, and each change of one has
// the signatures of all looked at. One that changes meanwhile has them looked at again.
func (s *Session) readToken(ctx context.Context, name string, into *corev1.Secret) error {
	if o := s.bases.cached(objectKey{resource: allSecrets, namespace: metav1.NamespaceSystem, name: name}); o != nil {
		return into.Unmarshal(o.Raw)
	}
	return s.readObject(ctx, allSecrets, metav1.NamespaceSystem, name, into)
}

// readObject reads an object from the API server. Names come from guests, and from objects that anybody may write: one
// that can't be asked for names nothing.
func (s *Session) readObject(ctx context.Context, r abi.Resource, namespace, name string, into decodable) error {
	res, err := schema.For(r)
	if err != nil {
		return err
	}
	if name == "" {
		return apierrors.NewNotFound(groupResource(r), "")
	}
	if err := checkAddress(&abi.Effect{Kind: abi.EffectGet, Namespace: namespace, Name: name}, res); err != nil {
		return err
	}

	raw, err := s.w.readLive(ctx, res, namespace, name)
	if err != nil {
		return err
	}
	if raw == nil {
		return apierrors.NewNotFound(groupResource(r), strings.Clone(name))
	}
	return into.Unmarshal(raw)
}

// maySign reports why nothing is signed by what has a name: neither the manifest nor the operator's grant may leave it
// out. read reads it, and returns its labels; what the grant has no rule for isn't read.
func (s *Session) maySign(by abi.Resource, namespace, name string, read func() (labels.Set, error)) error {
	e := &abi.Effect{Namespace: namespace, Name: name}
	if !s.w.rights.allows(by, "", "sign", e) {
		return s.w.rights.notAllowed(by, "", "sign", e)
	}
	q := grant.Request{Verb: "sign", Resource: by, Namespace: namespace, Name: name}
	granted := s.w.Grant.Ask(q)
	if granted.Denied() {
		return s.w.missing(q)
	}
	has, err := read()
	if err == nil && !granted.Matches(has) {
		return s.w.unmatched(q, granted, by.Name+" "+printable.Line(name, textMost)+" is matched")
	}
	return err
}

// signatures are what a sync has had signed. Effects of a group may add to them side by side.
type signatures struct {
	mu   sync.Mutex
	kept []signature
}

// signature is a credential for one object, and what stands for it in the sandbox: as many other bytes, which nobody
// can guess.
type signature struct {
	key                     objectKey
	uid                     string
	versions                []string // of the object, the first is the one that was signed
	placeholder, credential []byte
	present                 bool // the object has the credential in its place

	// The credential is for what place returns of the object, which is at this path, in updates of this subresource.
	subresource, path string
	place             func(object []byte) []byte
}

// keep keeps a credential and returns what stands for it.
func (l *signatures) keep(x signature) ([]byte, error) {
	var random [32]byte
	if _, err := rand.Read(random[:]); err != nil {
		return nil, err
	}
	if x.placeholder = abi.AppendPlaceholder(nil, random, len(x.credential)); x.placeholder == nil {
		return nil, fmt.Errorf("a signature of %d bytes, of which nothing can stand for as many", len(x.credential))
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.kept = append(l.kept, x)
	return slices.Clone(x.placeholder), nil
}

// fill returns an update of an object with the credentials that were made for it, each where the update has what stands
// for it in the place that it is for, and nowhere else. What was signed is for the object as it was then: an update of
// another version is an error, and this one demands its own.
func (l *signatures) fill(k objectKey, e *abi.Effect) (*abi.Effect, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range l.kept {
		x := &l.kept[i]
		if !x.isPlaced(k, e) {
			continue
		}
		if e.UID != x.uid || !slices.Contains(x.versions, e.Version) {
			return nil, apierrors.NewConflict(groupResource(k.resource), k.name,
				fmt.Errorf("what was signed is for version %s of it", x.versions[0]))
		}
		filled := *e
		filled.Object = bytes.Replace(e.Object, x.placeholder, x.credential, 1)
		filled.Precondition = abi.PreconditionVersion
		e = &filled
	}
	return e, nil
}

// keepsPath reports which parts of an object an update may change: what the guest sees whole, and the place of what was
// signed for the object, where the update has that there: the guest needn't see what it takes the place of.
func (s *Session) keepsPath(r abi.Resource, k objectKey, object []byte) func(path string) bool {
	seen := s.w.seen.keepsPath(r)
	places := s.signatures.places(k, object)
	if len(places) == 0 {
		return seen
	}
	return func(path string) bool { return seen(path) || slices.Contains(places, path) }
}

// places are the paths at which an update of an object has what was signed for it, or what stands for that.
func (l *signatures) places(k objectKey, object []byte) (all []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range l.kept {
		x := &l.kept[i]
		if x.key != k {
			continue
		}
		if there := x.place(object); bytes.Equal(there, x.credential) || bytes.Equal(there, x.placeholder) {
			all = append(all, x.path)
		}
	}
	return all
}

// isPlaced reports whether an update has what stands for the credential in the place that the credential is for.
func (x *signature) isPlaced(k objectKey, e *abi.Effect) bool {
	return x.key == k && !e.DryRun && e.Subresource == x.subresource && bytes.Count(e.Object, x.placeholder) == 1 &&
		bytes.Equal(x.place(e.Object), x.placeholder)
}

// written takes down which version an update of an object has made that had credentials in it: the plugin may go on
// from there.
func (l *signatures) written(k objectKey, e *abi.Effect, version string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range l.kept {
		if x := &l.kept[i]; x.isPlaced(k, e) && version != "" {
			x.versions = append(x.versions, version)
		}
	}
}

// hide puts what stands for a credential into its place again.
func (l *signatures) hide(o *abi.Outcome) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, x := range l.kept {
		o.Object.Data = bytes.ReplaceAll(o.Object.Data, x.credential, x.placeholder)
	}
}

// hideError does that in the text of an error, which an API server or a webhook has made of the object: as it is, or as
// JSON has bytes.
func (l *signatures) hideError(err error) error {
	if err == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	text := err.Error()
	for _, x := range l.kept {
		for _, form := range []func([]byte) string{func(b []byte) string { return string(b) },
			base64.StdEncoding.EncodeToString} {
			text = strings.ReplaceAll(text, form(x.credential), form(x.placeholder))
		}
	}
	if text == err.Error() {
		return err
	}

	var status *apierrors.StatusError
	if !errors.As(err, &status) {
		return errors.New(text)
	}
	other := *status
	other.ErrStatus.Message, other.ErrStatus.Details = text, nil
	return &other
}
