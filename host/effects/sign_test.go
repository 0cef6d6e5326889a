package effects

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"strings"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/cache"
	"github.com/windlass-dev/windlass/host/grant"
	"github.com/windlass-dev/windlass/host/schema/schematest"
	"github.com/windlass-dev/windlass/host/signing"
)

// signsRequests is a controller that may sign for clients of the API server.
func signsRequests() abi.Controller {
	return abi.Controller{
		Views: []abi.View{{Name: "requests", Resource: requests, Fields: []string{"spec.signerName", "status.conditions", "status.certificate"}}},
		Writes: []abi.Write{
			{Resource: requests, Subresource: "status", Verbs: []string{"update"}},
			{Resource: configMaps, Verbs: []string{"create"}},
			{Resource: signers, Verbs: []string{"sign"}, Names: []string{certificatesv1.KubeAPIServerClientSignerName}},
		},
	}
}

func testAuthority(t *testing.T) *signing.Authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tmpl := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "ca"}, IsCA: true,
		BasicConstraintsValid: true,
		NotBefore:             time.Now().Add(-time.Hour), NotAfter: time.Now().Add(100 * time.Hour),
		KeyUsage: x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	c, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return &signing.Authority{Certificate: c, Key: key}
}

// signed is a world in which a controller has an authority.
type signed struct {
	*world
	authority *signing.Authority
}

func newSigned(t *testing.T, c abi.Controller, change func(*Options)) *signed {
	x := &signed{authority: testAuthority(t)}
	x.world = newWorld(t, c, func(o *Options) {
		o.Signer = &signing.Keys{Longest: time.Hour, Of: func(signer string) *signing.Authority {
			if signer == certificatesv1.KubeAPIServerClientSignerName {
				return x.authority
			}
			return nil
		}}
		if change != nil {
			change(o)
		}
	})
	return x
}

// request makes a request, which is approved or not, and returns it as the cache has it.
func (x *signed) request(name, signer string, approved bool, usages ...certificatesv1.KeyUsage) *cache.Object {
	x.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		x.t.Fatal(err)
	}
	der, err := x509.CreateCertificateRequest(rand.Reader,
		&x509.CertificateRequest{Subject: pkix.Name{CommonName: "jo"}}, key)
	if err != nil {
		x.t.Fatal(err)
	}
	name += "-" + x.ns
	all := x.kube.CertificatesV1().CertificateSigningRequests()
	r, err := all.Create(x.t.Context(),
		&certificatesv1.CertificateSigningRequest{ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: certificatesv1.CertificateSigningRequestSpec{SignerName: signer, Usages: usages,
				Request: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})}}, metav1.CreateOptions{})
	if err == nil && approved {
		r.Status.Conditions = []certificatesv1.CertificateSigningRequestCondition{{Type: certificatesv1.CertificateApproved,
			Status: corev1.ConditionTrue, Reason: "Test"}}
		_, err = all.UpdateApproval(x.t.Context(), name, r, metav1.UpdateOptions{})
	}
	if err != nil {
		x.t.Fatal(err)
	}
	return x.cachedObject(requests.String(), name)
}

func signOf(o *cache.Object) abi.Effect {
	return abi.Effect{Kind: abi.EffectSign, Resource: requests.String(), Name: o.Name, UID: string(o.UID),
		Version: o.ResourceVersion,
		Sign:    &abi.Sign{Kind: abi.SignCertificate}}
}

// certified is the update that gives a request a certificate.
func (x *signed) certified(o *cache.Object, certificate []byte) abi.Effect {
	r := decodeProjected[*certificatesv1.CertificateSigningRequest](x.world, o)
	r.Status.Certificate = certificate
	return abi.Effect{Kind: abi.EffectUpdate, Subresource: "status", Resource: requests.String(), Name: o.Name,
		UID:     string(o.UID),
		Version: o.ResourceVersion, Object: schematest.Marshal(x.t, r)}
}

