package views

import (
	"fmt"
	"math/rand/v2"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/windlass-dev/windlass/abi"
)

var (
	pods        = abi.Resource{Version: "v1", Name: "pods"}
	services    = abi.Resource{Version: "v1", Name: "services"}
	endpoints   = abi.Resource{Version: "v1", Name: "endpoints"}
	nodesR      = abi.Resource{Version: "v1", Name: "nodes"}
	namespaces  = abi.Resource{Version: "v1", Name: "namespaces"}
	claims      = abi.Resource{Version: "v1", Name: "persistentvolumeclaims"}
	volumes     = abi.Resource{Version: "v1", Name: "persistentvolumes"}
	secrets     = abi.Resource{Version: "v1", Name: "serviceaccounts"}
	replicasets = abi.Resource{Group: "apps", Version: "v1", Name: "replicasets"}
	deployments = abi.Resource{Group: "apps", Version: "v1", Name: "deployments"}
	slicesR     = abi.Resource{Group: "discovery.k8s.io", Version: "v1", Name: "endpointslices"}
	// a custom resource, with the content of deployments
	webApps = abi.Resource{Group: "example.com", Version: "v1", Name: "webapps"}
)

// Names come from small pools so that joins hit, miss and change sides often.
var (
	nsPool    = []string{"x", "y"}
	namePool  = []string{"a", "b", "c", "d"}
	nodePool  = []string{"n0", "n1", "n2"}
	classPool = []string{"fast", "slow"}
	labelPool = []string{"p", "q"}
)

func pick[T any](r *rand.Rand, from []T) T { return from[r.IntN(len(from))] }

func chance(r *rand.Rand, percent int) bool { return r.IntN(100) < percent }

// optional returns one of the pool or nothing.
func optional(r *rand.Rand, from []string) string {
	if chance(r, 25) {
		return ""
	}
	return pick(r, from)
}

func randomLabels(r *rand.Rand) map[string]string {
	if chance(r, 15) {
		return nil
	}
	m := map[string]string{}
	for _, k := range []string{"app", "tier", "kubernetes.io/service-name"} {
		switch {
		case chance(r, 35):
		case k == "kubernetes.io/service-name":
			m[k] = pick(r, namePool)
		default:
			m[k] = pick(r, labelPool)
		}
	}
	return m
}

func randomSelector(r *rand.Rand) *metav1.LabelSelector {
	if chance(r, 12) {
		return nil
	}
	s := &metav1.LabelSelector{}
	for _, k := range []string{"app", "tier"} {
		if chance(r, 40) {
			if s.MatchLabels == nil {
				s.MatchLabels = map[string]string{}
			}
			s.MatchLabels[k] = pick(r, labelPool)
		}
	}
	if chance(r, 30) {
		e := metav1.LabelSelectorRequirement{Key: pick(r, []string{"app", "tier"})}
		e.Operator = pick(r, []metav1.LabelSelectorOperator{metav1.LabelSelectorOpIn, metav1.LabelSelectorOpNotIn,
			metav1.LabelSelectorOpExists, metav1.LabelSelectorOpDoesNotExist})
		if e.Operator == metav1.LabelSelectorOpIn || e.Operator == metav1.LabelSelectorOpNotIn {
			e.Values = []string{pick(r, labelPool)}
		}
		s.MatchExpressions = append(s.MatchExpressions, e)
	}
	return s
}

// blankObject returns an object of the resource without content.
func blankObject(res abi.Resource) runtime.Object {
	switch res {
	case pods:
		return &corev1.Pod{}
	case services:
		return &corev1.Service{}
	case endpoints:
		return &corev1.Endpoints{}
	case nodesR:
		return &corev1.Node{}
	case namespaces:
		return &corev1.Namespace{}
	case claims:
		return &corev1.PersistentVolumeClaim{}
	case volumes:
		return &corev1.PersistentVolume{}
	case secrets:
		return &corev1.ServiceAccount{}
	case replicasets:
		return &appsv1.ReplicaSet{}
	case deployments, webApps:
		return &appsv1.Deployment{}
	case slicesR:
		return &discoveryv1.EndpointSlice{}
	}
	panic(res)
}

// identify returns a namespace and a name for an object, of the pool that its resource has.
func identify(r *rand.Rand, res abi.Resource) (ns, name string) {
	switch res {
	case nodesR:
		return "", pick(r, nodePool)
	case namespaces:
		return "", pick(r, nsPool)
	case volumes:
		return "", pick(r, namePool)
	}
	return pick(r, nsPool), pick(r, namePool)
}

