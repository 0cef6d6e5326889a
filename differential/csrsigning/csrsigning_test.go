package csrsigning

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"
	_ "unsafe" // for go:linkname

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/kubernetes/pkg/controller/certificates"
	upstream "k8s.io/kubernetes/pkg/controller/certificates/signer"

	"github.com/windlass-dev/windlass/config"
	"github.com/windlass-dev/windlass/differential"
	"github.com/windlass-dev/windlass/differential/native"
	"github.com/windlass-dev/windlass/differential/world"
	"github.com/windlass-dev/windlass/host/signing"
	"github.com/windlass-dev/windlass/host/signing/keyring"
	"github.com/windlass-dev/windlass/plugins/csrsigning"
)

//go:linkname process k8s.io/kubernetes/pkg/controller/certificates.(*CertificateController).processNextWorkItem
func process(*certificates.CertificateController, context.Context) bool

var requests = certificatesv1.SchemeGroupVersion.WithResource("certificatesigningrequests")

// TestMain has all certificates get the same serial number: with an RSA authority's signature, which has nothing random
// in it, what upstream's controller signs and what ours does are the same bytes.
func TestMain(m *testing.M) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	private = key
	rand.Reader = constant{}
	os.Exit(m.Run())
}

var private *rsa.PrivateKey

type constant struct{}

func (constant) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = 7
	}
	return len(b), nil
}

func TestAsUpstream(t *testing.T) {
	for _, signer := range signing.Signers() {
		t.Run(filepath.Base(signer), func(t *testing.T) { differential.Run(t, subject(t, signer)) })
	}
}

func TestWakesAsUpstream(t *testing.T) {
	differential.Wakes(t, subject(t, certificatesv1.KubeAPIServerClientSignerName))
}

// subject is one of the four signers: upstream has a controller for each, ours is one.
func subject(t *testing.T, signer string) *differential.Subject {
	t.Helper()
	pair, keys := authorityOf(t, signer)

	return &differential.Subject{
		Controller: "certificatesigningrequest-signing-controller",
		Plugin:     csrsigning.Plugin,
		Signer:     keys,
		Share:      4,
		Native: func(e *native.Env) (*native.Made, error) {
			s, err := upstream.NewCSRSigningController(e.Context, "csrsigning", signer, e.Client,
				e.Informers.Certificates().V1().CertificateSigningRequests(), pair.CertFile, pair.KeyFile, longest)
			if err != nil {
				return nil, err
			}
			parts := reflect.ValueOf(s).Elem()
			endReloading(parts.FieldByName("dynamicCertReloader"))
			c := (*certificates.CertificateController)(parts.FieldByName("certificateController").UnsafePointer())
			return &native.Made{Controller: c, Process: func(ctx context.Context) bool { return process(c, ctx) }}, nil
		},
		World: func(r *world.Rand) (all []runtime.Object) {
			for i := range 1 + r.IntN(4) {
				all = append(all, request(r, signer, i))
			}
			return all
		},
		Deeds: []differential.Deed{
			differential.Appear(func(r *world.Rand) runtime.Object { return request(r, signer, r.IntN(8)) }),
			differential.Vary(requests, "what becomes of it", func(r *world.Rand, o *certificatesv1.CertificateSigningRequest) {
				decide(r, o)
			}),
			differential.Vary(requests, "other labels", func(r *world.Rand, o *certificatesv1.CertificateSigningRequest) {
				o.Labels = r.Labels("web")
			}),
			differential.Delete(requests),
			differential.Vanish(requests),
		},
		Faults: []string{"update certificatesigningrequests"},
	}
}

// endReloading ends the queue of what reads the files anew, which the controller would run.
func endReloading(reloader reflect.Value) {
	native.Exposed(reloader.Elem().Elem().FieldByName("queue")).(interface{ ShutDown() }).ShutDown()
}

const longest = 30 * 24 * time.Hour

// authorityOf writes the files of an authority for one of the signers, and reads them as the manager does. Time in a
// world isn't the system's: the authority is good before and after.
func authorityOf(t *testing.T, signer string) (config.KeyPair, *keyring.Keyring) {
	t.Helper()
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "kubernetes"}, IsCA: true,
		BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign, NotBefore: time.Date(1990, 1, 1, 0, 0, 0, 0, time.UTC),
		NotAfter: time.Date(2090, 1, 1, 0, 0, 0, 0, time.UTC)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	pair := config.KeyPair{CertFile: filepath.Join(folder, "ca.crt"), KeyFile: filepath.Join(folder, "ca.key")}
	for file, block := range map[string]*pem.Block{
		pair.CertFile: {Type: "CERTIFICATE", Bytes: der},
		pair.KeyFile:  {Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(private)},
	} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	c := config.Default()
	c.Signing.Duration.Duration = longest
	switch signer {
	case certificatesv1.KubeletServingSignerName:
		c.Signing.KubeletServing = pair
	case certificatesv1.KubeAPIServerClientKubeletSignerName:
		c.Signing.KubeletClient = pair
	case certificatesv1.KubeAPIServerClientSignerName:
		c.Signing.KubeAPIServerClient = pair
	default:
		c.Signing.LegacyUnknown = pair
	}
	keys := &keyring.Keyring{}
	if err := keys.Configure(c); err != nil {
		t.Fatal(err)
	}
	return pair, keys
}