// What is signed comes to the API server, and only a placeholder to the guest.
func TestOnClusterSign(t *testing.T) {
	x := newSigned(t, signsRequests(), nil)
	o := x.request("good", certificatesv1.KubeAPIServerClientSignerName, true, certificatesv1.UsageClientAuth)
	s := x.beginSession(o)
	defer s.End()
	placeholder := x.requireOK(s.Perform(t.Context(), []abi.Effect{signOf(o)}))[0].Object.Data
	if !bytes.HasPrefix(placeholder, []byte("windlass-signature-")) || bytes.Contains(placeholder, []byte("CERTIFICATE")) {
		t.Fatalf("the guest gets %q", placeholder)
	}

	// Wherever else it is, it stays what it is.
	leak := configMap("leak", string(placeholder))
	x.requireOK(s.Perform(t.Context(), []abi.Effect{*x.create(leak)}))
	other := x.request("other", certificatesv1.KubeAPIServerClientSignerName, true, certificatesv1.UsageClientAuth)
	s2 := x.beginSession(o, other)
	defer s2.End()
	for what, e := range map[string]abi.Effect{"another request": x.certified(other, placeholder),
		"another sync": x.certified(o, placeholder)} {
		out, err := s2.Perform(t.Context(), []abi.Effect{e})
		if err != nil || out[0].Code != abi.CodeFailed || out[0].Reason != "Invalid" {
			t.Errorf("%s has the placeholder of this one: %+v, %v", what, out, err)
		}
	}
	for _, m := range x.configMaps() {
		if strings.Contains(m.String(), "CERTIFICATE") {
			t.Errorf("a certificate is in a config map: %v", m.Data)
		}
	}

	if err := s.Finish(t.Context(), []abi.Effect{x.certified(o, placeholder)}); err != nil {
		t.Fatal(err)
	}
	r, err := x.kube.CertificatesV1().CertificateSigningRequests().Get(t.Context(), o.Name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(r.Status.Certificate)
	if block == nil {
		t.Fatalf("the certificate is %q", r.Status.Certificate)
	}
	c, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.CheckSignatureFrom(x.authority.Certificate); err != nil || c.Subject.CommonName != "jo" || c.IsCA {
		t.Errorf("%v: %v", c.Subject, err)
	}
}

// What isn't to be signed is a failure that says why.
func TestOnClusterSignsNot(t *testing.T) {
	const client = certificatesv1.KubeAPIServerClientSignerName
	use := certificatesv1.UsageClientAuth
	x := newSigned(t, signsRequests(), nil)

	stale := x.request("stale", client, true, use)
	staleEffect := signOf(stale)
	staleEffect.Version = "1"
	anew := x.request("anew", client, true, use)
	anewEffect := signOf(anew)
	anewEffect.UID = "another"
	gone := signOf(anew)
	gone.Name = "gone"
	for what, f := range map[string]struct {
		e            abi.Effect
		reason, want string
	}{
		"not approved":             {signOf(x.request("unapproved", client, false, use)), "Unavailable", "nobody has approved it"},
		"against the rules":        {signOf(x.request("bad", client, true, certificatesv1.UsageServerAuth)), "SignerValidationFailure", "invalid usage for client certificate: server auth"},
		"of a signer without keys": {signOf(x.request("mine", "example.com/mine", true, use)), "Unavailable", "it is not among the writes"},
		"of another version":       {staleEffect, "Conflict", "the plugin saw version 1"},
		"made anew":                {anewEffect, "Conflict", "the plugin saw version"},
		"gone":                     {gone, "NotFound", `"gone" not found`},
	} {
		o := x.performOne(f.e)
		if o.Code != abi.CodeFailed || o.Reason != f.reason || !strings.Contains(o.Message, f.want) ||
			len(o.Object.Data) > 0 {
			t.Errorf("%s: %+v, want %s: %s", what, o, f.reason, f.want)
		}
	}

	good := signOf(stale)
	without := newSigned(t, signsRequests(), func(o *Options) { o.Signer = nil })
	without.requireFailure(good, "Forbidden")
	narrowed := newSigned(t, signsRequests(), func(o *Options) {
		o.Grant = granted(t, grant.Rule{APIGroups: []string{"certificates.k8s.io"}, Resources: []string{"certificatesigningrequests"}, Verbs: []string{"*"}})
	})
	narrowed.requireFailure(good, "Forbidden")

	silent := signsRequests()
	silent.Writes = silent.Writes[:2]
	undeclared := newSigned(t, silent, nil)
	s := undeclared.beginSession()
	defer s.End()
	if _, err := s.Perform(t.Context(), []abi.Effect{good}); !Refused(err) || !NotDeclared(err) {
		t.Errorf("a manifest without the right: %v", err)
	}
	for what, change := range map[string]func(*abi.Effect){
		"no kind":          func(e *abi.Effect) { e.Sign = nil },
		"another kind":     func(e *abi.Effect) { e.Sign = &abi.Sign{Kind: 9} },
		"another resource": func(e *abi.Effect) { e.Resource = "v1/secrets" },
		"a namespace":      func(e *abi.Effect) { e.Namespace = "default" },
		"no UID":           func(e *abi.Effect) { e.UID = "" },
		"no version":       func(e *abi.Effect) { e.Version = "" },
		"no name":          func(e *abi.Effect) { e.Name = "" },
	} {
		e := signOf(stale)
		change(&e)
		s := x.beginSession()
		if _, err := s.Perform(t.Context(), []abi.Effect{e}); !Refused(err) {
			t.Errorf("%s: %v", what, err)
		}
		s.End()
	}
}
