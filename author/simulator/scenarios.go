package simulator

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/windlass-dev/windlass/abi"
)

// disturbCluster does to the cluster, once it has settled for the first time, what the scenario is about.
func (r *run) disturbCluster() error {
	switch r.scenario.Kind {
	case Labelled:
		return r.labelAll()
	case Bystanding:
		return r.standBy()
	case Held:
		return r.holdOne()
	case Zeroed:
		return r.zeroSpecs()
	}
	return nil
}

// checkForeign looks at what has become of it when all deeds are done.
func (r *run) checkForeign() {
	objects, kinds := r.cluster.everything()
	for i, o := range objects {
		if r.marks[o.GetUID()] && (o.GetLabels()[foreign] == "" || o.GetAnnotations()[foreign] == "") {
			r.found(Finding{Check: Foreign, At: r.lastWriteOn(o, kinds[i]),
				Message: fmt.Sprintf("a label or an annotation that somebody else has put on %s is gone: change only those of your own, keep the rest", describeObject(o))})
		}
		if was := r.stands[o.GetUID()]; was != nil && was["owner"] == nil {
			if now := essence(o); !reflect.DeepEqual(now, was) {
				r.found(Finding{Check: Bystander, At: r.lastWriteOn(o, kinds[i]),
					Message: fmt.Sprintf("%s, which belongs to somebody else and has the same labels, was changed or is being deleted: look at the controlling owner, not at the labels alone", describeObject(o))})
			}
		}
	}
	for uid, was := range r.stands {
		if o, _ := r.cluster.findByUID(uid); o == nil && was["owner"] == nil {
			r.found(Finding{Check: Bystander,
				Message: fmt.Sprintf("%v, which belonged to somebody else and had the same labels, was deleted: look at the controlling owner, not at the labels alone", was["title"])})
		}
	}
	r.generations()
}

// lastWriteOn returns the last step in which a controller under test wrote an object.
func (r *run) lastWriteOn(o *Object, k *kind) string {
	for _, step := range slices.Backward(r.log) {
		if strings.HasPrefix(step, "sync ") && strings.Contains(step, k.Resource.String()) &&
			strings.Contains(step, " "+strings.TrimPrefix(objectKey(o), "/")) && strings.Contains(step, "; ") {
			return step
		}
	}
	return ""
}

// labelAll has somebody else put a label and an annotation on all that there is of the keys' objects and of what was
// made.
func (r *run) labelAll() error {
	objects, kinds := r.cluster.everything()
	keys, _ := r.keyObjects()
	r.logStep("somebody else labels and annotates all objects")
	for i, o := range objects {
		_, ours := r.made[o.GetUID()]
		if !ours && !slices.Contains(keys, o) || o.GetDeletionTimestamp() != nil {
			continue
		}
		r.marks[o.GetUID()] = true
		if err := r.cluster.editObject(kinds[i], o, "", func(o *Object) {
			annotate(o, foreign, "yes")
			labels := o.GetLabels()
			if labels == nil {
				labels = map[string]string{}
			}
			labels[foreign] = "yes"
			o.SetLabels(labels)
		}); err != nil {
			return err
		}
	}
	return nil
}

// essence is what others than its owner mustn't change of an object.
func essence(o *Object) map[string]any {
	m := map[string]any{"title": describeObject(o), "labels": o.GetLabels(), "annotations": o.GetAnnotations(),
		"deleting": o.GetDeletionTimestamp() != nil, "finalizers": o.GetFinalizers()}
	m["owners"] = marshalText(o.GetOwnerReferences())
	maps.Copy(m, generationBody(o))
	if o.GetKind() == "Pod" {
		delete(m, "spec") // the scheduler's
	}
	return m
}

