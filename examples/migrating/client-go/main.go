// The quota controller as those of kube-controller-manager are written: informers, listers, a work queue and a client.
// It gives each namespace the resource quota that its label asks for.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
)

const (
	label   = "example.com/size"
	name    = "size"
	workers = 2
)

// How many pods a namespace of each size may have.
var sizes = map[string]string{"small": "10", "large": "100"}

type controller struct {
	client     kubernetes.Interface
	namespaces corelisters.NamespaceLister
	quotas     corelisters.ResourceQuotaLister
	queue      workqueue.TypedRateLimitingInterface[string]
}

func newController(client kubernetes.Interface, factory informers.SharedInformerFactory) (*controller, error) {
	namespaces, quotas := factory.Core().V1().Namespaces(), factory.Core().V1().ResourceQuotas()
	c := &controller{
		client: client, namespaces: namespaces.Lister(), quotas: quotas.Lister(),
		queue: workqueue.NewTypedRateLimitingQueueWithConfig(workqueue.DefaultTypedControllerRateLimiter[string](),
			workqueue.TypedRateLimitingQueueConfig[string]{Name: "quota"}),
	}
	for informer, key := range map[cache.SharedIndexInformer]func(metav1.Object) string{
		namespaces.Informer(): metav1.Object.GetName,
		quotas.Informer():     metav1.Object.GetNamespace, // a quota wakes its namespace
	} {
		wake := func(o any) {
			if gone, ok := o.(cache.DeletedFinalStateUnknown); ok {
				o = gone.Obj
			}
			if o, ok := o.(metav1.Object); ok {
				c.queue.Add(key(o))
			}
		}
		if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: wake,
			UpdateFunc: func(_, o any) { wake(o) }, DeleteFunc: wake}); err != nil {
			return nil, err
		}
	}
	return c, nil
}

func (c *controller) sync(ctx context.Context, key string) error {
	ns, err := c.namespaces.Get(key)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if ns.DeletionTimestamp != nil {
		return nil
	}

	pods, wanted := sizes[ns.Labels[label]]
	quota, err := c.quotas.ResourceQuotas(key).Get(name)
	exists := err == nil
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	if exists && !metav1.IsControlledBy(quota, ns) {
		return nil // somebody else's
	}

	client := c.client.CoreV1().ResourceQuotas(key)
	switch {
	case wanted && exists:
		hard := resource.MustParse(pods)
		if have, ok := quota.Spec.Hard[corev1.ResourcePods]; ok && have.Cmp(hard) == 0 {
			return nil
		}
		quota = quota.DeepCopy() // the informer's own must not be changed
		if quota.Spec.Hard == nil {
			quota.Spec.Hard = corev1.ResourceList{}
		}
		quota.Spec.Hard[corev1.ResourcePods] = hard
		_, err = client.Update(ctx, quota, metav1.UpdateOptions{})
		return err
	case wanted:
		_, err = client.Create(ctx, &corev1.ResourceQuota{
			ObjectMeta: metav1.ObjectMeta{Name: name, OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(ns,
				corev1.SchemeGroupVersion.WithKind("Namespace"))}},
			Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourcePods: resource.MustParse(pods)}},
		}, metav1.CreateOptions{})
		if apierrors.IsAlreadyExists(err) {
			return nil // the informer doesn't show it yet; when it does, it wakes the key
		}
		return err
	case exists:
		err = client.Delete(ctx, name, metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(quota.UID))})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return err
	}
	return nil
}

func (c *controller) processNext(ctx context.Context) bool {
	key, quit := c.queue.Get()
	if quit {
		return false
	}
	defer c.queue.Done(key)
	if err := c.sync(ctx, key); err != nil {
		klog.FromContext(ctx).Error(err, "Sync failed", "namespace", key)
		c.queue.AddRateLimited(key)
		return true
	}
	c.queue.Forget(key)
	return true
}

func run(ctx context.Context) error {
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(clientcmd.NewDefaultClientConfigLoadingRules(),
		nil).ClientConfig()
	if err != nil {
		return err
	}

	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}

	factory := informers.NewSharedInformerFactory(client, 0)
	c, err := newController(client, factory)
	if err != nil {
		return err
	}

	factory.StartWithContext(ctx)
	if err := factory.WaitForCacheSyncWithContext(ctx).AsError(); err != nil {
		return err
	}

	for range workers {
		go wait.UntilWithContext(ctx, func(ctx context.Context) {
			for c.processNext(ctx) {
			}
		}, time.Second)
	}
	<-ctx.Done()
	c.queue.ShutDown()
	return nil
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
