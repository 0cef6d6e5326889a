package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/clock"
	"sigs.k8s.io/kwok/kustomize/stage/node/fast"
	heartbeat "sigs.k8s.io/kwok/kustomize/stage/node/heartbeat-with-lease"
	podfast "sigs.k8s.io/kwok/kustomize/stage/pod/fast"
	"sigs.k8s.io/kwok/pkg/apis/internalversion"
	"sigs.k8s.io/kwok/pkg/apis/v1alpha1"
	"sigs.k8s.io/kwok/pkg/kwok/controllers"
	"sigs.k8s.io/kwok/pkg/log"
	"sigs.k8s.io/yaml"
)

// maxNodes is how many of podRanges fit into 10.128.0.0/9.
const maxNodes = 2048

// createNodes creates n nodes as kubelets would, each with its own pod ranges of both families, in three zones.
func createNodes(ctx context.Context, client kubernetes.Interface, n int) error {
	if n < 0 || n > maxNodes {
		return fmt.Errorf("--nodes=%d: want 0 to %d", n, maxNodes)
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(16)
	for i := range n {
		group.Go(func() error { return createNode(ctx, client, i) })
	}
	return group.Wait()
}

func createNode(ctx context.Context, client kubernetes.Interface, i int) error {
	node := newNode(i)
	_, err := client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	// Admission taints every new node as not ready. A controller lifts that in a whole cluster, which may never run in
	// this one.
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		live, err := client.CoreV1().Nodes().Get(ctx, node.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if len(live.Spec.Taints) == 0 {
			return nil
		}
		live.Spec.Taints = nil
		_, err = client.CoreV1().Nodes().Update(ctx, live, metav1.UpdateOptions{})
		return err
	})
}

func newNode(i int) *corev1.Node {
	name := fmt.Sprintf("node-%d", i)
	now := metav1.Now()
	capacity := corev1.ResourceList{
		corev1.ResourceCPU:              resource.MustParse("256"),
		corev1.ResourceMemory:           resource.MustParse("1Ti"),
		corev1.ResourcePods:             resource.MustParse("4000"),
		corev1.ResourceEphemeralStorage: resource.MustParse("1Ti"),
	}

	ranges := podRanges(i)
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
			corev1.LabelHostname:       name,
			corev1.LabelTopologyZone:   fmt.Sprintf("zone-%c", 'a'+i%3),
			corev1.LabelTopologyRegion: "region-1",
			corev1.LabelOSStable:       "linux",
			corev1.LabelArchStable:     "amd64",
		}},
		Spec: corev1.NodeSpec{PodCIDR: ranges[0], PodCIDRs: ranges},
		Status: corev1.NodeStatus{
			Capacity:    capacity,
			Allocatable: capacity,
			Phase:       corev1.NodeRunning,
			Addresses: []corev1.NodeAddress{
				{Type: corev1.NodeInternalIP, Address: fmt.Sprintf("172.30.%d.%d", i/250, i%250+1)},
				{Type: corev1.NodeInternalIP, Address: fmt.Sprintf("fd00:172:30::%x", i+1)},
				{Type: corev1.NodeHostName, Address: name},
			},
			Conditions: []corev1.NodeCondition{{
				Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady",
				Message: "a node of devcluster", LastHeartbeatTime: now, LastTransitionTime: now,
			}},
			NodeInfo: corev1.NodeSystemInfo{OperatingSystem: "linux", Architecture: "amd64", KubeletVersion: "v1.37.0"},
		},
	}
}

// podRanges returns node i a range of 4,096 addresses of IPv4 and a /64 of IPv6.
func podRanges(i int) []string {
	v4 := netip.AddrFrom4([4]byte{10, 128 + byte(i>>4), byte(i << 4), 0})
	return []string{netip.PrefixFrom(v4, 20).String(), fmt.Sprintf("fd00:10:128:%x::/64", i)}
}

// startKwok plays the kubelets: pods that are bound to a node become Running and Ready with an address of each family,
// pods of jobs complete, deleted pods go away, and node leases are renewed.
func startKwok(ctx context.Context, config *rest.Config) error {
	// In JSON its list of 100,000 pods would be a gigabyte at once, on both sides.
	config.ContentType, config.AcceptContentTypes = runtime.ContentTypeProtobuf, runtime.ContentTypeProtobuf+","+
		runtime.ContentTypeJSON
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}

	stages, err := kwokStages()
	if err != nil {
		return err
	}

	kwok, err := controllers.NewController(controllers.Config{
		Clock:                     clock.RealClock{},
		TypedClient:               reminding{client},
		RESTClient:                client.RESTClient(),
		ManageAllNodes:            true,
		CIDR:                      "10.127.0.1/16", // for nodes that others create without a pod range
		NodeIP:                    "172.31.0.1",
		LocalStages:               stages,
		PodPlayStageParallelism:   16,
		NodePlayStageParallelism:  4,
		NodeLeaseParallelism:      4,
		NodeLeaseDurationSeconds:  40,
		PodsOnNodeSyncParallelism: 4,
		ID:                        "devcluster",
	})
	if err != nil {
		return err
	}
	if err := awaitNamespace(ctx, client, corev1.NamespaceNodeLease); err != nil {
		return err
	}

	// At its usual level KWOK logs a line for each pod.
	return kwok.Start(log.NewContext(ctx, log.NewLogger(os.Stderr, slog.LevelWarn)))
}

// kwokStages are KWOK's own for quick pods and for nodes with leases.
func kwokStages() (map[internalversion.StageResourceRef][]*internalversion.Stage, error) {
	stages := map[internalversion.StageResourceRef][]*internalversion.Stage{}
	for _, text := range []string{
		fast.DefaultNodeInit, heartbeat.DefaultNodeHeartbeatWithLease,
		podfast.DefaultPodReady, podfast.DefaultPodComplete, podfast.DefaultPodDelete,
	} {
		var external v1alpha1.Stage
		if err := yaml.Unmarshal([]byte(text), &external); err != nil {
			return nil, err
		}
		stage, err := internalversion.ConvertToInternalStage(&external)
		if err != nil {
			return nil, err
		}
		stages[stage.Spec.ResourceRef] = append(stages[stage.Spec.ResourceRef], stage)
	}
	return stages, nil
}

// awaitNamespace waits for a namespace that the API server makes by itself, soon after it is ready.
func awaitNamespace(ctx context.Context, client kubernetes.Interface, name string) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for {
		_, err := client.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{})
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for namespace %s: %w", name, err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}
