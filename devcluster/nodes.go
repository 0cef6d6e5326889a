package main

import (
	"context"
	"encoding/binary"
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

const (
	// manyNodes is how many nodes can have ranges of 4,096 addresses each; of more nodes each has 1,024.
	manyNodes = 2048
	// maxNodes is how many of podRanges fit into 10.128.0.0/9.
	maxNodes = 8192
)

// deadAnnotation on a node, whatever its value, has its kubelet be dead: its Lease isn't renewed, its status isn't
// either, and nothing happens to its pods, until the annotation is taken away.
const deadAnnotation = "devcluster.windlass.dev/dead"

// createNodes creates nodes as kubelets would, in three zones, and does for them what controllers do in a whole
// cluster, as far as it isn't left to these.
func createNodes(ctx context.Context, client kubernetes.Interface, o clusterOptions) error {
	if o.nodes < 0 || o.nodes > maxNodes {
		return fmt.Errorf("--nodes=%d: want 0 to %d", o.nodes, maxNodes)
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(16)
	for i := range o.nodes {
		group.Go(func() error { return createNode(ctx, client, i, o) })
	}
	return group.Wait()
}

func createNode(ctx context.Context, client kubernetes.Interface, i int, o clusterOptions) error {
	node := newNode(i)
	if o.podRanges {
		node.Spec.PodCIDRs = podRanges(i, o.nodes)
		node.Spec.PodCIDR = node.Spec.PodCIDRs[0]
	}
	_, err := client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	if !o.liftTaints {
		return nil
	}

	// Admission taints every new node as not ready.
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

	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
			corev1.LabelHostname:       name,
			corev1.LabelTopologyZone:   fmt.Sprintf("zone-%c", 'a'+i%3),
			corev1.LabelTopologyRegion: "region-1",
			corev1.LabelOSStable:       "linux",
			corev1.LabelArchStable:     "amd64",
		}},
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

// podRanges returns the ranges of node i of so many: 4,096 or 1,024 addresses of IPv4, and a /64 of IPv6.
func podRanges(i, nodes int) []string {
	bits := 12
	if nodes > manyNodes {
		bits = 10
	}
	at := uint32(10<<24|128<<16) + uint32(i)<<bits
	v4 := netip.AddrFrom4([4]byte(binary.BigEndian.AppendUint32(nil, at)))
	return []string{netip.PrefixFrom(v4, 32-bits).String(), fmt.Sprintf("fd00:10:128:%x::/64", i)}
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
		TypedClient:               kubeletClient{client},
		RESTClient:                client.RESTClient(),
		ManageAllNodes:            true,            // but those that kubeletClient hides
		CIDR:                      "10.127.0.1/16", // for nodes that have no pod range
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
