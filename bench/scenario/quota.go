package scenario

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// admittedPerSecond is how many pods come in a namespace with a quota each second.
const admittedPerSecond = 100

var quota = &Scenario{
	Name: "quota", Named: true, Base: empty,
	Title: titleWithNumbers("%d pods under a quota, created at 100 a second, then deleted at once", 60*admittedPerSecond,
		20*admittedPerSecond),
	Setup: func(ctx context.Context, w *World) error {
		if err := w.namespace(ctx, "quota"); err != nil {
			return err
		}
		many := resource.MustParse("1000000")
		_, err := w.Client.CoreV1().ResourceQuotas("quota").Create(ctx, &corev1.ResourceQuota{
			ObjectMeta: metav1.ObjectMeta{Name: "quota"}, Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{
				corev1.ResourcePods: many, corev1.ResourceRequestsCPU: many, corev1.ResourceConfigMaps: many}}},
			metav1.CreateOptions{})
		if err != nil {
			return err
		}
		return w.awaitUsed(ctx, 0)
	},
	Act: func(ctx context.Context, w *World) error {
		n := w.Size(60, 20) * admittedPerSecond
		w.Events = 2 * n
		tick := time.NewTicker(time.Second / admittedPerSecond)
		defer tick.Stop()
		if err := parallel(ctx, n, 32, func(ctx context.Context, i int) error {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-tick.C:
			}
			_, err := w.Client.CoreV1().Pods("quota").Create(ctx, unscheduled(i), metav1.CreateOptions{})
			return err
		}); err != nil {
			return err
		}
		if err := w.awaitUsed(ctx, n); err != nil {
			return err
		}
		return w.addWallTime(func() error {
			if err := w.Client.CoreV1().Pods("quota").DeleteCollection(ctx, metav1.DeleteOptions{},
				metav1.ListOptions{}); err != nil {
				return err
			}
			return w.awaitUsed(ctx, 0)
		})
	},
}

// unscheduled is a pod that no scheduler cares for: it goes as soon as it is deleted.
func unscheduled(i int) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("pod-", i)}, Spec: minimalPodSpec()}
	p.Spec.SchedulerName = "nobody"
	p.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("10m")}
	return p
}

// awaitUsed waits until the quota knows how many pods there are.
func (w *World) awaitUsed(ctx context.Context, pods int) error {
	return w.pollUntil(ctx, 200*time.Millisecond, fmt.Sprint("the quota knows of ", pods, " pods"), func() (bool, string,
		error) {
		q, err := w.Client.CoreV1().ResourceQuotas("quota").Get(ctx, "quota", metav1.GetOptions{})
		if err != nil {
			return false, "", err
		}
		used, known := q.Status.Used[corev1.ResourcePods]
		cpu := q.Status.Used[corev1.ResourceRequestsCPU]
		return known && used.Value() == int64(pods) && cpu.MilliValue() == int64(10*pods), used.String(), nil
	})
}
