package clock

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/windlass-dev/windlass/test/cluster"
	"github.com/windlass-dev/windlass/test/windlass"
)

// Requests for certificates and tokens go when their times are over, and not before. A token that nobody has used for a
// year is marked first.
func TestCleaners(t *testing.T) {
	t.Parallel()
	c := cluster.Start(t, cluster.Options{})
	w := &world{T: t, client: c.Client()}
	w.createRequests()
	w.createTokens()

	const day = 24 * time.Hour
	for _, stage := range []struct {
		later time.Duration
		left  string
	}{
		{time.Hour / 2, "approved bootstrap denied pending unused used"},
		{2 * time.Hour, "approved bootstrap pending unused used"},
		{25 * time.Hour, "bootstrap unused used"},
		{49 * time.Hour, "unused used"},
		{368 * day, "unused-marked used"},
		{736 * day, "used"},
	} {
		m := windlass.Start(t, c, windlass.Options{
			Controllers: []string{
				"certificatesigningrequest-cleaner-controller", "podcertificaterequest-cleaner-controller", "token-cleaner-controller",
				"legacy-serviceaccount-token-cleaner-controller",
			},
			Wall: func() time.Time { return time.Now().Add(stage.later) },
		})
		what := fmt.Sprintf("after %v there are %s", stage.later, stage.left)
		cluster.Eventually(t, cluster.Patience, what, func() (bool, string) {
			seen := w.left()
			return seen == stage.left, seen
		})
		m.Stop(t)
		if seen := w.left(); seen != stage.left {
			t.Errorf("after %v there are %s, want %s", stage.later, seen, stage.left)
		}
	}
}

// world is a cluster with what the cleaners look at.
type world struct {
	*testing.T
	client kubernetes.Interface
}

func (w *world) must(_ any, err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// createRequests makes a request that nobody answers, one that is denied, one that is approved and never issued, and
// one of a pod.
func (w *world) createRequests() {
	w.Helper()
	ctx, requests := w.Context(), w.client.CertificatesV1().CertificateSigningRequests()
	for name, answer := range map[string]certificatesv1.RequestConditionType{
		"pending": "", "denied": certificatesv1.CertificateDenied, "approved": certificatesv1.CertificateApproved,
	} {
		r, err := requests.Create(ctx, &certificatesv1.CertificateSigningRequest{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: certificatesv1.CertificateSigningRequestSpec{Request: w.signRequest(), SignerName: "example.com/a",
				Usages: []certificatesv1.KeyUsage{certificatesv1.UsageClientAuth}},
		}, metav1.CreateOptions{})
		w.must(r, err)
		if answer != "" {
			r.Status.Conditions = []certificatesv1.CertificateSigningRequestCondition{
				{Type: answer, Status: corev1.ConditionTrue, Reason: "Test"},
			}
			w.must(requests.UpdateApproval(ctx, name, r, metav1.UpdateOptions{}))
		}
	}

	const stub = "MH8wMwIBADAAMCowBQYDK2VwAyEAO2onvM62pC1io6jQKm8Nc2UyFXcd4kOmOsBIoYtZ2imgADAFBgMrZXADQQA5PaOwaP0FfUjRPNXCBNXg5ZvKn/8DG03PoDMnrDrxPaXebfdTAoUD2fSxzLkssAzKrPwbmSZL0I9pMlbi1YUP"
	request, err := base64.StdEncoding.DecodeString(stub)
	w.must(nil, err)
	w.must(w.client.CertificatesV1().PodCertificateRequests(namespace).Create(ctx, &certificatesv1.PodCertificateRequest{
		ObjectMeta: metav1.ObjectMeta{Name: "pod-request"},
		Spec: certificatesv1.PodCertificateRequestSpec{SignerName: "example.com/a", PodName: "web", PodUID: "pod-uid",
			ServiceAccountName: "default", ServiceAccountUID: "account-uid", NodeName: "node-0", NodeUID: "node-uid",
			MaxExpirationSeconds: new(int32(3600)), StubPKCS10Request: request},
	}, metav1.CreateOptions{}))
}

// signRequest returns a request for a certificate, as PEM.
func (w *world) signRequest() []byte {
	w.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	w.must(nil, err)
	subject := &x509.CertificateRequest{Subject: pkix.Name{CommonName: "somebody"}}
	der, err := x509.CreateCertificateRequest(rand.Reader, subject, key)
	w.must(nil, err)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})
}

// createTokens makes a bootstrap token that is good for two days, and two tokens of a service account, of which a pod
// uses one.
func (w *world) createTokens() {
	w.Helper()
	ctx, core := w.Context(), w.client.CoreV1()
	w.must(core.Secrets("kube-system").Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "bootstrap-token-abcdef"}, Type: corev1.SecretTypeBootstrapToken,
		StringData: map[string]string{"token-id": "abcdef", "token-secret": "0123456789abcdef",
			"expiration": time.Now().Add(48 * time.Hour).Format(time.RFC3339)},
	}, metav1.CreateOptions{}))

	account := "builder"
	w.must(core.ServiceAccounts(namespace).Create(ctx, &corev1.ServiceAccount{
		ObjectMeta: metav1.ObjectMeta{Name: account}, Secrets: []corev1.ObjectReference{{Name: "used"}, {Name: "unused"}},
	}, metav1.CreateOptions{}))
	for _, name := range []string{"used", "unused"} {
		w.must(core.Secrets(namespace).Create(ctx, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{corev1.ServiceAccountNameKey: account}},
			Type:       corev1.SecretTypeServiceAccountToken,
		}, metav1.CreateOptions{}))
	}
	mounted := corev1.Volume{Name: "token", VolumeSource: corev1.VolumeSource{
		Secret: &corev1.SecretVolumeSource{SecretName: "used"},
	}}
	w.must(core.Pods(namespace).Create(ctx, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "build"},
		Spec: corev1.PodSpec{ServiceAccountName: account, Volumes: []corev1.Volume{mounted},
			Containers: []corev1.Container{{Name: "build", Image: "build"}}},
	}, metav1.CreateOptions{}))

	cluster.Eventually(w, cluster.Patience, "the API server has begun to note the use of tokens", func() (bool, string) {
		_, err := core.ConfigMaps("kube-system").Get(ctx, "kube-apiserver-legacy-service-account-token-tracking",
			metav1.GetOptions{})
		return err == nil, fmt.Sprint(err)
	})
}

// left returns the names of what there still is, in their order; a token that is no longer accepted is marked.
func (w *world) left() string {
	w.Helper()
	ctx := w.Context()
	var names []string
	requests, err := w.client.CertificatesV1().CertificateSigningRequests().List(ctx, metav1.ListOptions{})
	w.must(nil, err)
	for _, r := range requests.Items {
		names = append(names, r.Name)
	}
	pods, err := w.client.CertificatesV1().PodCertificateRequests(namespace).List(ctx, metav1.ListOptions{})
	w.must(nil, err)
	for _, r := range pods.Items {
		names = append(names, r.Name)
	}

	secrets, err := w.client.CoreV1().Secrets("").List(ctx, metav1.ListOptions{})
	w.must(nil, err)
	for _, s := range secrets.Items {
		name, _, _ := strings.Cut(s.Name, "-")
		if s.Labels["kubernetes.io/legacy-token-invalid-since"] != "" {
			name += "-marked"
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}
