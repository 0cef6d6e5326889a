package parity

import (
	"fmt"
	"maps"
	"os"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/windlass-dev/windlass/test/cluster"
)

// bundle is the config map with which pods verify the API server.
const (
	bundle            = "kube-root-ca.crt"
	bundleFile        = "ca.crt"
	bundleAnnotation  = "kubernetes.io/description"
	bundleDescription = "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the internal service IP or kubernetes.default.svc. " +
		"No other usage is guaranteed across distributions of Kubernetes clusters."
)

// The account that pods run under and the bundle that they trust come back when they are deleted, the bundle also when
// it is changed.
func accountsAndBundles(s *space) {
	accounts, configMaps := s.client.CoreV1().ServiceAccounts(s.name), s.client.CoreV1().ConfigMaps(s.name)
	before, err := accounts.Get(s.ctx, "default", metav1.GetOptions{})
	s.must(err)
	s.must(accounts.Delete(s.ctx, "default", metav1.DeleteOptions{}))
	s.eventually("another account", func() (bool, string) {
		a, err := accounts.Get(s.ctx, "default", metav1.GetOptions{})
		return err == nil && a.UID != before.UID, fmt.Sprint(err)
	})

	ca, err := os.ReadFile(s.cluster.CAFile)
	s.must(err)
	published := func(what string, not types.UID) *corev1.ConfigMap {
		s.Helper()
		var m *corev1.ConfigMap
		s.eventually(what, func() (bool, string) {
			var err error
			m, err = configMaps.Get(s.ctx, bundle, metav1.GetOptions{})
			return err == nil && m.UID != not && maps.Equal(m.Data, map[string]string{bundleFile: string(ca)}) &&
				m.Annotations[bundleAnnotation] == bundleDescription, fmt.Sprint(err, m)
		})
		return m
	}
	m := published("the bundle", "")
	s.must(configMaps.Delete(s.ctx, bundle, metav1.DeleteOptions{}))
	m = published("the bundle after its deletion", m.UID)
	for what, patch := range map[string]string{
		"other data":    `{"data":{"ca.crt":"nonsense"}}`,
		"more data":     `{"data":{"more":"data"}}`,
		"no data":       `{"data":null}`,
		"no annotation": `{"metadata":{"annotations":null}}`,
	} {
		_, err := configMaps.Patch(s.ctx, bundle, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
		s.must(err)
		if after := published("the bundle after it had "+what, ""); after.UID != m.UID {
			s.Errorf("after it had %s the bundle was made anew", what)
		}
	}
}

// In a namespace that is being deleted nothing can be made: controllers notice, and leave it at that.
func endingNamespace(s *space) {
	s.createDeployment(3)
	s.complete(3)
	s.makeSetNamed("other", 2)
	s.awaitSet("other", "two ready pods", allReady(2))
	for _, rs := range s.listSets() {
		// later there can be no event either
		s.happened("ReplicaSet", rs.Name, "SuccessfulCreate", "Created pod: "+rs.Name+"-")
	}

	// nobody finalizes it: it stays on its way out
	s.must(s.client.CoreV1().Namespaces().Delete(s.ctx, s.name, metav1.DeleteOptions{}))
	s.eventually("the namespace is ending", func() (bool, string) {
		n, err := s.client.CoreV1().Namespaces().Get(s.ctx, s.name, metav1.GetOptions{})
		s.must(err)
		return n.Status.Phase == corev1.NamespaceTerminating, string(n.Status.Phase)
	})

	begun := time.Now()
	s.must(s.client.CoreV1().ServiceAccounts(s.name).Delete(s.ctx, "default", metav1.DeleteOptions{}))
	s.must(s.client.CoreV1().ConfigMaps(s.name).Delete(s.ctx, bundle, metav1.DeleteOptions{}))
	s.changeDeployment(setImage("web:2"))
	for _, p := range s.listPods() {
		if metav1.GetControllerOf(&p).Name == "other" {
			s.must(s.pods.Delete(s.ctx, p.Name, metav1.DeleteOptions{}))
		}
	}

	s.awaitSet("other", "no pods", func(rs *appsv1.ReplicaSet) bool { return rs.Status.Replicas == 0 })
	attempts := func() []cluster.Event {
		return s.cluster.Audit(s, cluster.Filter{Verbs: cluster.Writes, Namespace: s.name, Since: begun,
			Codes: []int{403, 404, 409, 422, 500}})
	}

	s.eventually("attempts to make pods", func() (bool, string) {
		for _, e := range attempts() {
			if e.Resource == "pods" {
				return true, ""
			}
		}
		return false, fmt.Sprint(attempts())
	})

	s.eventually("attempts end", func() (bool, string) {
		l := attempts()
		return time.Since(l[len(l)-1].Time) > 3*time.Second, fmt.Sprint(l[len(l)-1])
	})

	l := attempts()
	per := map[string]int{}
	for _, e := range l {
		per[e.User+" "+e.Verb+" "+e.Resource]++
	}

	for what, n := range per {
		if n > 12 {
			s.Errorf("%s was tried %d times", what, n)
		}
	}

	for _, rs := range s.listSets() {
		if len(rs.Status.Conditions) > 0 {
			s.Errorf("set %s has conditions %v: an ending namespace is no failure", rs.Name, rs.Status.Conditions)
		}
	}
}

// makeSetNamed makes a set that the Deployment web doesn't select.
func (s *space) makeSetNamed(name string, replicas int32) {
	s.Helper()
	other := map[string]string{"app": name}
	s.makeSet(replicas, func(rs *appsv1.ReplicaSet) {
		rs.Name, rs.Labels = name, other
		rs.Spec.Selector.MatchLabels = other
		rs.Spec.Template.Labels = other
	})
}
