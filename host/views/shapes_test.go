package views

import (
	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/schema"
)

// The shapes of real controllers, as their manifests have them.

func all(cs ...abi.Condition) *abi.Condition { return &abi.Condition{All: cs} }
func or(cs ...abi.Condition) abi.Condition   { return abi.Condition{Any: cs} }
func joins(path string, view int32, viewPath string) abi.Condition {
	return abi.Condition{Op: abi.OpJoin, Path: path, View: view, ViewPath: viewPath}
}
func inKeyNamespace() abi.Condition { return joins("metadata.namespace", abi.FromKey, "namespace") }
func selected(view int32) abi.Condition {
	return abi.Condition{Op: abi.OpSelected, View: view, ViewPath: "spec.selector"}
}
func is(path string, values ...string) abi.Condition {
	return abi.Condition{Op: abi.OpIn, Path: path, Values: values}
}

// controlledOr holds for what the view controls, and for orphans that it selects.
func controlledOr(view int32) *abi.Condition {
	return all(inKeyNamespace(), or(joins("controller.uid", view, "metadata.uid"),
		*all(abi.Condition{Op: abi.OpExists, Path: "controller.uid", Not: true}, selected(view))))
}

// ending guards by an object that is being deleted and that a finalizer keeps.
func ending(view int32, finalizer string) *abi.Condition {
	return all(abi.Condition{View: view, Op: abi.OpExists, Path: "metadata.deletionTimestamp"},
		abi.Condition{View: view, Op: abi.OpIn, Path: "metadata.finalizers", Values: []string{finalizer}})
}

