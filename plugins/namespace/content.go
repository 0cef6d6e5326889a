package namespace

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/sdk"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	"github.com/windlass-dev/windlass/sdk/resource"
)

// finalizing is how many seconds finalizers are thought to take.
const finalizing = 15

// findings is what a sync has found in a namespace.
type findings struct {
	discovery, parsing string   // what is wrong with what the API server says that it serves
	failures           []string // to delete
	errors             []string // all of these
	remaining          []string
	finalizers         []tally
	estimate           int64 // seconds until what remains is worth another look
}

// tally is how many objects have a finalizer.
type tally struct {
	finalizer string
	objects   int
}

// target is a resource whose objects are to be deleted.
type target struct {
	abi.Resource
	id    string // of the resource, as its String gives it
	verbs []string
}

// deleteContent deletes all that is in the namespace: the pods, and when none is left all else, whatever can't be
// deleted of it. Pods that run on must find their policies and secrets.
func deleteContent(c *sdk.Call, ns *corev1.Namespace) *findings {
	f := &findings{}
	for _, t := range f.targets(c) {
		estimate := int64(0)
		if t.id == podsID {
			estimate = remainingGrace(c, ns)
		}
		f.drainResource(c, ns, &t, estimate)
		if t.id == podsID && len(f.remaining)+len(f.failures) > 0 {
			break
		}
	}
	return f
}

// targets are the resources with namespaces that can be deleted, pods first.
func (f *findings) targets(c *sdk.Call) (targets []target) {
	d, err := c.Discover()
	if err == nil && len(d.Resources)+len(d.Failures) == 0 {
		err = sdk.Errors("the API server says that it serves nothing") // upstream's whole manager ends there
	}
	if err != nil {
		f.discovery = err.Error()
		f.errors = append(f.errors, f.discovery)
		return nil
	}

	if len(d.Failures) > 0 {
		groups := make([]string, len(d.Failures))
		for i, g := range d.Failures {
			groups[i] = g.GroupVersion + ": " + g.Message
		}
		slices.Sort(groups)
		text := "unable to retrieve the complete list of server APIs: " + strings.Join(groups, ", ")
		f.discovery = "Discovery failed for some groups, " + strconv.Itoa(len(groups)) + " failing: " + text
		f.errors = append(f.errors, text)
	}

	for i := range d.Resources {
		r := &d.Resources[i]
		if !r.Namespaced || !slices.Contains(r.Verbs, "delete") {
			continue
		}
		id, ok := abi.ParseResource(r.Resource)
		if !ok {
			f.parsing = "unexpected GroupVersion string: " + r.Resource[:max(0, strings.LastIndexByte(r.Resource, '/'))]
			f.errors = append(f.errors, f.parsing)
			return nil // upstream trusts none of them then
		}
		targets = append(targets, target{id, r.Resource, r.Verbs})
		if r.Resource == podsID {
			last := len(targets) - 1
			targets[0], targets[last] = targets[last], targets[0]
		}
	}

	return targets
}

// drainResource deletes what there is of a resource, and takes down how much remains and what keeps it.
func (f *findings) drainResource(c *sdk.Call, ns *corev1.Namespace, t *target, estimate int64) {
	left, listed, err := f.deleteAll(c, t, ns.Name)
	if left.objects > 0 {
		f.remaining = append(f.remaining, t.Name+"."+t.Group+" has "+strconv.Itoa(left.objects)+" resource instances")
		switch {
		case estimate > 0:
		case left.finalizers:
			estimate = finalizing
		default:
			err = sdk.Errors("unexpected items still remain in namespace: ", ns.Name, " for gvr: ", t.Group, "/", t.Version,
				", Resource=", t.Name)
		}
	} else if listed {
		estimate = 0
	}
	if err != nil {
		f.failures = append(f.failures, err.Error())
		f.errors = append(f.errors, err.Error())
	}
	f.estimate = max(f.estimate, estimate)
}

// remains is what is left of a resource's objects.
type remains struct {
	objects    int
	finalizers bool
}

// deleteAll deletes the objects of a resource at once, or where that can't be done one by one, and looks what is left.
func (f *findings) deleteAll(c *sdk.Call, t *target, namespace string) (l remains, listed bool, err error) {
	gone := false
	if slices.Contains(t.verbs, "deletecollection") {
		// In the background, or the garbage collector would have finalizers set that keep objects here.
		err := c.Do(sdk.DeleteCollection(t.id, namespace, sdk.Background))
		if gone = err == nil; !gone && !unsupported(err) {
			return l, false, err
		}
	}

	if !slices.Contains(t.verbs, "list") {
		return l, false, nil
	}
	if !gone {
		if err := deleteEach(c, t.id, namespace); err != nil && !unsupported(err) {
			return l, false, err
		}
	}

	err = forEachItem(c, t.id, namespace, func(o *itemMeta) {
		l.objects++
		for _, finalizer := range o.Finalizers {
			l.finalizers = true
			f.countFinalizer(finalizer)
		}
	})
	if unsupported(err) {
		return l, false, nil
	}

	return l, err == nil, err
}

// countFinalizer takes down that an object has the finalizer.
func (f *findings) countFinalizer(finalizer string) {
	i := slices.IndexFunc(f.finalizers, func(t tally) bool { return t.finalizer == finalizer })
	if i < 0 {
		i = len(f.finalizers)
		f.finalizers = append(f.finalizers, tally{finalizer: finalizer})
	}
	f.finalizers[i].objects++
}

// deletedAtOnce is how many objects are deleted side by side.
const deletedAtOnce = 500

// deleteEach deletes the objects of a resource one by one.
func deleteEach(c *sdk.Call, id, namespace string) error {
	var found []itemMeta
	if err := forEachItem(c, id, namespace, func(o *itemMeta) { found = append(found, *o) }); err != nil {
		return err
	}
	for len(found) > 0 {
		effects := make([]sdk.Effect, min(deletedAtOnce, len(found)))
		for i := range effects {
			o := &resource.Metadata{Resource: id}
			o.Namespace, o.Name, o.UID = namespace, found[i].Name, found[i].UID
			effects[i] = sdk.Delete(o, sdk.Background, sdk.Tolerate(abi.TolerateNotFound))
		}
		if err := c.Do(sdk.Parallel(effects...)); err != nil {
			return err
		}
		found = found[len(effects):]
	}
	return nil
}

// unsupported reports of a failure that the resource has no such verb, whatever was said of it: some answer that there
// is no such thing.
func unsupported(err error) bool {
	return sdk.Failed(err, "MethodNotAllowed") || sdk.Failed(err, sdk.NotFound)
}

// remainingGrace returns how many seconds the namespace's pods may take to end, counted from when the namespace was
// deleted; 0 when that is over.
func remainingGrace(c *sdk.Call, ns *corev1.Namespace) (seconds int64) {
	for _, p := range ending.List(c) {
		if s := p.Spec.TerminationGracePeriodSeconds; s != nil && p.Status.Phase != corev1.PodSucceeded &&
			p.Status.Phase != corev1.PodFailed {
			seconds = max(seconds, *s)
		}
	}
	if c.Now().Sub(*ns.DeletionTimestamp) >= time.Duration(seconds)*time.Second {
		return 0
	}
	return seconds
}
