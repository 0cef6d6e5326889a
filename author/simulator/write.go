package simulator

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apischema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// write is one request that writes.
type write struct {
	by          string // the controller
	verb        string // create, update, patch, delete
	kind        *kind
	subresource string
	namespace   string
	name        string
	object      *Object // of a create or an update
	dryRun      bool
}

func (w *write) String() string {
	s := w.verb + " " + w.kind.Resource.String()
	if w.subresource != "" {
		s += "/" + w.subresource
	}
	return s + " " + strings.TrimPrefix(objectName(w.namespace, w.name), "/")
}

func (k *kind) groupResource() apischema.GroupResource {
	return apischema.GroupResource{Group: k.Group, Resource: k.Name}
}

func (k *kind) groupKind() apischema.GroupKind {
	return apischema.GroupKind{Group: k.Group, Kind: k.kind}
}

// createObject makes an object.
func (c *Cluster) createObject(w *write) (*Object, error) {
	k := w.kind
	o, err := k.canonical(w.object)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}

	o.SetAPIVersion(k.apiVersion())
	o.SetKind(k.kind)
	if k.namespaced {
		if o.GetNamespace() != "" && o.GetNamespace() != w.namespace {
			return nil, apierrors.NewBadRequest("the namespace of the provided object does not match the namespace sent on the request")
		}
		o.SetNamespace(w.namespace)
		exists, terminating := c.namespace(w.namespace)
		switch {
		case !exists:
			return nil, apierrors.NewNotFound(c.kinds[namespaces].groupResource(), w.namespace)
		case terminating:
			e := apierrors.NewForbidden(k.groupResource(), o.GetName(),
				fmt.Errorf("unable to create new content in namespace %s because it is being terminated", w.namespace))
			e.ErrStatus.Details.Causes = append(e.ErrStatus.Details.Causes,
				metav1.StatusCause{Type: corev1.NamespaceTerminatingCause,
					Message: fmt.Sprintf("namespace %s is being terminated", w.namespace), Field: "metadata.namespace"})
			return nil, e
		}
	} else {
		o.SetNamespace("")
	}

	if o.GetResourceVersion() != "" {
		return nil, &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure,
			Code: http.StatusInternalServerError, Message: "resourceVersion should not be set on objects to be created"}}
	}
	if o.GetName() == "" && o.GetGenerateName() != "" {
		o.SetName(o.GetGenerateName() + rand.String(5))
	}

	w.name = o.GetName()
	if errs := c.validate(k, o); len(errs) > 0 {
		return nil, apierrors.NewInvalid(k.groupKind(), o.GetName(), errs)
	}
	if c.getObject(k.Resource, o.GetNamespace(), o.GetName()) != nil {
		return nil, apierrors.NewAlreadyExists(k.groupResource(), o.GetName())
	}

	o.SetUID(c.newUID())
	o.SetCreationTimestamp(c.timestamp())
	o.SetDeletionTimestamp(nil)
	o.SetDeletionGracePeriodSeconds(nil)
	o.SetManagedFields(nil)
	o.SetGeneration(0)
	if k.generation {
		o.SetGeneration(1)
	}
	if k.status {
		delete(o.Object, "status")
	}

	if err := c.setDefaults(k, o); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	if w.dryRun {
		return o, nil
	}
	return c.putObject(k, nil, o), nil
}

// validate looks at what every API server looks at: names, labels, annotations, owner references.
func (c *Cluster) validate(k *kind, o *Object) field.ErrorList {
	check := apivalidation.NameIsDNSSubdomain
	switch {
	case k.Group == "" && k.Name == "services":
		check = apivalidation.NameIsDNS1035Label
	case k.Group == "" && k.Name == "namespaces":
		check = apivalidation.NameIsDNSLabel
	case k.Group == "rbac.authorization.k8s.io", k.Group == "certificates.k8s.io" && k.Name == "clustertrustbundles":
		check = func(string, bool) []string { return nil } // any path segment
	}
	return apivalidation.ValidateObjectMetaAccessor(o, k.namespaced, check, field.NewPath("metadata"))
}