var shapes = []abi.Controller{
	{Name: "replicaset", Views: []abi.View{
		{Name: "sets", Resource: replicasets, Fields: []string{"metadata", "spec.selector", "spec.replicas", "status"},
			Quiet: []string{"metadata.annotations"}, QuietOn: []string{abi.QuietOwn}},
		{Name: "pods", Resource: pods,
			Fields: []string{"metadata.labels", "metadata.ownerReferences", "metadata.deletionTimestamp", "spec.nodeName",
				"status.phase", "status.conditions"}, Where: controlledOr(0)},
		{Name: "siblings", Resource: replicasets, Lazy: true, Fields: []string{"metadata.ownerReferences"},
			Where: all(inKeyNamespace(), joins("controller.uid", 0, "controller.uid"))},
	}},
	{Name: "deployment", Views: []abi.View{
		{Name: "deployments", Resource: deployments, Fields: []string{"metadata", "spec"}},
		{Name: "sets", Resource: replicasets, Fields: []string{"metadata", "spec", "status"}, Where: controlledOr(0)},
		{Name: "pods", Resource: pods, Fields: []string{"status.phase"},
			Where: all(inKeyNamespace(), joins("controller.uid", 1, "metadata.uid")),
			Guard: &abi.Condition{Op: abi.OpIn, Path: "spec.strategy.type", Values: []string{"Recreate"}}},
	}},
	{Name: "endpoints", Views: []abi.View{
		{Name: "services", Resource: services, Fields: []string{"metadata.labels", "spec"}},
		{Name: "pods", Resource: pods, Fields: []string{"metadata.labels", "spec.nodeName", "status"},
			Where: all(joins("metadata.namespace", 0, "metadata.namespace"), selected(0)), Batch: 1e9},
		{Name: "endpoints", Resource: endpoints, Fields: []string{"metadata.labels", "subsets"},
			Where:   all(inKeyNamespace(), joins("metadata.name", abi.FromKey, "name")),
			QuietOn: []string{abi.QuietAdd, abi.QuietUpdate}},
	}},
	{Name: "endpointslice", Views: []abi.View{
		{Name: "services", Resource: services, Fields: []string{"metadata.labels", "metadata.annotations", "spec"}},
		{Name: "pods", Resource: pods, Fields: []string{"spec.nodeName", "status"},
			Where: all(inKeyNamespace(), selected(0))},
		{Name: "nodes", Resource: nodesR, Fields: []string{"metadata.labels[app]"},
			Where: all(joins("metadata.name", 1, "spec.nodeName"))},
		{Name: "slices", Resource: slicesR, Fields: []string{"metadata", "addressType"},
			Where:   all(inKeyNamespace(), joins("metadata.labels[kubernetes.io/service-name]", abi.FromKey, "name")),
			QuietOn: []string{abi.QuietOwn}},
	}},
	{Name: "serviceaccount", Views: []abi.View{
		{Name: "namespaces", Resource: namespaces, Fields: []string{"status.phase"}},
		{Name: "accounts", Resource: secrets, Fields: []string{"metadata"},
			Where:   all(joins("metadata.namespace", abi.FromKey, "name"), is("metadata.name", "a", "b")),
			QuietOn: []string{abi.QuietAdd, abi.QuietUpdate}},
	}},
	{Name: "taint-eviction", Views: []abi.View{
		{Name: "nodes", Resource: nodesR, Fields: []string{"spec.taints"}},
		{Name: "pods", Resource: pods, Fields: []string{"metadata.labels", "status.phase"},
			Where: all(joins("spec.nodeName", abi.FromKey, "name")),
			Guard: &abi.Condition{Each: true, Path: "spec.taints", Where: all(is("effect", "NoExecute"), is("key", "k1"))}},
	}},
	{Name: "binder by class", Key: abi.Key{View: 0, Path: "spec.storageClassName"}, Views: []abi.View{
		{Name: "claims", Resource: claims, Fields: []string{"spec"},
			Where: &abi.Condition{Op: abi.OpExists, Path: "spec.volumeName", Not: true}},
		{Name: "volumes", Resource: volumes, Fields: []string{"spec"},
			Where: all(joins("spec.storageClassName", abi.FromKey, "value"))},
		{Name: "users", Resource: pods, Count: 1,
			Where: all(joins("metadata.namespace", 0, "metadata.namespace"),
				joins("spec.volumes.persistentVolumeClaim.claimName", 0, "metadata.name"))},
	}},
	{Name: "claim protection", Views: []abi.View{
		{Name: "claims", Resource: claims, Fields: []string{"metadata"}},
		{Name: "users", Resource: pods, Count: 1,
			Where: all(inKeyNamespace(), joins("spec.volumes.persistentVolumeClaim.claimName", 0, "metadata.name"),
				abi.Condition{Op: abi.OpIn, Path: "status.phase", Values: []string{"Failed"}, Not: true})},
	}},
	{Name: "volumes of nodes", Views: []abi.View{
		{Name: "nodes", Resource: nodesR, Fields: []string{"metadata.labels"}},
		{Name: "pods", Resource: pods, Fields: []string{"spec.volumes"},
			Where: all(joins("spec.nodeName", 0, "metadata.name")), Quiet: []string{"*"}},
		{Name: "claims", Resource: claims, Fields: []string{"spec.volumeName"},
			Where: all(joins("metadata.namespace", 1, "metadata.namespace"),
				joins("metadata.name", 1, "spec.volumes.persistentVolumeClaim.claimName"))},
		{Name: "volumes", Resource: volumes, Fields: []string{"spec"},
			Where: all(joins("metadata.name", 2, "spec.volumeName"))},
	}},
	{Name: "blocking dependents", Views: []abi.View{
		{Name: "sets", Resource: replicasets, Fields: []string{"metadata.finalizers"}},
		{Name: "blocking", Resource: pods, Count: 1,
			Where: &abi.Condition{Each: true, Path: "metadata.ownerReferences",
				Where: all(joins("uid", 0, "metadata.uid"), is("blockOwnerDeletion", "true"))}},
		{Name: "many", Resource: pods, Count: 3, Where: all(joins("owners.uid", 0, "metadata.uid"))},
	}},
	{Name: "garbage", Views: []abi.View{
		{Name: "items", Resource: schema.Any,
			Fields: []string{"metadata.ownerReferences", "metadata.finalizers", "metadata.deletionTimestamp"},
			Where: &abi.Condition{Any: []abi.Condition{{Op: abi.OpExists, Path: "owners.uid"},
				is("metadata.finalizers", "orphan", "foregroundDeletion")}}},
		{Name: "owners", Resource: schema.Any, Where: all(joins("metadata.uid", 0, "owners.uid"))},
		{Name: "blocking", Resource: schema.Any, Count: 1, Guard: ending(0, "foregroundDeletion"),
			Where: &abi.Condition{Each: true, Path: "metadata.ownerReferences",
				Where: all(joins("uid", 0, "metadata.uid"), is("blockOwnerDeletion", "true"))}},
		{Name: "orphans", Resource: schema.Any, Guard: ending(0, "orphan"),
			Where: all(joins("owners.uid", 0, "metadata.uid"))},
		{Name: "dependents", Resource: schema.Any, Count: 1, Guard: ending(1, "foregroundDeletion"),
			Where: all(joins("owners.uid", 0, "metadata.uid"))},
	}},
	{Name: "podgc", Key: abi.Key{Single: true, Period: 20e9}, Views: []abi.View{
		{Name: "terminated", Resource: pods, Fields: []string{"status.phase"}, Where: all(is("status.phase", "Failed")),
			Quiet: []string{"*"}},
		{Name: "nodes", Resource: nodesR, Fields: []string{"metadata.labels"}},
	}},
}
