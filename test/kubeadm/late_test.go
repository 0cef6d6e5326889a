package kubeadm

import (
	"fmt"
	"slices"
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/windlass-dev/windlass/config"
	"github.com/windlass-dev/windlass/test/cluster"
	"github.com/windlass-dev/windlass/test/windlass"
)

const signing = "certificatesigningrequest-signing-controller"

// What was approved while there was no key is signed once there is one.
func TestKeysThatComeLate(t *testing.T) {
	c := cluster.Start(t, cluster.Options{})
	keys := false
	m := windlass.Start(t, c, windlass.Options{Controllers: []string{signing}, Configure: func(k *config.Configuration) {
		if !keys {
			k.Signing.KeyPair = config.KeyPair{}
		}
	}})

	all := c.Client().CertificatesV1().CertificateSigningRequests()
	_, request := newRequest(t)
	r, err := all.Create(t.Context(), &certificatesv1.CertificateSigningRequest{ObjectMeta: metav1.ObjectMeta{Name: "early"},
		Spec: certificatesv1.CertificateSigningRequestSpec{Request: request,
			SignerName: certificatesv1.KubeAPIServerClientSignerName,
			Usages:     []certificatesv1.KeyUsage{certificatesv1.UsageClientAuth}}}, metav1.CreateOptions{})
	mustSucceed(t, err)
	r.Status.Conditions = []certificatesv1.CertificateSigningRequestCondition{{Type: certificatesv1.CertificateApproved,
		Status: corev1.ConditionTrue, Reason: "Test"}}
	_, err = all.UpdateApproval(t.Context(), r.Name, r, metav1.UpdateOptions{})
	mustSucceed(t, err)
	cluster.Eventually(t, cluster.Patience, "the request is looked at, new and approved", func() (bool, string) {
		n := m.Counted(t, "windlass_syncs_total", "controller", signing)
		return n >= 2, fmt.Sprint(n)
	})

	keys = true
	m.Reload()
	cluster.Eventually(t, cluster.Patience, "the request is signed", func() (bool, string) {
		r, err := all.Get(t.Context(), "early", metav1.GetOptions{})
		mustSucceed(t, err)
		return len(r.Status.Certificate) > 0, fmt.Sprint(slices.Clone(r.Status.Conditions))
	})
}
