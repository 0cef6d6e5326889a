package scenario

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// nodes is a cluster of many nodes.
var nodes = &Base{Name: "nodes", Nodes: func(full bool) int { return sizeOfForm(full, 1000, 200) }}

const beatsPerSecond = 2000

var heartbeats = &Scenario{
	Name: "heartbeats", Base: nodes,
	Title: titleWithNumbers("irrelevant updates: %d node heartbeats at 2,000 a second, or what the server takes", 60000,
		4000),
	Act: func(ctx context.Context, w *World) error {
		n, all := w.Size(60000, 4000), nodes.Nodes(w.Full)
		began := time.Now()
		w.Events = n
		return parallel(ctx, n, 32, func(ctx context.Context, i int) error {
			if early := time.Until(began.Add(time.Duration(i) * time.Second / beatsPerSecond)); early > 0 {
				time.Sleep(early)
			}
			// Each beat has a time of its own: the server drops an update that changes nothing.
			body := fmt.Appendf(nil, `{"status":{"conditions":[{"type":"Ready","lastHeartbeatTime":%q}]}}`,
				began.Add(time.Duration(i)*time.Second).UTC().Format(time.RFC3339))
			_, err := w.Client.CoreV1().Nodes().Patch(ctx, fmt.Sprint("node-", i%all), types.StrategicMergePatchType, body,
				metav1.PatchOptions{}, "status")
			return err
		})
	},
}

var daemons = &Scenario{
	Name: "daemonset", Base: nodes, Title: titleWithNumbers("DaemonSet over %d nodes", 1000, 200),
	Setup: func(ctx context.Context, w *World) error { return w.namespace(ctx, "daemonset") },
	Act: func(ctx context.Context, w *World) error {
		labels := map[string]string{"app": "daemonset"}
		want := int32(nodes.Nodes(w.Full))
		if err := w.addWallTime(func() error {
			_, err := w.Client.AppsV1().DaemonSets("daemonset").Create(ctx,
				&appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Name: "daemonset"}, Spec: appsv1.DaemonSetSpec{
					Selector: &metav1.LabelSelector{MatchLabels: labels},
					Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: minimalPodSpec()},
				}}, metav1.CreateOptions{})
			if err != nil {
				return err
			}
			return w.daemons(ctx, func(s *appsv1.DaemonSetStatus) bool { return s.UpdatedNumberScheduled == want })
		}); err != nil {
			return err
		}
		return w.daemons(ctx, func(s *appsv1.DaemonSetStatus) bool { return s.NumberAvailable == want })
	},
}

func (w *World) daemons(ctx context.Context, condition func(*appsv1.DaemonSetStatus) bool) error {
	return watchUntil(ctx, w, w.Client.AppsV1().RESTClient(), "daemonsets", "daemonset", &appsv1.DaemonSet{},
		"the DaemonSet is on all nodes", func(all []*appsv1.DaemonSet) (bool, string) {
			if len(all) == 0 {
				return false, "it isn't there"
			}
			s := &all[0].Status
			return s.ObservedGeneration == all[0].Generation && condition(s), fmt.Sprintf("%+v", s)
		})
}
