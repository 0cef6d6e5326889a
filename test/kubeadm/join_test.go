package kubeadm

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	certutil "k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/certificate/csr"
	"k8s.io/client-go/util/keyutil"
	bootstrapapi "k8s.io/cluster-bootstrap/token/api"
	bootstraputil "k8s.io/cluster-bootstrap/token/util"

	"github.com/windlass-dev/windlass/test/cluster"
	"github.com/windlass-dev/windlass/test/windlass"
)

// The bootstrap token that the node is given.
const (
	tokenID     = "join01"
	tokenSecret = "0123456789abcdef"
	nodeUser    = "system:node:worker"
)

// A node joins as kubeadm has it do, with Windlass as the only controller manager: it trusts the cluster by its
// bootstrap token, has its certificate approved and signed, and is the node with it; it renews that, and has another
// one for what it serves.
func TestNodeJoins(t *testing.T) {
	c := cluster.Start(t, cluster.Options{})
	initialize(t, c)
	windlass.Start(t, c, windlass.Options{Controllers: []string{"bootstrapsigner", "tokencleaner", "csrapproving", "csrsigning"}})

	trusted := discover(t, c)
	bootstrap := kubernetes.NewForConfigOrDie(&rest.Config{Host: trusted.Host, TLSClientConfig: trusted.TLSClientConfig,
		BearerToken: bootstraputil.TokenFromIDAndSecret(tokenID, tokenSecret)})
	node := kubeletClient(t, trusted, bootstrap)
	expectNode(t, node)
	expectNode(t, kubeletClient(t, trusted, node)) // its next one

	serving := awaitServing(t, c.Client(), node)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(trusted.CAData)
	if _, err := serving.Verify(x509.VerifyOptions{Roots: roots, DNSName: "worker.example.com",
		KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}); err != nil {
		t.Errorf("what the kubelet serves with isn't trusted: %v", err)
	}
	expectNoCores(t)
}

// expectNoCores reads what the kernel would put into a core file of this process, in which the manager has signed.
func expectNoCores(t *testing.T) {
	t.Helper()
	if runtime.GOOS != "linux" {
		return // only Linux can leave a process's memory out of them
	}
	if kinds, err := os.ReadFile("/proc/self/coredump_filter"); err != nil || strings.Trim(string(kinds), "0\n") != "" {
		t.Errorf("a core file would have memory of the kinds %q of a process that signs, %v", kinds, err)
	}
}

// initialize does what kubeadm init leaves to a cluster for joining (cmd/kubeadm/app/phases/bootstraptoken): the
// information that anybody may read, a token, and who may have what approved.
func initialize(t *testing.T, c *cluster.Cluster) {
	t.Helper()
	ctx, client := t.Context(), c.Client()
	ca, err := os.ReadFile(c.CAFile)
	mustSucceed(t, err)
	info := clientcmdapi.NewConfig()
	info.Clusters[""] = &clientcmdapi.Cluster{Server: c.RESTConfig().Host, CertificateAuthorityData: ca}
	text, err := clientcmd.Write(*info)
	mustSucceed(t, err)

	_, err = client.CoreV1().ConfigMaps(metav1.NamespacePublic).Create(ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: bootstrapapi.ConfigMapClusterInfo},
		Data:       map[string]string{bootstrapapi.KubeConfigKey: string(text)}}, metav1.CreateOptions{})
	mustSucceed(t, err)
	_, err = client.RbacV1().Roles(metav1.NamespacePublic).Create(ctx, &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Name: "kubeadm:bootstrap-signer-clusterinfo"},
		Rules: []rbacv1.PolicyRule{{Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{"configmaps"},
			ResourceNames: []string{bootstrapapi.ConfigMapClusterInfo}}}}, metav1.CreateOptions{})
	mustSucceed(t, err)
	_, err = client.RbacV1().RoleBindings(metav1.NamespacePublic).Create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "kubeadm:bootstrap-signer-clusterinfo"},
		RoleRef:    rbacv1.RoleRef{Kind: "Role", Name: "kubeadm:bootstrap-signer-clusterinfo"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.UserKind, Name: "system:anonymous"}}}, metav1.CreateOptions{})
	mustSucceed(t, err)

	const joining = "system:bootstrappers:kubeadm:default-node-token"
	for role, group := range map[string]string{
		"system:node-bootstrapper": joining,
		"system:certificates.k8s.io:certificatesigningrequests:nodeclient":     joining,
		"system:certificates.k8s.io:certificatesigningrequests:selfnodeclient": "system:nodes",
	} {
		_, err := client.RbacV1().ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{GenerateName: "kubeadm-"}, RoleRef: rbacv1.RoleRef{Kind: "ClusterRole", Name: role},
			Subjects: []rbacv1.Subject{{Kind: rbacv1.GroupKind, Name: group}}}, metav1.CreateOptions{})
		mustSucceed(t, err)
	}
	_, err = client.CoreV1().Secrets(metav1.NamespaceSystem).Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: bootstraputil.BootstrapTokenSecretName(tokenID)},
		Type:       bootstrapapi.SecretTypeBootstrapToken,
		StringData: map[string]string{bootstrapapi.BootstrapTokenIDKey: tokenID,
			bootstrapapi.BootstrapTokenSecretKey:           tokenSecret,
			bootstrapapi.BootstrapTokenExpirationKey:       time.Now().Add(time.Hour).UTC().Format(time.RFC3339),
			bootstrapapi.BootstrapTokenUsageSigningKey:     "true",
			bootstrapapi.BootstrapTokenUsageAuthentication: "true",
			bootstrapapi.BootstrapTokenExtraGroupsKey:      joining}}, metav1.CreateOptions{})
	mustSucceed(t, err)
}

