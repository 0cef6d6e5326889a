package effects

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cluster-bootstrap/token/jws"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/cache"
	"github.com/windlass-dev/windlass/host/grant"
	"github.com/windlass-dev/windlass/host/schema/schematest"
	"github.com/windlass-dev/windlass/host/signing"
)

// signsRequests is a controller that may sign for clients of the API server.
func signsRequests() abi.Controller {
	return abi.Controller{
		Views: []abi.View{
			{Name: "requests", Resource: requests, Fields: []string{"spec.signerName", "status.conditions",
				"status.certificate"}},
			{Name: "maps", Resource: configMaps, Fields: []string{"data"}},
		},
		Writes: []abi.Write{
			{Resource: requests, Subresource: "status", Verbs: []string{"update"}},
			{Resource: configMaps, Verbs: []string{"create", "update"}},
			{Resource: allSecrets, Verbs: []string{"update"}},
			{Resource: accounts, Verbs: []string{"sign"}},
			{Resource: allSecrets, Verbs: []string{"sign"}, Namespaces: []string{"kube-system"}},
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
	tokens    *signing.TokenKey
}

func newSigned(t *testing.T, c abi.Controller, change func(*Options)) *signed {
	x := &signed{authority: testAuthority(t)}
	der, err := x509.MarshalPKCS8PrivateKey(x.authority.Key)
	if err == nil {
		x.tokens, err = signing.ParseTokenKey(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
	}
	if err != nil {
		t.Fatal(err)
	}
	x.world = newWorld(t, c, func(o *Options) {
		o.Signer = &signing.Keys{Longest: time.Hour, Of: func(signer string) *signing.Authority {
			if signer == certificatesv1.KubeAPIServerClientSignerName {
				return x.authority
			}
			return nil
		}, Tokens: func() *signing.TokenKey { return x.tokens }}
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
	silent.Writes = silent.Writes[:2] // neither of the last
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

// A service account's token comes into its Secret, and the guest never sees it: not in what comes back, nor in an error
// that quotes it.
func TestOnClusterSignToken(t *testing.T) {
	x := newSigned(t, signsRequests(), nil)
	account, err := x.kube.CoreV1().ServiceAccounts(x.ns).Create(t.Context(), &corev1.ServiceAccount{
		ObjectMeta: metav1.ObjectMeta{Name: "till"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	made, err := x.kube.CoreV1().Secrets(x.ns).Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "token",
		Annotations: map[string]string{corev1.ServiceAccountNameKey: "till"}}, Type: corev1.SecretTypeServiceAccountToken},
		metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	o := x.cachedObject("v1/secrets", "token")
	s := x.beginSession(o)
	defer s.End()
	sign := abi.Effect{Kind: abi.EffectSign, Resource: "v1/secrets", Namespace: x.ns, Name: "token", UID: string(made.UID),
		Version: made.ResourceVersion, Sign: &abi.Sign{Kind: abi.SignToken}}
	placeholder := x.requireOK(s.Perform(t.Context(), []abi.Effect{sign}))[0].Object.Data

	made.Data = map[string][]byte{"token": placeholder, "namespace": []byte(x.ns)}
	update := abi.Effect{Kind: abi.EffectUpdate, Resource: "v1/secrets", Namespace: x.ns, Name: "token",
		UID:     string(made.UID),
		Version: made.ResourceVersion, Object: schematest.Marshal(t, made)}
	older := update
	older.Version = "1"
	outcomes, err := s.Perform(t.Context(), []abi.Effect{older})
	if err != nil || outcomes[0].Reason != "Conflict" || !strings.Contains(outcomes[0].Message, "what was signed is for version") {
		t.Errorf("an update of another version: %+v, %v", outcomes, err)
	}
	dry := update
	dry.DryRun = true
	outcomes = x.requireOK(s.Perform(t.Context(), []abi.Effect{dry, update}))
	for i, o := range outcomes {
		if bytes.Contains(o.Object.Data, s.signatures.kept[0].credential) {
			t.Errorf("effect %d brings the token to the guest", i)
		}
	}

	// The guest goes on from what it got: the token stays.
	again := update
	again.Version = outcomes[1].Object.ResourceVersion
	made.Labels = map[string]string{"a": "b"}
	again.Object = schematest.Marshal(t, made)
	x.requireOK(s.Perform(t.Context(), []abi.Effect{again}))

	live, err := x.kube.CoreV1().Secrets(x.ns).Get(t.Context(), "token", metav1.GetOptions{})
	if err == nil && live.Labels["a"] != "b" {
		t.Error("the second update changed nothing")
	}
	if err != nil {
		t.Fatal(err)
	}
	want, err := x.tokens.Token(account, live)
	if got := string(live.Data["token"]); err != nil || strings.Count(got, ".") != 2 || got[:strings.LastIndex(got,
		".")] != want[:strings.LastIndex(want, ".")] {
		t.Errorf("the token is %q, %v", got, err)
	}
}

// A grant may choose the accounts by their labels.
func TestOnClusterSignByLabels(t *testing.T) {
	x := newSigned(t, signsRequests(), func(o *Options) {
		o.Grant = granted(t, grant.Rule{APIGroups: []string{""}, Resources: []string{"serviceaccounts"}, Verbs: []string{"sign"},
			Selector: metav1.LabelSelector{MatchLabels: map[string]string{"team": "web"}}})
	})
	for team, reason := range map[string]string{"web": "", "shop": "Forbidden"} {
		account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: team, Labels: map[string]string{"team": team}}}
		if _, err := x.kube.CoreV1().ServiceAccounts(x.ns).Create(t.Context(), account, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		secret := &corev1.Secret{Type: corev1.SecretTypeServiceAccountToken, ObjectMeta: metav1.ObjectMeta{Name: team,
			Annotations: map[string]string{corev1.ServiceAccountNameKey: team}}}
		made, err := x.kube.CoreV1().Secrets(x.ns).Create(t.Context(), secret, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		o := x.performOne(abi.Effect{Kind: abi.EffectSign, Resource: "v1/secrets", Namespace: x.ns, Name: team,
			UID: string(made.UID), Version: made.ResourceVersion, Sign: &abi.Sign{Kind: abi.SignToken}})
		if o.Reason != reason || reason != "" && !strings.Contains(o.Message, "by no selector ([team=web]) of the rules") {
			t.Errorf("an account of team %s: %+v", team, o)
		}
	}
}

// What a guest doesn't see of an object it can't write, but for what was signed for it, in its place.
func TestOnClusterSignUnseen(t *testing.T) {
	c := signsRequests()
	c.Views = append(c.Views, abi.View{Name: "secrets", Resource: allSecrets, Fields: []string{"type"}})
	x := newSigned(t, c, nil)
	if _, err := x.kube.CoreV1().ServiceAccounts(x.ns).Create(t.Context(), &corev1.ServiceAccount{
		ObjectMeta: metav1.ObjectMeta{Name: "till"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	made, err := x.kube.CoreV1().Secrets(x.ns).Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "token",
		Annotations: map[string]string{corev1.ServiceAccountNameKey: "till"}}, Type: corev1.SecretTypeServiceAccountToken,
		Data: map[string][]byte{"token": []byte("old"), "more": []byte("kept")}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}

	s := x.beginSession(x.cachedObject("v1/secrets", "token"))
	defer s.End()
	named := abi.Effect{Resource: "v1/secrets", Namespace: x.ns, Name: "token", UID: string(made.UID),
		Version: made.ResourceVersion}
	write := func(data map[string][]byte) (abi.Outcome, error) {
		e := named
		e.Kind = abi.EffectUpdate
		e.Object = schematest.Marshal(t, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: x.ns, Name: "token",
			UID: made.UID, ResourceVersion: made.ResourceVersion}, Type: made.Type, Data: data})
		all, err := s.Perform(t.Context(), []abi.Effect{e})
		if err != nil {
			return abi.Outcome{}, err
		}
		return all[0], nil
	}
	refused := func(what string, data map[string][]byte) {
		t.Helper()
		if o, err := write(data); err == nil || !strings.Contains(err.Error(), "without having seen all of it") {
			t.Errorf("%s: %+v, %v", what, o, err)
		}
	}

	refused("before it is signed", map[string][]byte{"token": []byte("mine")})
	sign := named
	sign.Kind, sign.Sign = abi.EffectSign, &abi.Sign{Kind: abi.SignToken}
	placeholder := x.requireOK(s.Perform(t.Context(), []abi.Effect{sign}))[0].Object.Data
	refused("another text", map[string][]byte{"token": []byte("mine")})
	refused("more than that", map[string][]byte{"token": append(bytes.Clone(placeholder), '.')})
	refused("another place", map[string][]byte{"more": placeholder})

	if o, err := write(map[string][]byte{"token": placeholder}); err != nil || o.Code != abi.CodeOK {
		t.Fatalf("what was signed: %+v, %v", o, err)
	}
	live, err := x.kube.CoreV1().Secrets(x.ns).Get(t.Context(), "token", metav1.GetOptions{})
	if err != nil || strings.Count(string(live.Data["token"]), ".") != 2 || string(live.Data["more"]) != "kept" {
		t.Errorf("the Secret has %s, %v", live.Data, err)
	}
}

func TestHideError(t *testing.T) {
	var l signatures
	secret := bytes.Repeat([]byte("secret."), 30)
	placeholder, err := l.keep(signature{credential: secret})
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(placeholder, []byte("secret")) || len(placeholder) != len(secret) {
		t.Errorf("the placeholder is %q", placeholder)
	}
	for _, text := range []string{string(secret), base64.StdEncoding.EncodeToString(secret)} {
		denied := apierrors.NewForbidden(groupResource(allSecrets), "x", errors.New("the token "+text+" is denied"))
		if err := l.hideError(denied); strings.Contains(err.Error(), text) || !apierrors.IsForbidden(err) {
			t.Errorf("an API server's: %v", err)
		}
		if err := l.hideError(fmt.Errorf("bad %s", text)); strings.Contains(err.Error(), text) {
			t.Errorf("another: %v", err)
		}
	}
	if other := errors.New("other"); l.hideError(other) != other || l.hideError(nil) != nil {
		t.Error("another error is changed")
	}
	if _, err := l.keep(signature{credential: []byte("short")}); err == nil {
		t.Error("a placeholder can be guessed")
	}
}

// What a node that joins trusts is signed with the token that the API server has.
func TestOnClusterSignBootstrap(t *testing.T) {
	x := newSigned(t, signsRequests(), nil)
	token, err := x.kube.CoreV1().Secrets("kube-system").Create(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "bootstrap-token-abcdef"}, Type: "bootstrap.kubernetes.io/token",
		StringData: map[string]string{"token-id": "abcdef", "token-secret": "0123456789abcdef", "usage-bootstrap-signing": "true"}},
		metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = x.kube.CoreV1().Secrets("kube-system").Delete(context.WithoutCancel(t.Context()), token.Name,
			metav1.DeleteOptions{})
	})
	maps := x.kube.CoreV1().ConfigMaps("kube-public")
	made, err := maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "cluster-info"},
		Data: map[string]string{"kubeconfig": "clusters: []"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = maps.Delete(context.WithoutCancel(t.Context()), "cluster-info", metav1.DeleteOptions{})
	})

	sign := abi.Effect{Kind: abi.EffectSign, Resource: "v1/configmaps", Namespace: "kube-public",
		Name: "cluster-info", UID: string(made.UID),
		Version: made.ResourceVersion, Sign: &abi.Sign{Kind: abi.SignBootstrap, Token: token.Name}}
	x.ns = "kube-public" // of what is cached
	s := x.beginSession(x.cachedObject("v1/configmaps", "cluster-info"))
	defer s.End()
	for _, name := range []string{"bootstrap-token-uvwxyz", "", "..", "../../kube-public/secrets/x", "a/b", "a%2fb"} {
		other := sign
		other.Sign = &abi.Sign{Kind: abi.SignBootstrap, Token: name}
		outcomes, err := s.Perform(t.Context(), []abi.Effect{other})
		if err != nil || outcomes[0].Code != abi.CodeFailed || outcomes[0].Reason != "NotFound" {
			t.Errorf("a token %q that there isn't: %+v, %v", name, outcomes, err)
		}
	}

	placeholder := x.requireOK(s.Perform(t.Context(), []abi.Effect{sign}))[0].Object.Data
	made.Data["jws-kubeconfig-abcdef"] = string(placeholder)
	x.requireOK(s.Perform(t.Context(), []abi.Effect{{Kind: abi.EffectUpdate, Resource: "v1/configmaps", Namespace: "kube-public",
		Name: "cluster-info", UID: string(made.UID), Version: made.ResourceVersion, Object: schematest.Marshal(t, made)}}))
	live, err := maps.Get(t.Context(), "cluster-info", metav1.GetOptions{})
	if err != nil || !jws.DetachedTokenIsValid(live.Data["jws-kubeconfig-abcdef"], "clusters: []", "abcdef", "0123456789abcdef") {
		t.Errorf("the signature is %q, %v", live.Data, err)
	}

	// A cached token costs no request: there is none any more that one could be answered with.
	x.ns = "kube-system"
	cached := x.cachedObject("v1/secrets", token.Name)
	if err := x.kube.CoreV1().Secrets("kube-system").Delete(t.Context(), token.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	x.ns = "kube-public"
	again := x.beginSession(x.cachedObject("v1/configmaps", "cluster-info"), cached)
	defer again.End()
	sign.Version = live.ResourceVersion
	if got := x.requireOK(again.Perform(t.Context(), []abi.Effect{sign}))[0].Object.Data; string(got) !=
		live.Data["jws-kubeconfig-abcdef"] {
		t.Errorf("with the cached token it is %q", got)
	}
}
