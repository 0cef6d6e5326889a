package main

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
)

// kubeletClient is KWOK's client: it hides nodes whose kubelets are dead, and reminds KWOK of pods.
type kubeletClient struct{ kubernetes.Interface }

func (c kubeletClient) CoreV1() corev1client.CoreV1Interface {
	return kubeletCore{c.Interface.CoreV1()}
}

type kubeletCore struct{ corev1client.CoreV1Interface }

func (c kubeletCore) Nodes() corev1client.NodeInterface {
	return livingNodes{c.CoreV1Interface.Nodes()}
}

func (c kubeletCore) Pods(namespace string) corev1client.PodInterface {
	return remindingPods{c.CoreV1Interface.Pods(namespace)}
}

// livingNodes takes a node for deleted while its kubelet is dead. (KWOK's own selector of annotations passes over the
// change with which a node begins to be left out.)
type livingNodes struct{ corev1client.NodeInterface }

func (c livingNodes) List(ctx context.Context, o metav1.ListOptions) (*corev1.NodeList, error) {
	all, err := c.NodeInterface.List(ctx, o)
	if err != nil {
		return nil, err
	}
	all.Items = slices.DeleteFunc(all.Items, func(n corev1.Node) bool { return isDead(&n) })
	return all, nil
}

func (c livingNodes) Watch(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
	w, err := c.NodeInterface.Watch(ctx, o)
	if err != nil {
		return nil, err
	}
	return watch.Filter(w, func(e watch.Event) (watch.Event, bool) {
		if n, ok := e.Object.(*corev1.Node); ok && isDead(n) {
			e.Type = watch.Deleted
		}
		return e, true
	}), nil
}

func isDead(n *corev1.Node) bool {
	_, dead := n.Annotations[deadAnnotation]
	return dead
}