// standBy puts objects of another owner beside those that were made, with the same labels.
func (r *run) standBy() error {
	owner := &Object{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap"}}
	owner.SetNamespace("somebody-else")
	owner.SetName("owner")
	owner, err := r.cluster.addObject(owner)
	if err != nil {
		return err
	}

	r.stands[owner.GetUID()] = map[string]any{"owner": true}
	r.stands[r.cluster.getObject(namespaces, "", "somebody-else").GetUID()] = map[string]any{"owner": true}
	r.logStep("somebody else makes objects with the same labels")
	yes := true
	objects, _ := r.cluster.everything()
	done := map[string]bool{}
	for _, o := range objects {
		x, ours := r.made[o.GetUID()]
		of := x.resource + string(x.owner)
		if !ours || done[of] || o.GetDeletionTimestamp() != nil {
			continue
		}
		done[of] = true
		b := o.DeepCopy()
		b.SetName(strings.TrimSuffix(o.GetName()[:min(len(o.GetName()), 50)], "-") + "-bystander")
		b.SetGenerateName("")
		b.SetUID("")
		b.SetFinalizers(nil)
		b.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "owner", UID: owner.GetUID(),
			Controller: &yes}})
		made, err := r.cluster.addObject(b)
		if err != nil {
			return fmt.Errorf("a bystander: %w", err)
		}
		r.stands[made.GetUID()] = essence(made)
	}
	return nil
}

// holdOne deletes an object that was made and that something else's finalizer keeps: one under a generated name is to
// be replaced, any isn't to be counted.
func (r *run) holdOne() error {
	objects, kinds := r.cluster.everything()
	for i, o := range objects {
		k := kinds[i]
		x, ours := r.made[o.GetUID()]
		generated := o.GetGenerateName() != ""
		if !ours || !generated && k.status || o.GetDeletionTimestamp() != nil || finished(k, o) {
			continue
		}

		owner, of := r.cluster.findByUID(x.owner)
		if owner != nil && !isOwnedBy(o, owner) {
			continue // the status tells of others
		}

		before, statusBefore := r.countLiving(k, x.owner), statusText(owner)
		r.logStep("somebody deletes " + describeObject(o) + ", which another finalizer keeps")
		if err := r.cluster.editObject(k, o, "", func(o *Object) {
			o.SetFinalizers(append(o.GetFinalizers(),
				stays))
		}); err != nil {
			return err
		}

		now := int64(0)
		if err := r.cluster.deleteObject(k, r.cluster.getObject(k.Resource, o.GetNamespace(), o.GetName()),
			&metav1.DeleteOptions{GracePeriodSeconds: &now}); err != nil {
			return err
		}

		if err := r.runUntilIdle(); err != nil {
			return err
		}
		if owner != nil {
			owner = r.cluster.getObject(of.Resource, owner.GetNamespace(), owner.GetName())
		}

		switch after, statusAfter := r.countLiving(k, x.owner), statusText(owner); {
		case generated && after < before:
			r.found(Finding{Check: Terminating, At: x.at,
				Message: fmt.Sprintf("%s is being deleted and isn't replaced while it is there: don't count objects with a deletionTimestamp", describeObject(o)),
				Detail:  fmt.Sprintf("there were %d that weren't being deleted, now there are %d", before, after)})
		case !generated && statusBefore.tells && statusBefore.text == statusAfter.text && statusBefore.counts:
			r.found(Finding{Check: Terminating, At: x.at,
				Message: fmt.Sprintf("%s is being deleted and the status of %s counts it as before: don't count objects with a deletionTimestamp", describeObject(o), describeObject(owner)), Detail: statusAfter.text})
		}

		held := r.cluster.getObject(k.Resource, o.GetNamespace(), o.GetName())
		if held == nil {
			return nil
		}

		r.logStep("the finalizer of " + describeObject(o) + " is gone")
		return r.cluster.editObject(k, held, "", func(o *Object) {
			o.SetFinalizers(slices.DeleteFunc(o.GetFinalizers(), func(f string) bool { return f == stays }))
		})
	}
	return nil
}

