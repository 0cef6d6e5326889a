// Package state gives what a namespace holds, without what two runs of the same don't have in common.
package state

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
)

// State is a namespace's workloads, what belongs to them, and endpoints; by kind and name, or kind, owner and number
// where the name was generated.
type State map[string]any

// kind is one of those that a state holds.
type kind struct {
	name string
	list func(context.Context, metav1.ListOptions) (runtime.Object, error)
}

func listedKinds(client kubernetes.Interface, namespace string) []kind {
	return []kind{
		{"Deployment", listFunc(client.AppsV1().Deployments(namespace).List)},
		{"StatefulSet", listFunc(client.AppsV1().StatefulSets(namespace).List)},
		{"DaemonSet", listFunc(client.AppsV1().DaemonSets(namespace).List)},
		{"Job", listFunc(client.BatchV1().Jobs(namespace).List)},
		{"ReplicaSet", listFunc(client.AppsV1().ReplicaSets(namespace).List)},
		{"Pod", listFunc(client.CoreV1().Pods(namespace).List)},
		{"EndpointSlice", listFunc(client.DiscoveryV1().EndpointSlices(namespace).List)},
		{"Endpoints", listFunc(client.CoreV1().Endpoints(namespace).List)},
		{"ControllerRevision", listFunc(client.AppsV1().ControllerRevisions(namespace).List)},
	}
}

// Of reads a namespace.
func Of(ctx context.Context, client kubernetes.Interface, namespace string) (State, error) {
	all := State{}
	for _, k := range listedKinds(client, namespace) {
		if err := all.readKind(ctx, k); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// Differs names one of the objects that are not in a namespace as they are in the state, and is empty if all are. It
// reads no further than to the first kind that differs.
func (s State) Differs(ctx context.Context, client kubernetes.Interface, namespace string) (string, error) {
	for _, k := range listedKinds(client, namespace) {
		now := State{}
		if err := now.readKind(ctx, k); err != nil {
			return "", err
		}
		var differ []string
		for key, o := range now {
			if !reflect.DeepEqual(o, s[key]) {
				differ = append(differ, key)
			}
		}
		for key := range s {
			if _, ok := now[key]; !ok && strings.HasPrefix(key, k.name+" ") {
				differ = append(differ, key)
			}
		}
		if len(differ) > 0 {
			return fmt.Sprintf("%s, %d objects of the kind", slices.Min(differ), len(differ)), nil
		}
	}
	return "", nil
}

func (s State) readKind(ctx context.Context, k kind) error {
	l, err := k.list(ctx, metav1.ListOptions{})
	if err == nil {
		err = s.addList(k.name, l)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", k.name, err)
	}
	return nil
}

func listFunc[L runtime.Object](list func(context.Context, metav1.ListOptions) (L, error)) func(context.Context,
	metav1.ListOptions) (runtime.Object, error) {
	return func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return list(ctx, o) }
}

// addList puts a list's objects into the state. Those of one owner that differ in their generated names alone are put
// in the order of the rest of their contents.
func (s State) addList(kind string, list runtime.Object) error {
	type object struct {
		key, text string
		value     any
	}
	items, err := meta.ExtractList(list)
	if err != nil {
		return err
	}

	var objects []object
	for _, item := range items {
		m, err := meta.Accessor(item)
		if err != nil {
			return err
		}
		o := object{key: kind + " " + m.GetName()}
		if m.GetGenerateName() != "" {
			o.key = kind + " of nobody"
			if owner := metav1.GetControllerOf(m); owner != nil {
				o.key = fmt.Sprintf("%s of %s %s", kind, owner.Kind, owner.Name)
			}
		}
		if o.value, err = plainObject(kind, m); err != nil {
			return err
		}
		b, err := json.Marshal(o.value)
		if err != nil {
			return err
		}
		o.text = string(b)
		objects = append(objects, o)
	}

	slices.SortFunc(objects, func(a, b object) int {
		return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.text, b.text))
	})
	for i, o := range objects {
		n := 0
		for i-n > 0 && objects[i-n-1].key == o.key {
			n++
		}
		s[fmt.Sprintf("%s %d", o.key, n)] = o.value
	}

	return nil
}

// incidental is what two runs of the same don't have in common: identities, times, and what the scheduler and kubelets
// choose.
var incidental = []string{"uid", "resourceVersion", "creationTimestamp", "managedFields", "namespace", "controller-uid",
	"batch.kubernetes.io/controller-uid",
	"startTime", "completionTime", "lastTransitionTime", "lastUpdateTime", "lastProbeTime", "startedAt", "finishedAt",
	"podIP", "podIPs", "hostIP", "hostIPs", "nodeName", "zone", "targetRef",
	"topology.kubernetes.io/zone", "topology.kubernetes.io/region", "endpoints.kubernetes.io/last-change-trigger-time"}

// unordered are the lists whose order is that in which things came to be.
var unordered = []string{"conditions", "endpoints", "addresses", "notReadyAddresses"}

// generated are names of an admission plugin's volumes.
var generated = regexp.MustCompile(`kube-api-access-\w{5}`)

// progressed is a Deployment's condition. Of one that recreates its pods it may go on naming the replica set before:
// where a controller dies between making a set and telling so in the status, nobody finds out later that something was
// to be told, the native controller neither (syncRolloutStatus in pkg/controller/deployment/progress.go: as many
// updated pods as pods is complete).
var progressed = regexp.MustCompile(`^ReplicaSet "[^"]+" has successfully progressed.$`)

// plainObject returns an object without what is incidental, and with a name only where it wasn't generated.
func plainObject(kind string, o metav1.Object) (any, error) {
	b, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	var v map[string]any
	if err := json.Unmarshal(generated.ReplaceAll(b, []byte("kube-api-access")), &v); err != nil {
		return nil, err
	}
	metadata := v["metadata"].(map[string]any)
	if o.GetGenerateName() != "" {
		delete(metadata, "name")
	}
	// Of these the controllers write the spec, in one step or in two.
	if kind == "ReplicaSet" || kind == "EndpointSlice" {
		if status, ok := v["status"].(map[string]any); ok && status["observedGeneration"] == metadata["generation"] {
			status["observedGeneration"] = "current"
		}
		delete(metadata, "generation")
	}
	removeIncidental(v)
	if annotations, ok := metadata["annotations"].(map[string]any); ok && len(annotations) == 0 {
		delete(metadata, "annotations")
	}
	return v, nil
}

func removeIncidental(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, x := range v {
			if slices.Contains(incidental, k) {
				delete(v, k)
				continue
			}
			v[k] = removeIncidental(x)
			if l, ok := x.([]any); ok && slices.Contains(unordered, k) {
				slices.SortFunc(l, func(a, b any) int { return cmp.Compare(jsonText(a), jsonText(b)) })
			}
		}
	case []any:
		for i := range v {
			v[i] = removeIncidental(v[i])
		}
	case string:
		if net.ParseIP(v) != nil {
			return "an IP"
		}
		if progressed.MatchString(v) {
			return "a ReplicaSet has successfully progressed."
		}
	}
	return v
}

// jsonText returns a value as text, to order values by: what came out of JSON goes into it again.
func jsonText(v any) string {
	b, _ := json.Marshal(v)
	return string(b)
}
