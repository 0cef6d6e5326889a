package effects

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/effects/envelope"
	"github.com/windlass-dev/windlass/host/grant"
	"github.com/windlass-dev/windlass/host/schema"
)

// Signer signs with keys that only the host has.
type Signer interface {
	// Certificate makes the certificate of a request as the API server has it, in PEM.
	Certificate(r *certificatesv1.CertificateSigningRequest, now time.Time) ([]byte, error)
}

// signers are what admission asks for of who signs: to sign for a signer of that name.
var signers = abi.Resource{Group: "certificates.k8s.io", Version: "v1", Name: "signers"}

var requests = abi.Resource{Group: "certificates.k8s.io", Version: "v1", Name: "certificatesigningrequests"}

// checkSign reports why nothing is signed, as far as the effect itself shows it.
func (c *checker) checkSign(e *abi.Effect) error {
	switch {
	case e.Sign == nil || e.Sign.Kind != abi.SignCertificate:
		return errors.New("it doesn't say what to sign, or not in a way that this host knows")
	case e.Resource != requests.String() || e.Namespace != "":
		return fmt.Errorf("the certificate of one of %s is signed, and nothing else", requests)
	case e.Name == "" || e.UID == "" || e.Version == "":
		return errors.New("it names no object with its UID, in the version that the plugin saw")
	case !slices.ContainsFunc(c.w.rights[right{signers, ""}], func(w abi.Write) bool { return slices.Contains(w.Verbs, "sign") }):
		return c.w.rights.notAllowed(signers, "", "sign", e)
	}
	return nil
}

// sign signs what the API server has, and keeps it: the guest gets a placeholder.
func (s *Session) sign(ctx context.Context, e *abi.Effect) (abi.Outcome, error) {
	if s.w.Signer == nil {
		return abi.Outcome{}, &notGranted{"the operator hasn't granted it: only plugins of the build that are meant to sign with the cluster's keys"}
	}
	res, err := schema.For(requests)
	if err != nil {
		return abi.Outcome{}, err
	}
	raw, err := s.w.readLive(ctx, res, "", e.Name)
	if err != nil {
		return abi.Outcome{}, err
	}
	if raw == nil {
		return abi.Outcome{}, apierrors.NewNotFound(groupResource(requests), e.Name)
	}
	m, err := envelope.ReadMeta(raw)
	if err != nil {
		return abi.Outcome{}, err
	}
	if m.UID != e.UID || m.ResourceVersion != e.Version {
		return abi.Outcome{}, apierrors.NewConflict(groupResource(requests), e.Name,
			fmt.Errorf("the plugin saw version %s, the server has %s", e.Version, m.ResourceVersion))
	}

	r := &certificatesv1.CertificateSigningRequest{}
	if err := r.Unmarshal(raw); err != nil {
		return abi.Outcome{}, err
	}
	if err := s.maySign(r.Spec.SignerName); err != nil {
		return abi.Outcome{}, err
	}
	credential, err := s.w.Signer.Certificate(r, time.Now())
	if err != nil {
		return abi.Outcome{}, err
	}
	placeholder, err := s.signatures.keep(objectKey{resource: requests, name: strings.Clone(e.Name)}, m.UID, credential)
	return abi.Outcome{Object: abi.ObjectData{Data: placeholder}}, err
}

// maySign reports why nothing is signed for a signer: neither the manifest nor the operator's grant may leave it out.
func (s *Session) maySign(signer string) error {
	e := &abi.Effect{Name: signer}
	if !s.w.rights.allows(signers, "", "sign", e) {
		return s.w.rights.notAllowed(signers, "", "sign", e)
	}
	q := grant.Request{Verb: "sign", Resource: signers, Name: signer}
	if s.w.Grant != nil && !s.w.Grant.Ask(q).Allowed {
		return s.w.missing(q)
	}
	return nil
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
	placeholder, credential []byte
}

// keep keeps a credential and returns what stands for it.
func (l *signatures) keep(k objectKey, uid string, credential []byte) ([]byte, error) {
	random := make([]byte, 32)
	if _, err := rand.Read(random); err != nil {
		return nil, err
	}
	text := []byte("windlass-signature-" + hex.EncodeToString(random) + "-")
	if len(credential) < len(text) {
		return nil, fmt.Errorf("a signature of %d bytes, of which nothing can stand for as many", len(credential))
	}
	placeholder := append(text, bytes.Repeat([]byte("."), len(credential)-len(text))...)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.kept = append(l.kept, signature{k, uid, placeholder, credential})
	return slices.Clone(placeholder), nil
}

// fill returns an update of an object with the credential that was made for it, where the update has what stands for
// that in the field that it is for; else the update as it is.
func (l *signatures) fill(k objectKey, e *abi.Effect) *abi.Effect {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range l.kept {
		x := &l.kept[i]
		if x.key != k || e.Subresource != "status" || bytes.Count(e.Object, x.placeholder) != 1 {
			continue
		}
		r := &certificatesv1.CertificateSigningRequest{}
		if r.Unmarshal(e.Object) != nil || string(r.UID) != x.uid || !bytes.Equal(r.Status.Certificate, x.placeholder) {
			continue
		}
		filled := *e
		filled.Object = bytes.Replace(e.Object, x.placeholder, x.credential, 1)
		return &filled
	}
	return e
}