// setDefaults fills in what the server does: what custom resources' definitions say, and of the built-in ones what
// controllers look at most.
func (c *Cluster) setDefaults(k *kind, o *Object) error {
	if k.custom {
		setDefaults(o.Object, k.defaults)
		return nil
	}

	fill := func(value any, path ...string) {
		if _, found, err := unstructured.NestedFieldNoCopy(o.Object, path...); !found && err == nil {
			_ = unstructured.SetNestedField(o.Object, value, path...) // an object in between that isn't one is the caller's
		}
	}

	switch k.Resource.String() {
	case "v1/pods":
		fill("Pending", "status", "phase")
		fill("Always", "spec", "restartPolicy")
		fill(int64(30), "spec", "terminationGracePeriodSeconds")
	case "v1/namespaces":
		fill("Active", "status", "phase")
		if o.GetDeletionTimestamp() == nil { // one that ends has had it taken away
			fill([]any{"kubernetes"}, "spec", "finalizers")
		}
	case "v1/services":
		fill("ClusterIP", "spec", "type")
		fill("None", "spec", "sessionAffinity")
	case "apps/v1/replicasets":
		fill(int64(1), "spec", "replicas")
	case "apps/v1/deployments":
		fill(int64(1), "spec", "replicas")
		fill("RollingUpdate", "spec", "strategy", "type")
		if t, _, _ := unstructured.NestedString(o.Object, "spec", "strategy", "type"); t == "RollingUpdate" {
			fill("25%", "spec", "strategy", "rollingUpdate", "maxUnavailable")
			fill("25%", "spec", "strategy", "rollingUpdate", "maxSurge")
		}
		fill(int64(10), "spec", "revisionHistoryLimit")
		fill(int64(600), "spec", "progressDeadlineSeconds")
	case "apps/v1/statefulsets":
		fill(int64(1), "spec", "replicas")
		fill("OrderedReady", "spec", "podManagementPolicy")
		fill("RollingUpdate", "spec", "updateStrategy", "type")
		fill(int64(0), "spec", "updateStrategy", "rollingUpdate", "partition")
		fill(int64(10), "spec", "revisionHistoryLimit")
	case "apps/v1/daemonsets":
		fill("RollingUpdate", "spec", "updateStrategy", "type")
		fill(int64(1), "spec", "updateStrategy", "rollingUpdate", "maxUnavailable")
		fill(int64(0), "spec", "updateStrategy", "rollingUpdate", "maxSurge")
		fill(int64(10), "spec", "revisionHistoryLimit")
	case "batch/v1/jobs":
		fill(int64(1), "spec", "parallelism")
		fill(int64(1), "spec", "completions")
		fill(int64(6), "spec", "backoffLimit")
		fill("NonIndexed", "spec", "completionMode")
		fill("TerminatingOrFailed", "spec", "podReplacementPolicy")
		fill(false, "spec", "suspend")
		if manual, _, _ := unstructured.NestedBool(o.Object, "spec", "manualSelector"); !manual {
			uid := string(o.GetUID())
			labels, _, _ := unstructured.NestedStringMap(o.Object, "spec", "template", "metadata", "labels")
			if labels == nil {
				labels = map[string]string{}
			}
			maps.Copy(labels, map[string]string{"controller-uid": uid, "job-name": o.GetName(),
				"batch.kubernetes.io/controller-uid": uid, "batch.kubernetes.io/job-name": o.GetName()})
			if err := unstructured.SetNestedStringMap(o.Object, labels, "spec", "template", "metadata", "labels"); err != nil {
				return err
			}
			if err := unstructured.SetNestedStringMap(o.Object, map[string]string{"batch.kubernetes.io/controller-uid": uid},
				"spec", "selector", "matchLabels"); err != nil {
				return err
			}
			if len(o.GetLabels()) == 0 {
				o.SetLabels(labels)
			}
		}
	}
	return nil
}

// precondition compares an object with what a request expects.
func precondition(k *kind, old *Object, uid, version string) error {
	if uid != "" && string(old.GetUID()) != uid {
		failed := fmt.Sprintf("Precondition failed: UID in precondition: %s, UID in object meta: %s", uid, old.GetUID())
		return apierrors.NewConflict(k.groupResource(), old.GetName(), errors.New(failed))
	}
	if version != "" && old.GetResourceVersion() != version {
		return apierrors.NewConflict(k.groupResource(), old.GetName(),
			fmt.Errorf("the object has been modified; please apply your changes to the latest version and try again"))
	}
	return nil
}

