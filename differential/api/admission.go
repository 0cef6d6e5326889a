package api

import (
	"cmp"
	"context"
	"fmt"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	admit "k8s.io/apiserver/pkg/admission"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/tools/cache"
	"k8s.io/kubernetes/pkg/apis/core"
	"k8s.io/kubernetes/plugin/pkg/admission/defaulttolerationseconds"
	"k8s.io/kubernetes/plugin/pkg/admission/limitranger"
	"k8s.io/kubernetes/plugin/pkg/admission/serviceaccount"

	"github.com/windlass-dev/windlass/differential/informers"
)

// admission is what a kube-apiserver does by default to a pod that is made, by its own plugins, and what it lets nobody
// make in a namespace that isn't there or is on its way out.
type admission struct {
	accounts, limits cache.Indexer
	plugins          []admit.MutationInterface
}

func newAdmission() (*admission, error) {
	f := informers.New()
	a := &admission{
		accounts: f.Of(&corev1.ServiceAccount{}).GetIndexer(),
		limits:   f.Of(&corev1.LimitRange{}).GetIndexer(),
	}
	account := serviceaccount.NewServiceAccount()
	account.SetExternalKubeInformerFactory(f.Factory)
	limits, err := limitranger.NewLimitRanger(nil)
	if err != nil {
		return nil, err
	}
	limits.SetExternalKubeInformerFactory(f.Factory)
	tolerations := defaulttolerationseconds.NewDefaultTolerationSeconds()
	tolerations.InspectFeatureGates(utilfeature.DefaultFeatureGate)
	a.plugins = []admit.MutationInterface{limits, account, tolerations}
	return a, tolerations.ValidateInitialization()
}

// create has the object that is about to be made pass all admission. A name that the server makes up is made between
// what may change the object and what may only refuse it, so that the former has but the beginning to quote.
func (a *admission) create(ctx context.Context, c *Cluster, r *resource, namespace string, o runtime.Object) error {
	if r.namespaced {
		if err := c.open(r, namespace, o); err != nil {
			return err
		}
	}

	pod, ok := o.(*core.Pod)
	if !ok {
		return c.name(o)
	}

	if err := a.refresh(c, namespace); err != nil {
		return err
	}
	account := cmp.Or(pod.Spec.ServiceAccountName, serviceaccount.DefaultServiceAccountName)
	if _, there, err := a.accounts.GetByKey(namespace + "/" + account); !there || err != nil {
		return apierrors.NewForbidden(r.gvr.GroupResource(), cmp.Or(pod.Name, pod.GenerateName),
			fmt.Errorf("error looking up service account %s/%s: serviceaccount %q not found", namespace, account, account))
	}

	attributes := admit.NewAttributesRecord(o, nil, r.gvr.GroupVersion().WithKind(r.kind), namespace, pod.Name, r.gvr, "",
		admit.Create,
		&metav1.CreateOptions{}, false, nil)
	plugins := a.plugins
	if len(a.limits.List()) == 0 {
		plugins = plugins[1:] // it would ask the server for what isn't there
	}
	for _, p := range plugins {
		if err := p.Admit(ctx, attributes, nil); err != nil {
			return err
		}
	}
	if err := c.name(o); err != nil {
		return err
	}
	for _, p := range plugins {
		if v, ok := p.(admit.ValidationInterface); ok {
			if err := v.Validate(ctx, attributes, nil); err != nil {
				return err
			}
		}
	}
	return nil
}

// name names an object that is about to be made as its server makes names up.
func (c *Cluster) name(o runtime.Object) error {
	m, err := meta.Accessor(o)
	if err == nil && m.GetName() == "" && m.GetGenerateName() != "" {
		m.SetName(c.generate(m.GetGenerateName()))
	}
	return err
}

// refresh shows the plugins a namespace as it is.
func (a *admission) refresh(c *Cluster, namespace string) error {
	for plural, into := range map[string]cache.Indexer{"serviceaccounts": a.accounts, "limitranges": a.limits} {
		r := c.server.resources[coreV1.WithResource(plural)]
		var all []any
		for _, key := range c.memory.under(prefix(r.gvr.GroupResource()) + "/" + namespace + "/") {
			o, err := r.external(c.memory.objects[key])
			if err != nil {
				return err
			}
			all = append(all, o)
		}
		if err := into.Replace(all, ""); err != nil {
			return err
		}
	}
	return nil
}

// open returns why nothing can be made in a namespace.
func (c *Cluster) open(r *resource, namespace string, o runtime.Object) error {
	ns, ok := c.memory.objects[prefix(core.Resource("namespaces"))+"/"+namespace].(*core.Namespace)
	if !ok {
		return apierrors.NewNotFound(core.Resource("namespaces"), namespace)
	}
	if ns.DeletionTimestamp.IsZero() {
		return nil
	}
	name := ""
	if m, ok := o.(metav1.Object); ok {
		name = cmp.Or(m.GetName(), m.GetGenerateName())
	}
	err := apierrors.NewForbidden(r.gvr.GroupResource(), name,
		fmt.Errorf("unable to create new content in namespace %s because it is being terminated", namespace))
	err.ErrStatus.Code = http.StatusForbidden
	err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes, metav1.StatusCause{
		Type: corev1.NamespaceTerminatingCause, Message: fmt.Sprintf("namespace %s is being terminated", namespace),
		Field: "metadata.namespace",
	})
	return err
}
