package deploy

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/windlass-dev/windlass/test/cluster"
)

// The static pod works with what kubeadm leaves on a node, and needs no more rights than the bootstrap roles of
// system:kube-controller-manager.
func TestStaticPod(t *testing.T) {
	c := cluster.Start(t, cluster.Options{Nodes: 1})
	_, port := onLoopback(t)
	var pod corev1.Pod
	if err := yaml.UnmarshalStrict([]byte(strings.ReplaceAll(readFile(t, "static-pod.yaml"), "10257", fmt.Sprint(port))),
		&pod); err != nil {
		t.Fatal(err)
	}
	p := runPod(t, c, pod.Namespace, pod.Spec,
		map[string]string{"/etc/kubernetes/controller-manager.conf": c.ManagerKubeconfig, "/etc/kubernetes/pki": c.Dir})
	p.awaitReady(t)
	p.confined(t)
	if _, err := c.Client().CoreV1().Namespaces().Create(t.Context(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "work"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	cluster.Eventually(t, time.Minute, "a namespace to get its service account and the CA", func() (bool, any) {
		_, err := c.Client().CoreV1().ServiceAccounts("work").Get(t.Context(), "default", metav1.GetOptions{})
		if err == nil {
			_, err = c.Client().CoreV1().ConfigMaps("work").Get(t.Context(), "kube-root-ca.crt", metav1.GetOptions{})
		}
		return err == nil, err
	})
	p.stop(t, 20*time.Second)
}