// discover finds the cluster as one who knows nothing of it but its address, a token and the hash of its authority's
// key: with kubeadm's own code, which trusts what anybody may read once the token vouches for it.
func discover(t *testing.T, c *cluster.Cluster) *rest.Config {
	t.Helper()
	ca, err := certutil.CertsFromFile(c.CAFile)
	mustSucceed(t, err)
	address, err := url.Parse(c.RESTConfig().Host)
	mustSucceed(t, err)
	kubeadm := exec.CommandContext(t.Context(), cluster.Binary(), "kubeadm-discovery", "--server", address.Host,
		"--token", tokenID+"."+tokenSecret,
		"--ca-hash", fmt.Sprintf("sha256:%x", sha256.Sum256(ca[0].RawSubjectPublicKeyInfo)),
		"--timeout", cluster.Patience.String())
	var said bytes.Buffer
	kubeadm.Stderr = &said
	text, err := kubeadm.Output()
	if err != nil {
		t.Fatalf("kubeadm doesn't trust the cluster: %v\n%s", err, &said)
	}
	config, err := clientcmd.RESTConfigFromKubeConfig(text)
	mustSucceed(t, err)
	return config
}

// kubeletClient has a client certificate of the node's made, and returns who has that.
func kubeletClient(t *testing.T, trusted *rest.Config, as kubernetes.Interface) kubernetes.Interface {
	t.Helper()
	key, request := newRequest(t)
	private, err := keyutil.MarshalPrivateKeyToPEM(key)
	mustSucceed(t, err)
	name, uid, err := csr.RequestCertificateWithContext(t.Context(), as, request, "",
		certificatesv1.KubeAPIServerClientKubeletSignerName, nil,
		[]certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageClientAuth}, key)
	mustSucceed(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), cluster.Patience)
	defer cancel()
	signed, err := csr.WaitForCertificate(ctx, as, name, uid)
	mustSucceed(t, err)

	config := rest.AnonymousClientConfig(trusted)
	config.CertData, config.KeyData = signed, private
	return kubernetes.NewForConfigOrDie(config)
}

func newRequest(t *testing.T, names ...string) (crypto.Signer, []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	mustSucceed(t, err)
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{DNSNames: names,
		Subject: pkix.Name{CommonName: nodeUser, Organization: []string{"system:nodes"}}}, key)
	mustSucceed(t, err)
	return key, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})
}

// expectNode checks that the API server takes who asks for the node.
func expectNode(t *testing.T, node kubernetes.Interface) {
	t.Helper()
	review, err := node.AuthenticationV1().SelfSubjectReviews().Create(t.Context(), &authenticationv1.SelfSubjectReview{},
		metav1.CreateOptions{})
	mustSucceed(t, err)
	if u := review.Status.UserInfo; u.Username != nodeUser || !slices.Contains(u.Groups, "system:nodes") {
		t.Errorf("the API server takes the node for %+v", u)
	}
	_, err = node.CoreV1().Nodes().Create(t.Context(),
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{GenerateName: "worker-"}},
		metav1.CreateOptions{})
	mustSucceed(t, err)
}

// awaitServing has a certificate made for what the node serves, which an administrator approves.
func awaitServing(t *testing.T, admin, node kubernetes.Interface) *x509.Certificate {
	t.Helper()
	key, request := newRequest(t, "worker.example.com")
	name, uid, err := csr.RequestCertificateWithContext(t.Context(), node, request, "",
		certificatesv1.KubeletServingSignerName, nil,
		[]certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageServerAuth}, key)
	mustSucceed(t, err)
	requests := admin.CertificatesV1().CertificateSigningRequests()
	r, err := requests.Get(t.Context(), name, metav1.GetOptions{})
	mustSucceed(t, err)
	r.Status.Conditions = append(r.Status.Conditions, certificatesv1.CertificateSigningRequestCondition{
		Type: certificatesv1.CertificateApproved, Status: corev1.ConditionTrue, Reason: "Test"})
	_, err = requests.UpdateApproval(t.Context(), name, r, metav1.UpdateOptions{})
	mustSucceed(t, err)

	ctx, cancel := context.WithTimeout(t.Context(), cluster.Patience)
	defer cancel()
	signed, err := csr.WaitForCertificate(ctx, node, name, uid)
	mustSucceed(t, err)
	block, rest := pem.Decode(signed)
	if block == nil || len(bytes.TrimSpace(rest)) > 0 {
		t.Fatalf("not one certificate: %s", signed)
	}
	certificate, err := x509.ParseCertificate(block.Bytes)
	mustSucceed(t, err)
	return certificate
}
