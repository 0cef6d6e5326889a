// The quota controller on controller-runtime: it gives each namespace the resource quota that its label asks for.
package main

import (
	"context"
	"os"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

const label = "example.com/size"

// How many pods a namespace of each size may have.
var sizes = map[string]string{"small": "10", "large": "100"}

type reconciler struct{ client.Client }

// +kubebuilder:rbac:groups="",resources=namespaces,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=resourcequotas,verbs=get;list;watch;create;update;delete

func (r *reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var ns corev1.Namespace
	if err := r.Get(ctx, request.NamespacedName, &ns); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !ns.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, nil
	}

	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: ns.Name, Name: "size"}}
	pods, wanted := sizes[ns.Labels[label]]
	if !wanted {
		if err := r.Get(ctx, client.ObjectKeyFromObject(quota), quota); err != nil {
			return ctrl.Result{}, client.IgnoreNotFound(err)
		}
		if !metav1.IsControlledBy(quota, &ns) {
			return ctrl.Result{}, nil
		}
		return ctrl.Result{}, client.IgnoreNotFound(r.Delete(ctx, quota))
	}

	_, err := controllerutil.CreateOrUpdate(ctx, r.Client, quota, func() error {
		if quota.Spec.Hard == nil {
			quota.Spec.Hard = corev1.ResourceList{}
		}
		quota.Spec.Hard[corev1.ResourcePods] = resource.MustParse(pods)
		return controllerutil.SetControllerReference(&ns, quota, r.Scheme())
	})
	return ctrl.Result{}, err
}

func main() {
	// it serves nothing
	manager, err := ctrl.NewManager(ctrl.GetConfigOrDie(), ctrl.Options{Metrics: server.Options{BindAddress: "0"}})
	if err != nil {
		os.Exit(1)
	}
	err = ctrl.NewControllerManagedBy(manager).
		For(&corev1.Namespace{}).
		Owns(&corev1.ResourceQuota{}).
		Complete(&reconciler{manager.GetClient()})
	if err != nil {
		os.Exit(1)
	}
	if err := manager.Start(ctrl.SetupSignalHandler()); err != nil {
		os.Exit(1)
	}
}