// mutate changes one or a few things in the object.
func mutate(r *rand.Rand, o runtime.Object, uids []types.UID) {
	m := o.(metav1.Object)
	switch r.IntN(8) {
	case 0, 1:
		m.SetLabels(randomLabels(r))
	case 2, 3: // adopt, orphan
		m.SetOwnerReferences(randomOwners(r, uids))
	case 4:
		if chance(r, 40) { // begin to end, be waited for
			m.SetFinalizers(nil)
			if f := optional(r, []string{"orphan", "foregroundDeletion", "other"}); f != "" {
				m.SetFinalizers([]string{f})
			}
			m.SetDeletionTimestamp(nil)
			if chance(r, 60) {
				m.SetDeletionTimestamp(&metav1.Time{Time: time.Unix(1e9, 0)})
			}
			return
		}
		m.SetAnnotations(map[string]string{"note": fmt.Sprint(r.IntN(3)), "other": fmt.Sprint(r.IntN(3))})
	default:
		mutateSpec(r, o)
	}
}

func randomOwners(r *rand.Rand, uids []types.UID) []metav1.OwnerReference {
	if len(uids) == 0 || chance(r, 30) {
		return nil
	}
	var refs []metav1.OwnerReference
	controlled := false
	for range 1 + r.IntN(2) {
		ref := metav1.OwnerReference{APIVersion: "v1", Kind: "K", Name: pick(r, namePool), UID: pick(r, uids)}
		if yes := chance(r, 70); yes && !controlled {
			controlled = true
			ref.Controller = &yes
		}
		if chance(r, 60) {
			block := chance(r, 60)
			ref.BlockOwnerDeletion = &block
		}
		refs = append(refs, ref)
	}
	return refs
}

func mutateSpec(r *rand.Rand, o runtime.Object) {
	switch o := o.(type) {
	case *corev1.Pod:
		switch r.IntN(4) {
		case 0:
			o.Spec.NodeName = optional(r, nodePool)
		case 1:
			o.Status.Phase = corev1.PodPhase(optional(r, []string{"Pending", "Running", "Failed"}))
		case 2:
			o.Spec.Volumes = nil
			for i := range r.IntN(3) {
				v := corev1.Volume{Name: fmt.Sprint("v", i)}
				if chance(r, 80) {
					v.PersistentVolumeClaim = &corev1.PersistentVolumeClaimVolumeSource{ClaimName: pick(r, namePool)}
				}
				o.Spec.Volumes = append(o.Spec.Volumes, v)
			}
		case 3:
			o.Status.Conditions = nil
			for range r.IntN(3) {
				o.Status.Conditions = append(o.Status.Conditions,
					corev1.PodCondition{Type: corev1.PodConditionType(pick(r, []string{"Ready", "Disk"})),
						Status: corev1.ConditionStatus(pick(r, []string{"True", "False"}))})
			}
		}
	case *corev1.Service:
		if chance(r, 70) {
			s := randomLabels(r)
			delete(s, "kubernetes.io/service-name")
			o.Spec.Selector = s
		} else {
			o.Spec.ClusterIP = optional(r, []string{"None", "10.0.0.1"})
		}
	case *corev1.Endpoints:
		o.Subsets = nil
		for range r.IntN(3) {
			o.Subsets = append(o.Subsets, corev1.EndpointSubset{Addresses: []corev1.EndpointAddress{{IP: pick(r,
				[]string{"1.1.1.1", "2.2.2.2"})}}})
		}
	case *corev1.Node:
		if chance(r, 50) {
			o.Spec.ProviderID = optional(r, []string{"p1", "p2"})
		} else {
			o.Spec.Taints = nil
			for range r.IntN(3) {
				o.Spec.Taints = append(o.Spec.Taints,
					corev1.Taint{Key: pick(r, []string{"k1", "k2"}),
						Effect: corev1.TaintEffect(pick(r, []string{"NoExecute", "NoSchedule"}))})
			}
		}
	case *corev1.Namespace:
		o.Status.Phase = corev1.NamespacePhase(optional(r, []string{"Active", "Terminating"}))
	case *corev1.PersistentVolumeClaim:
		if chance(r, 50) {
			o.Spec.VolumeName = optional(r, namePool)
		} else {
			o.Spec.StorageClassName = nil
			if c := optional(r, classPool); c != "" {
				o.Spec.StorageClassName = &c
			}
		}
	case *corev1.PersistentVolume:
		if chance(r, 50) {
			o.Spec.StorageClassName = optional(r, classPool)
		} else {
			o.Spec.ClaimRef = nil
			if chance(r, 70) {
				o.Spec.ClaimRef = &corev1.ObjectReference{Namespace: pick(r, nsPool), Name: pick(r, namePool)}
			}
		}
	case *appsv1.ReplicaSet:
		if chance(r, 60) {
			o.Spec.Selector = randomSelector(r)
		} else {
			o.Status.Replicas = int32(r.IntN(3))
		}
	case *appsv1.Deployment:
		if chance(r, 50) {
			o.Spec.Selector = randomSelector(r)
		} else {
			o.Spec.Strategy.Type = appsv1.DeploymentStrategyType(optional(r, []string{"Recreate", "RollingUpdate"}))
		}
	case *discoveryv1.EndpointSlice:
		o.AddressType = discoveryv1.AddressType(pick(r, []string{"IPv4", "IPv6"}))
	}
}