// finished reports whether an object is a pod that has ended: nobody need replace it.
func finished(k *kind, o *Object) bool {
	phase, _, _ := unstructured.NestedString(o.Object, "status", "phase")
	return k.Resource == pods && (phase == "Succeeded" || phase == "Failed")
}

// countLiving counts the objects of a kind that were made for a key and aren't being deleted.
func (r *run) countLiving(k *kind, owner types.UID) (n int) {
	for _, o := range r.cluster.sortedObjects(k.Resource) {
		if x, ours := r.made[o.GetUID()]; ours && x.owner == owner && o.GetDeletionTimestamp() == nil && !finished(k, o) {
			n++
		}
	}
	return n
}

// statusOfKey is what a status says, without what differs from run to run.
type statusOfKey struct {
	text string
	// tells that it claims something that needs doing: a number, a condition that is true. counts tells of a number.
	tells, counts bool
	numbers       map[string]int64 // that aren't 0, by name
}

func statusText(o *Object) (s statusOfKey) {
	if o == nil {
		return s
	}
	status, _, _ := unstructured.NestedMap(o.Object, "status")
	delete(status, "observedGeneration")
	m := map[string]any{"status": deepCopy(status), "metadata": map[string]any{}}
	normalise(m, &kind{})
	m = anonymise(m, strings.NewReplacer(), nil, "").(map[string]any)
	b, err := yaml.Marshal(m["status"])
	if err != nil {
		return s
	}

	s.text = string(b)
	s.numbers = map[string]int64{}
	for name, v := range status {
		switch v := v.(type) {
		case int64:
			if v != 0 {
				s.numbers[name] = v
			}
			s.tells, s.counts = s.tells || v != 0, s.counts || v != 0
		case bool:
			s.tells = s.tells || v
		case []any:
			for _, c := range v {
				if c, ok := c.(map[string]any); ok && c["status"] == "True" {
					s.tells = true
				}
			}
		}
	}
	return s
}

// statuses are those of the keys' objects whose controllers make objects, by title.
func (r *run) statuses() map[string]statusOfKey {
	out := map[string]statusOfKey{}
	objects, _ := r.keyObjects()
	all, _ := r.cluster.everything()
	for _, o := range objects {
		makes := r.scenario.Kind == NoChildren
		for _, made := range all {
			_, ours := r.made[made.GetUID()]
			makes = makes || ours && isOwnedBy(made, o)
		}
		if makes {
			out[describeObject(o)] = statusText(o)
		}
	}
	return out
}

// zeroSpecs has somebody set all numbers in the keys' specs to 0, which must stay so.
func (r *run) zeroSpecs() error {
	objects, kinds := r.keyObjects()
	r.logStep("somebody sets all numbers of the specs to 0")
	for i, o := range objects {
		if err := r.cluster.editObject(kinds[i], o, "", func(o *Object) {
			spec, _ := o.Object["spec"].(map[string]any)
			for name, v := range spec {
				if n, ok := v.(int64); ok && n != 0 {
					spec[name] = int64(0)
				}
			}
		}); err != nil {
			return err
		}
	}
	return nil
}

// overwrites looks for what a write changes of a spec that somebody else has set.
func (r *run) overwrites(w *write, old, o *Object) {
	if old == nil || o == nil || w.subresource != "" || w.verb != "update" && w.verb != "patch" {
		return
	}
	if _, ours := r.made[old.GetUID()]; ours || metav1.GetControllerOf(old) != nil ||
		!slices.Contains(r.keyResources(), w.kind.Resource) {
		return
	}
	if path, was, is := differs(old.Object["spec"], o.Object["spec"], "spec"); path != "" {
		r.found(Finding{Check: Foreign,
			Message: fmt.Sprintf("%s of %s, which somebody else has set to %v, is changed to %v: a spec says what people want; 0, false and empty are values too", path, describeObject(old), was, is)})
	}
}

