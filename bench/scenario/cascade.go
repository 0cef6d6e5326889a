package scenario

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var cascade = &Scenario{
	Name: "cascade", Base: empty, Title: titleWithNumbers("cascade of %d objects", 10000, 1000),
	// A root has children that have children: as many of these as there are children, about.
	Setup: func(ctx context.Context, w *World) error {
		if err := w.namespace(ctx, "cascade"); err != nil {
			return err
		}
		root, err := w.createChild(ctx, "root", nil)
		if err != nil {
			return err
		}
		children, grandchildren := w.Size(100, 20), w.Size(99, 49)
		return parallel(ctx, children, 32, func(ctx context.Context, i int) error {
			c, err := w.createChild(ctx, fmt.Sprint("child-", i), root)
			for j := 0; j < grandchildren && err == nil; j++ {
				_, err = w.createChild(ctx, fmt.Sprintf("child-%d-%d", i, j), c)
			}
			return err
		})
	},
	Act: func(ctx context.Context, w *World) error {
		w.Events = w.Size(10000, 1000)
		return w.addWallTime(func() error {
			background := metav1.DeletePropagationBackground
			if err := w.Client.CoreV1().ConfigMaps("cascade").Delete(ctx, "root",
				metav1.DeleteOptions{PropagationPolicy: &background}); err != nil {
				return err
			}
			return w.pollUntil(ctx, 50*time.Millisecond, "all objects are gone", func() (bool, string, error) {
				l, err := w.Client.CoreV1().ConfigMaps("cascade").List(ctx, metav1.ListOptions{Limit: 1, LabelSelector: "family"})
				return err == nil && len(l.Items) == 0, fmt.Sprint(l), err
			})
		})
	},
}

func (w *World) createChild(ctx context.Context, name string, owner *corev1.ConfigMap) (*corev1.ConfigMap, error) {
	o := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"family": ""}}}
	if owner != nil {
		o.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID}}
	}
	return w.Client.CoreV1().ConfigMaps("cascade").Create(ctx, o, metav1.CreateOptions{})
}
