package simulator

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// chore is what others than the controllers under test do in a cluster: the garbage collector, the namespace
// controller, scheduler and kubelets.
type chore struct {
	what string
	due  time.Time
	do   func() error
}

// others is the name that the cluster's own writers go by.
const others = "cluster"

// delay is how long scheduler and kubelets take.
const delay = time.Second

// pendingChores returns those that there are to do, in the order of the objects that they are about.
func (c *Cluster) pendingChores() (all []chore) {
	objects, kinds := c.everything()
	for i, o := range objects {
		k := kinds[i]
		add := func(what string, due time.Time, do func() error) {
			all = append(all, chore{what + " " + describeObject(o), due, do})
		}
		c.collect(k, o, objects, kinds, add)
		switch k.Resource {
		case pods:
			c.kubelet(k, o, add)
		case namespaces:
			c.emptyNamespace(k, o, objects, kinds, add)
		}
	}
	return all
}

func (c *Cluster) editObject(k *kind, o *Object, subresource string, change func(*Object)) error {
	changed := o.DeepCopy()
	change(changed)
	_, err := c.replace(&write{by: others, verb: "update", kind: k, subresource: subresource, namespace: o.GetNamespace(),
		name: o.GetName()}, o, changed)
	return err
}

func (c *Cluster) deleteObject(k *kind, o *Object, options *metav1.DeleteOptions) error {
	_, _, err := c.removeObject(&write{by: others, verb: "delete", kind: k, namespace: o.GetNamespace(),
		name: o.GetName()}, options)
	return err
}

// collect is the garbage collector's: dependents without an owner go; an owner that is deleted in the foreground waits
// for those that block it, one that leaves orphans lets go of them.
func (c *Cluster) collect(k *kind, o *Object, objects []*Object, kinds []*kind,
	add func(string, time.Time, func() error)) {
	if refs := o.GetOwnerReferences(); len(refs) > 0 && o.GetDeletionTimestamp() == nil {
		lives, waits := false, false
		for _, r := range refs {
			owner, _ := c.findByUID(r.UID)
			switch {
			case owner == nil:
			case owner.GetDeletionTimestamp() != nil && slices.Contains(owner.GetFinalizers(), metav1.FinalizerDeleteDependents):
				waits = true
			default:
				lives = true
			}
		}
		switch {
		case lives:
		case waits && slices.ContainsFunc(objects, func(d *Object) bool { return isOwnedBy(d, o) }):
			add("collect, in the foreground,", c.now, func() error {
				policy := metav1.DeletePropagationForeground
				return c.deleteObject(k, o, &metav1.DeleteOptions{PropagationPolicy: &policy})
			})
		default:
			add("collect", c.now, func() error { return c.deleteObject(k, o, &metav1.DeleteOptions{}) })
		}
	}

	if o.GetDeletionTimestamp() == nil {
		return
	}
	drop := func(finalizer string) func() error {
		return func() error {
			return c.editObject(k, o, "", func(o *Object) {
				o.SetFinalizers(slices.DeleteFunc(o.GetFinalizers(), func(f string) bool { return f == finalizer }))
			})
		}
	}

	switch {
	case slices.Contains(o.GetFinalizers(), metav1.FinalizerDeleteDependents):
		if !slices.ContainsFunc(objects, func(d *Object) bool { return isOwnedBy(d, o) }) {
			add("end the foreground deletion of", c.now, drop(metav1.FinalizerDeleteDependents))
		}
	case slices.Contains(o.GetFinalizers(), metav1.FinalizerOrphanDependents):
		for i, d := range objects {
			if isOwnedBy(d, o) {
				kd := kinds[i]
				add("release what belongs to", c.now, func() error {
					return c.editObject(kd, d, "", func(d *Object) {
						d.SetOwnerReferences(slices.DeleteFunc(d.GetOwnerReferences(),
							func(r metav1.OwnerReference) bool { return r.UID == o.GetUID() }))
					})
				})
				return
			}
		}
		add("end the orphaning deletion of", c.now, drop(metav1.FinalizerOrphanDependents))
	}
}

// isOwnedBy reports whether an object names another one as its owner.
func isOwnedBy(o, by *Object) bool {
	return slices.ContainsFunc(o.GetOwnerReferences(), func(r metav1.OwnerReference) bool { return r.UID == by.GetUID() })
}

