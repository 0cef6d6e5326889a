package scenario

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"slices"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// requestsToSign is how many certificates are asked for.
const requestsToSign = 1000

var requests = &Scenario{
	Name: "requests", Named: true, Base: empty,
	Title: titleWithNumbers("%d certificate requests approved at once", requestsToSign, requestsToSign),
	Setup: func(ctx context.Context, w *World) error {
		request, err := newRequest()
		if err != nil {
			return err
		}
		return parallel(ctx, requestsToSign, 32, func(ctx context.Context, i int) error {
			_, err := w.Client.CertificatesV1().CertificateSigningRequests().Create(ctx,
				&certificatesv1.CertificateSigningRequest{ObjectMeta: metav1.ObjectMeta{Name: requestName(i)},
					Spec: certificatesv1.CertificateSigningRequestSpec{Request: request,
						SignerName: certificatesv1.KubeAPIServerClientSignerName,
						Usages:     []certificatesv1.KeyUsage{certificatesv1.UsageClientAuth}}}, metav1.CreateOptions{})
			return err
		})
	},
	Act: func(ctx context.Context, w *World) error {
		w.Events = requestsToSign
		return w.addWallTime(func() error {
			if err := parallel(ctx, requestsToSign, 32, w.approve); err != nil {
				return err
			}
			return watchUntil(ctx, w, w.Client.CertificatesV1().RESTClient(), "certificatesigningrequests", "",
				&certificatesv1.CertificateSigningRequest{}, "each request has its certificate",
				func(all []*certificatesv1.CertificateSigningRequest) (bool, string) {
					signed := len(all)
					for _, r := range all {
						if len(r.Status.Certificate) == 0 {
							signed--
						}
					}
					return signed == requestsToSign, fmt.Sprint(signed, " have")
				})
		})
	},
}

func requestName(i int) string { return fmt.Sprint("request-", i) }

// newRequest is a request for a user's certificate, in PEM.
func newRequest() ([]byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{
		Subject: pkix.Name{CommonName: "somebody"}}, key)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}), nil
}

// approve approves one of the requests.
func (w *World) approve(ctx context.Context, i int) error {
	all := w.Client.CertificatesV1().CertificateSigningRequests()
	r, err := all.Get(ctx, requestName(i), metav1.GetOptions{})
	if err != nil {
		return err
	}
	r.Status.Conditions = append(slices.Clone(r.Status.Conditions), certificatesv1.CertificateSigningRequestCondition{
		Type: certificatesv1.CertificateApproved, Status: corev1.ConditionTrue, Reason: "Benchmark"})
	_, err = all.UpdateApproval(ctx, r.Name, r, metav1.UpdateOptions{})
	return err
}