func (c *Cluster) findTarget(w *write) (*Object, error) {
	o := c.getObject(w.kind.Resource, w.namespace, w.name)
	if o == nil {
		return nil, apierrors.NewNotFound(w.kind.groupResource(), w.name)
	}
	return o, nil
}

// updateObject replaces an object, or the part of it that the subresource is.
func (c *Cluster) updateObject(w *write) (*Object, error) {
	old, err := c.findTarget(w)
	if err != nil {
		return nil, err
	}
	if err := precondition(w.kind, old, string(w.object.GetUID()), w.object.GetResourceVersion()); err != nil {
		return nil, err
	}
	return c.replace(w, old, w.object)
}

// replace stores what has become of an object; nothing where nothing has changed.
func (c *Cluster) replace(w *write, old, sent *Object) (*Object, error) {
	k := w.kind
	o, err := k.canonical(sent)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	if o.GetName() != "" && o.GetName() != old.GetName() {
		return nil, apierrors.NewBadRequest("the name of the object does not match the name on the URL")
	}

	switch w.subresource {
	case "":
		if k.status {
			keepField(o, old, "status")
		}
	case "status":
		status, has := o.Object["status"]
		annotations := o.GetAnnotations()
		o = old.DeepCopy()
		if !k.schema.Custom {
			o.SetAnnotations(annotations) // which built-in types let through, and a Deployment's revision comes by
		}
		delete(o.Object, "status")
		if has {
			o.Object["status"] = status
		}
	case "approval":
		conditions, has, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
		o = old.DeepCopy()
		unstructured.RemoveNestedField(o.Object, "status", "conditions")
		if has {
			_ = unstructured.SetNestedSlice(o.Object, conditions, "status", "conditions")
		}
	case "finalize":
		finalizers, _, _ := unstructured.NestedSlice(o.Object, "spec", "finalizers")
		o = old.DeepCopy()
		unstructured.RemoveNestedField(o.Object, "spec", "finalizers")
		if len(finalizers) > 0 {
			_ = unstructured.SetNestedSlice(o.Object, finalizers, "spec", "finalizers")
		}
	}

	o.SetAPIVersion(k.apiVersion())
	o.SetKind(k.kind)
	o.SetName(old.GetName())
	o.SetNamespace(old.GetNamespace())
	o.SetUID(old.GetUID())
	o.SetResourceVersion(old.GetResourceVersion())
	o.SetCreationTimestamp(old.GetCreationTimestamp())
	o.SetDeletionTimestamp(old.GetDeletionTimestamp())
	o.SetDeletionGracePeriodSeconds(old.GetDeletionGracePeriodSeconds())
	o.SetGeneration(old.GetGeneration())
	o.SetGenerateName(old.GetGenerateName())
	o.SetManagedFields(nil)
	if err := c.setDefaults(k, o); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}

	if errs := c.validate(k, o); len(errs) > 0 {
		return nil, apierrors.NewInvalid(k.groupKind(), o.GetName(), errs)
	}
	if old.GetDeletionTimestamp() != nil {
		for _, f := range o.GetFinalizers() {
			if !slices.Contains(old.GetFinalizers(), f) {
				return nil, apierrors.NewInvalid(k.groupKind(), o.GetName(),
					field.ErrorList{field.Forbidden(field.NewPath("metadata", "finalizers"),
						fmt.Sprintf("no new finalizers can be added if the object is being deleted, found new finalizers []string{%q}",
							f))})
			}
		}
	}

	if k.generation && !reflect.DeepEqual(generationBody(o), generationBody(old)) {
		o.SetGeneration(old.GetGeneration() + 1)
	}
	if reflect.DeepEqual(o.Object, old.Object) {
		return old, nil
	}

	if w.dryRun {
		return o, nil
	}
	if c.isDeletionDone(k, o) {
		c.putObject(k, old, nil)
		return o, nil // under the version from before
	}
	return c.putObject(k, old, o), nil
}

// isDeletionDone reports whether nothing keeps an object that is being deleted.
func (c *Cluster) isDeletionDone(k *kind, o *Object) bool {
	if o.GetDeletionTimestamp() == nil || len(o.GetFinalizers()) > 0 {
		return false
	}
	if k.Resource == namespaces {
		f, _, _ := unstructured.NestedSlice(o.Object, "spec", "finalizers")
		return len(f) == 0
	}
	grace := o.GetDeletionGracePeriodSeconds()
	return grace == nil || *grace == 0
}