// emptyNamespace does what the namespace controller does.
func (c *Cluster) emptyNamespace(k *kind, ns *Object, objects []*Object, kinds []*kind,
	add func(string, time.Time, func() error)) {
	if ns.GetDeletionTimestamp() == nil {
		return
	}
	left := false
	for i, o := range objects {
		if o.GetNamespace() != ns.GetName() {
			continue
		}
		left = true
		if o.GetDeletionTimestamp() == nil {
			add("delete "+describeObject(o)+", in", c.now, func() error {
				return c.deleteObject(kinds[i], o, &metav1.DeleteOptions{})
			})
		}
	}
	if left {
		return
	}

	if f, _, _ := unstructured.NestedSlice(ns.Object, "spec", "finalizers"); len(f) > 0 {
		add("finish", c.now, func() error {
			return c.editObject(k, ns, "finalize", func(o *Object) {
				unstructured.RemoveNestedField(o.Object, "spec", "finalizers")
			})
		})
	}
}

// kubelet schedules and runs pods: they run and are ready after a while, those of a Job end well a while later, and
// terminating ones end.
func (c *Cluster) kubelet(k *kind, pod *Object, add func(string, time.Time, func() error)) {
	if t := pod.GetDeletionTimestamp(); t != nil {
		if grace := pod.GetDeletionGracePeriodSeconds(); grace != nil && *grace > 0 {
			add("end", t.Add(delay-time.Duration(*grace)*time.Second), func() error {
				now := int64(0)
				return c.deleteObject(k, pod, &metav1.DeleteOptions{GracePeriodSeconds: &now})
			})
		}
		return
	}

	phase, _, _ := unstructured.NestedString(pod.Object, "status", "phase")
	switch phase {
	case "Pending", "":
		add("run", pod.GetCreationTimestamp().Add(delay), func() error { return c.startPod(k, pod) })
	case "Running":
		policy, _, _ := unstructured.NestedString(pod.Object, "spec", "restartPolicy")
		owner := metav1.GetControllerOf(pod)
		if policy == "Always" || owner == nil || owner.Kind != "Job" {
			return
		}
		add("complete", pod.GetCreationTimestamp().Add(2*delay), func() error {
			return c.editObject(k, pod, "status", func(o *Object) {
				_ = unstructured.SetNestedField(o.Object, "Succeeded", "status", "phase")
				c.setReady(o, "False", "PodCompleted")
			})
		})
	}
}

func (c *Cluster) startPod(k *kind, pod *Object) error {
	if node, _, _ := unstructured.NestedString(pod.Object, "spec", "nodeName"); node == "" {
		if err := c.editObject(k, pod, "", func(o *Object) {
			_ = unstructured.SetNestedField(o.Object, wantedNode(o), "spec",
				"nodeName")
		}); err != nil {
			return err
		}
		pod = c.getObject(pods, pod.GetNamespace(), pod.GetName())
	}
	return c.editObject(k, pod, "status", func(o *Object) {
		c.uids++
		ip := fmt.Sprintf("10.0.%d.%d", c.uids/250%250, 1+c.uids%250)
		for path, v := range map[string]any{"phase": "Running", "podIP": ip, "podIPs": []any{map[string]any{"ip": ip}},
			"hostIP": "192.0.2.1", "startTime": c.now.Format(time.RFC3339)} {
			_ = unstructured.SetNestedField(o.Object, v, "status", path)
		}
		c.setReady(o, "True", "")
	})
}

// setReady sets the condition Ready of a pod.
func (c *Cluster) setReady(pod *Object, status, reason string) {
	ready := map[string]any{"type": "Ready", "status": status, "lastTransitionTime": c.now.Format(time.RFC3339)}
	if reason != "" {
		ready["reason"] = reason
	}
	_ = unstructured.SetNestedSlice(pod.Object, []any{ready}, "status", "conditions")
}

// wantedNode is the node that a pod's affinity names, as a DaemonSet's does; else the one that there is.
func wantedNode(pod *Object) string {
	terms, _, _ := unstructured.NestedSlice(pod.Object, "spec", "affinity", "nodeAffinity",
		"requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms")
	for _, t := range terms {
		term, _ := t.(map[string]any)
		fields, _ := term["matchFields"].([]any)
		for _, f := range fields {
			field, _ := f.(map[string]any)
			if values, ok := field["values"].([]any); ok && field["key"] == "metadata.name" && len(values) == 1 {
				if n, ok := values[0].(string); ok {
					return n
				}
			}
		}
	}
	return "node"
}