var key = ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))

// request is one that the signer signs, or one that differs from that in something.
func request(r *world.Rand, signer string, i int) *certificatesv1.CertificateSigningRequest {
	o := &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("request-%d", i), UID: r.UID(), CreationTimestamp: r.Ago(3000)},
		Spec: certificatesv1.CertificateSigningRequestSpec{Request: asked(r, signer), SignerName: signer,
			Username: "system:node:n1", Usages: usages(r, signer)},
	}
	if r.One(10) {
		o.Spec.SignerName = world.Of(r, append(signing.Signers(), "example.com/a")...)
	}
	if r.One(3) {
		o.Spec.ExpirationSeconds = world.Ptr(world.Of[int32](r, 600, 3600, 8*3600-1, 8*3600, 30*24*3600, 1<<31-1))
	}
	decide(r, o)
	return o
}

// usages are those that the signer wants, most often.
func usages(r *world.Rand, signer string) []certificatesv1.KeyUsage {
	all := []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageClientAuth}
	if signer == certificatesv1.KubeletServingSignerName {
		all[1] = certificatesv1.UsageServerAuth
	}
	if r.One(2) {
		all = append(all, certificatesv1.UsageKeyEncipherment)
	}
	switch r.IntN(10) {
	case 0:
		all = append(all, world.Of(r, certificatesv1.UsageServerAuth, certificatesv1.UsageClientAuth,
			certificatesv1.UsageCertSign, certificatesv1.UsageAny, certificatesv1.UsageSigning))
	case 1:
		all = all[1:]
	case 2:
		all[0], all[1] = all[1], all[0]
	}
	return all
}

// asked is what is to be signed.
func asked(r *world.Rand, signer string) []byte {
	if r.One(30) {
		return world.Of(r, []byte("garbage"), []byte("-----BEGIN CERTIFICATE REQUEST-----\nMAA=\n-----END CERTIFICATE REQUEST-----\n"))
	}
	t := &x509.CertificateRequest{Subject: pkix.Name{CommonName: world.Of(r, "system:node:n1", "system:node:n1",
		"system:node:n1", "system:node:", "mike"), Organization: []string{"system:nodes"}}}
	if signer == certificatesv1.KubeletServingSignerName && !r.One(10) {
		t.DNSNames = []string{"n1"}
	}

	switch r.IntN(20) {
	case 0:
		t.Subject.Organization = world.Of(r, nil, []string{"system:masters"}, []string{"system:nodes", "more"},
			[]string{"system:nodes", "system:nodes"})
	case 1:
		t.DNSNames = append(t.DNSNames, "n2")
	case 2:
		t.EmailAddresses = []string{"n1@example.com"}
	case 3:
		t.IPAddresses = []net.IP{net.IPv4(10, 0, 0, 1)}
	case 4:
		t.URIs = []*url.URL{{Scheme: "spiffe", Host: "example.com"}}
	case 5:
		t.ExtraExtensions = []pkix.Extension{{Id: []int{2, 5, 29, 19}, Critical: true, Value: []byte{0x30, 3, 1, 1, 0xff}}}
	}
	der, err := x509.CreateCertificateRequest(nil, t, key)
	if err != nil {
		panic(err)
	}
	if r.One(30) {
		der[len(der)-1] ^= 1 // it isn't signed with its key
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})
}

// decide has somebody decide about a request: most often it is approved.
func decide(r *world.Rand, o *certificatesv1.CertificateSigningRequest) {
	o.Status = certificatesv1.CertificateSigningRequestStatus{}
	add := func(t certificatesv1.RequestConditionType, status corev1.ConditionStatus) {
		o.Status.Conditions = append(o.Status.Conditions, certificatesv1.CertificateSigningRequestCondition{Type: t,
			Status: status, Reason: "Test", LastUpdateTime: r.Ago(100), LastTransitionTime: r.Ago(100)})
	}
	if !r.One(5) {
		add(certificatesv1.CertificateApproved, corev1.ConditionTrue)
	}
	if r.One(8) {
		add(certificatesv1.CertificateFailed, world.Of(r, corev1.ConditionTrue, corev1.ConditionFalse, ""))
	}
	if r.One(12) {
		add(certificatesv1.CertificateDenied, corev1.ConditionTrue)
	}
	if r.One(10) {
		o.Status.Certificate = []byte("-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n")
	}
}