// keepField puts a field of the old object in place of the new one's.
func keepField(o, old *Object, name string) {
	delete(o.Object, name)
	if v, ok := old.Object[name]; ok {
		o.Object[name] = deepCopy(v)
	}
}

// generationBody returns what a generation counts the changes of.
func generationBody(o *Object) map[string]any {
	m := maps.Clone(o.Object)
	for _, name := range []string{"metadata", "status", "apiVersion", "kind"} {
		delete(m, name)
	}
	return m
}

// removeObject deletes an object, or begins to.
func (c *Cluster) removeObject(w *write, options *metav1.DeleteOptions) (o *Object, gone bool, err error) {
	old, err := c.findTarget(w)
	if err != nil {
		return nil, false, err
	}

	if p := options.Preconditions; p != nil {
		var uid, version string
		if p.UID != nil {
			uid = string(*p.UID)
		}
		if p.ResourceVersion != nil {
			version = *p.ResourceVersion
		}
		if err := precondition(w.kind, old, uid, version); err != nil {
			return nil, false, err
		}
	}

	o = old.DeepCopy()
	finalizers := slices.DeleteFunc(o.GetFinalizers(), func(f string) bool {
		return options.PropagationPolicy != nil && (f == metav1.FinalizerOrphanDependents ||
			f == metav1.FinalizerDeleteDependents)
	})
	if options.PropagationPolicy != nil {
		switch *options.PropagationPolicy {
		case metav1.DeletePropagationForeground:
			finalizers = append(finalizers, metav1.FinalizerDeleteDependents)
		case metav1.DeletePropagationOrphan:
			finalizers = append(finalizers, metav1.FinalizerOrphanDependents)
		}
	}

	o.SetFinalizers(finalizers)
	grace := int64(0)
	if w.kind.Resource == pods {
		if node, _, _ := unstructured.NestedString(o.Object, "spec", "nodeName"); node != "" {
			if grace, _, _ = unstructured.NestedInt64(o.Object, "spec",
				"terminationGracePeriodSeconds"); options.GracePeriodSeconds != nil {
				grace = *options.GracePeriodSeconds
			}
			if phase, _, _ := unstructured.NestedString(o.Object, "status", "phase"); phase == "Succeeded" || phase == "Failed" {
				grace = 0
			}
		}
	}

	if old.GetDeletionTimestamp() == nil {
		t := metav1.NewTime(c.now.Add(time.Duration(grace) * time.Second))
		o.SetDeletionTimestamp(&t)
		o.SetDeletionGracePeriodSeconds(&grace)
		if o.GetGeneration() > 0 {
			o.SetGeneration(o.GetGeneration() + 1)
		}
		if w.kind.Resource == namespaces {
			o.SetDeletionGracePeriodSeconds(nil)
			_ = unstructured.SetNestedField(o.Object, "Terminating", "status", "phase")
		}
	} else if was := o.GetDeletionGracePeriodSeconds(); was != nil && *was > grace {
		o.SetDeletionGracePeriodSeconds(&grace)
	}

	gone = c.isDeletionDone(w.kind, o)
	switch {
	case w.dryRun || slices.Contains(options.DryRun, metav1.DryRunAll):
		return o, gone, nil
	case gone:
		return c.putObject(w.kind, old, nil), true, nil
	case reflect.DeepEqual(o.Object, old.Object):
		return old, false, nil
	}
	return c.putObject(w.kind, old, o), false, nil
}

// status is an error as the server answers it.
func success(o *Object) *metav1.Status {
	s := &metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusSuccess}
	if o != nil {
		s.Details = &metav1.StatusDetails{Name: o.GetName(), UID: o.GetUID()}
	}
	return s
}

func statusOf(err error) *metav1.Status {
	if s, ok := err.(apierrors.APIStatus); ok {
		status := s.Status()
		status.APIVersion, status.Kind = "v1", "Status"
		return &status
	}
	return &metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure,
		Code: http.StatusInternalServerError, Reason: metav1.StatusReasonInternalError, Message: err.Error()}
}