// differs finds the first value of old that is another one in new.
func differs(old, new any, path string) (string, any, any) {
	switch o := old.(type) {
	case map[string]any:
		n, _ := new.(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(o)) {
			if p, was, is := differs(o[name], n[name], path+"."+name); p != "" {
				return p, was, is
			}
		}
		return "", nil, nil
	}
	if !reflect.DeepEqual(old, new) {
		return path, old, new
	}
	return "", nil, nil
}

// generations looks at the generation that statuses say they are about. Where nothing can be created a sync may end
// before it knows what to say.
func (r *run) generations() {
	if r.scenario.Kind == NoChildren {
		return
	}
	objects, kinds := r.keyObjects()
	for i, o := range objects {
		if !r.statused[o.GetUID()] || o.GetDeletionTimestamp() != nil || o.GetGeneration() == 0 {
			continue
		}
		seen, has, _ := unstructured.NestedInt64(o.Object, "status", "observedGeneration")
		if !has && !kinds[i].observes() {
			continue
		}
		if seen != o.GetGeneration() {
			r.found(Finding{Check: Generation, At: r.lastWriteOn(o, kinds[i]),
				Message: fmt.Sprintf("status.observedGeneration of %s is %d, its generation is %d: set it to metadata.generation in each status that is written", describeObject(o), seen, o.GetGeneration())})
		}
	}
}

// observes reports whether the status of a kind has an observedGeneration.
func (k *kind) observes() bool {
	if k.custom {
		_, found, _ := unstructured.NestedMap(k.defaults, "properties", "status", "properties", "observedGeneration")
		return found
	}
	_, err := k.schema.Message.Path("status.observedGeneration")
	return err == nil
}

// syncAtRest syncs all keys once more, a while later.
func (r *run) syncAtRest() error {
	if r.scenario.Kind != Undisturbed || r.scenario.Foreground {
		return nil
	}
	r.repeatAllCalls()
	r.logStep("an hour goes by in which nothing happens")
	r.cluster.now = r.cluster.now.Add(time.Hour)
	return r.resyncAll()
}

// resyncAll syncs all keys once more, though nothing has happened.
func (r *run) resyncAll() error {
	r.inRest, r.changedLast = true, ""
	defer func() { r.inRest = false }()
	for _, s := range r.process.slots {
		if !s.Tested || s.manifest().Key.Single || len(s.due) > 0 {
			continue
		}

		var keys []abi.KeyRef
		s.plan.Keys(r.process.caches, func(k abi.KeyRef) { keys = append(keys, k.Clone()) })
		slices.SortFunc(keys, compareKeys)
		for _, k := range keys {
			if s.attempts[k] > 0 {
				of := "sync " + s.manifest().Name + " " + strings.TrimSpace(k.String())
				for i, step := range slices.Backward(r.log) {
					if _, failure, failed := strings.Cut(step, of+": "); failed {
						r.found(Finding{Check: Fails, At: of, Message: fmt.Sprintf("key %s fails again and again: %s", k.String(),
							failure), Detail: fmt.Sprintf("last in step %d", i+1)})
						break
					}
				}
				continue // it is tried again anyway
			}
			events, writes := len(r.cluster.events), len(r.writes)
			if err := r.syncStep(s, k); err != nil {
				return err
			}
			at := r.log[len(r.log)-1]
			switch {
			case len(r.writes) > writes:
				r.found(Finding{Check: Resync, At: at,
					Message: fmt.Sprintf("key %s, synced again though nothing had happened, writes: %s. Something that it decides by doesn't wake it: a time (ask to be synced then with Call.After), a quiet or lazy view, a live read, or a failure that it has swallowed", k.String(), strings.Join(r.writes[writes:], ", ")), Detail: r.changedLast})
			case len(r.cluster.events) > events:
				r.found(Finding{Check: Resync, At: at,
					Message: fmt.Sprintf("key %s, synced again though nothing had happened, sends an event: send one for a change, not for each sync", k.String()), Detail: r.cluster.events[events].String()})
			}
		}

		if err := r.runUntilIdle(); err != nil {
			return err
		}
	}
	return nil
}
