package api

import (
	"cmp"
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/registry/generic"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/apis/core"
	"k8s.io/kubernetes/pkg/apis/discovery"
	"k8s.io/kubernetes/pkg/apis/networking"
	"k8s.io/kubernetes/pkg/apis/policy"
	"k8s.io/kubernetes/pkg/apis/rbac"
	deviceapi "k8s.io/kubernetes/pkg/apis/resource"
	"k8s.io/kubernetes/pkg/apis/storage"
	revisions "k8s.io/kubernetes/pkg/registry/apps/controllerrevision/storage"
	daemonsets "k8s.io/kubernetes/pkg/registry/apps/daemonset/storage"
	deployments "k8s.io/kubernetes/pkg/registry/apps/deployment/storage"
	replicasets "k8s.io/kubernetes/pkg/registry/apps/replicaset/storage"
	statefulsets "k8s.io/kubernetes/pkg/registry/apps/statefulset/storage"
	reviews "k8s.io/kubernetes/pkg/registry/authorization/subjectaccessreview"
	autoscalers "k8s.io/kubernetes/pkg/registry/autoscaling/horizontalpodautoscaler/storage"
	cronjobs "k8s.io/kubernetes/pkg/registry/batch/cronjob/storage"
	jobs "k8s.io/kubernetes/pkg/registry/batch/job/storage"
	requests "k8s.io/kubernetes/pkg/registry/certificates/certificates/storage"
	bundles "k8s.io/kubernetes/pkg/registry/certificates/clustertrustbundle/storage"
	podrequests "k8s.io/kubernetes/pkg/registry/certificates/podcertificaterequest/storage"
	configmaps "k8s.io/kubernetes/pkg/registry/core/configmap/storage"
	endpoints "k8s.io/kubernetes/pkg/registry/core/endpoint/storage"
	limitranges "k8s.io/kubernetes/pkg/registry/core/limitrange/storage"
	namespaces "k8s.io/kubernetes/pkg/registry/core/namespace/storage"
	"k8s.io/kubernetes/pkg/registry/core/node"
	volumes "k8s.io/kubernetes/pkg/registry/core/persistentvolume/storage"
	claims "k8s.io/kubernetes/pkg/registry/core/persistentvolumeclaim/storage"
	pods "k8s.io/kubernetes/pkg/registry/core/pod/storage"
	controllers "k8s.io/kubernetes/pkg/registry/core/replicationcontroller/storage"
	quotas "k8s.io/kubernetes/pkg/registry/core/resourcequota/storage"
	secrets "k8s.io/kubernetes/pkg/registry/core/secret/storage"
	"k8s.io/kubernetes/pkg/registry/core/service"
	serviceaccounts "k8s.io/kubernetes/pkg/registry/core/serviceaccount/storage"
	slices "k8s.io/kubernetes/pkg/registry/discovery/endpointslice/storage"
	addresses "k8s.io/kubernetes/pkg/registry/networking/ipaddress/storage"
	cidrs "k8s.io/kubernetes/pkg/registry/networking/servicecidr/storage"
	budgets "k8s.io/kubernetes/pkg/registry/policy/poddisruptionbudget/storage"
	clusterroles "k8s.io/kubernetes/pkg/registry/rbac/clusterrole/storage"
	deviceclasses "k8s.io/kubernetes/pkg/registry/resource/deviceclass/storage"
	deviceclaims "k8s.io/kubernetes/pkg/registry/resource/resourceclaim/storage"
	classes "k8s.io/kubernetes/pkg/registry/storage/volumeattributesclass/storage"
	"k8s.io/utils/clock"

	_ "k8s.io/kubernetes/pkg/apis/apps/install" // the kinds, their defaults and conversions, in the server's scheme
	_ "k8s.io/kubernetes/pkg/apis/authorization/install"
	_ "k8s.io/kubernetes/pkg/apis/autoscaling/install"
	_ "k8s.io/kubernetes/pkg/apis/batch/install"
	_ "k8s.io/kubernetes/pkg/apis/certificates/install"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	_ "k8s.io/kubernetes/pkg/apis/discovery/install"
	_ "k8s.io/kubernetes/pkg/apis/networking/install"
	_ "k8s.io/kubernetes/pkg/apis/policy/install"
	_ "k8s.io/kubernetes/pkg/apis/rbac/install"
	_ "k8s.io/kubernetes/pkg/apis/resource/install"
	_ "k8s.io/kubernetes/pkg/apis/scheduling/install"
	_ "k8s.io/kubernetes/pkg/apis/storage/install"
)

var (
	coreV1      = schema.GroupVersion{Version: "v1"}
	appsV1      = schema.GroupVersion{Group: "apps", Version: "v1"}
	batchV1     = schema.GroupVersion{Group: "batch", Version: "v1"}
	accessV1    = schema.GroupVersion{Group: "authorization.k8s.io", Version: "v1"}
	certsV1     = schema.GroupVersion{Group: "certificates.k8s.io", Version: "v1"}
	deviceV1    = schema.GroupVersion{Group: deviceapi.GroupName, Version: "v1"}
	discoveryV1 = schema.GroupVersion{Group: discovery.GroupName, Version: "v1"}
	networkV1   = schema.GroupVersion{Group: networking.GroupName, Version: "v1"}
	policyV1    = schema.GroupVersion{Group: policy.GroupName, Version: "v1"}
	rbacV1      = schema.GroupVersion{Group: rbac.GroupName, Version: "v1"}
	scalingV2   = schema.GroupVersion{Group: "autoscaling", Version: "v2"}
	storageV1   = schema.GroupVersion{Group: storage.GroupName, Version: "v1"}
)

// resource is what the server has of one resource: the registry's own storages.
type resource struct {
	gvr        schema.GroupVersionResource
	kind       string
	namespaced bool
	storage    rest.Storage
	// of are the subresources.
	of map[string]rest.Storage
}

// keepsObjects reports whether there are objects of the resource, which can be listed and watched.
func (res *resource) keepsObjects() bool {
	_, ok := res.storage.(rest.Lister)
	return ok
}

// registry makes the storages of all resources that the server serves.
func registry(o generic.RESTOptionsGetter) (all []*resource, err error) {
	add := func(gv schema.GroupVersion, plural, kind string, s rest.Storage, of map[string]rest.Storage, e error) {
		if e != nil {
			err = e
			return
		}
		namespaced := s.(rest.Scoper).NamespaceScoped()
		all = append(all, &resource{gv.WithResource(plural), kind, namespaced, s, of})
	}

	pod, e := pods.NewStorage(o, nil, nil, nil, nil)
	add(coreV1, "pods", "Pod", pod.Pod, map[string]rest.Storage{"status": pod.Status}, e)
	ns, nsStatus, nsFinalize, e := namespaces.NewREST(o)
	add(coreV1, "namespaces", "Namespace", ns, map[string]rest.Storage{"status": nsStatus, "finalize": nsFinalize}, e)
	account, e := serviceaccounts.NewREST(o, nil, nil, nil, 0, nil, nil, nil, nil, nil, false, 0)
	add(coreV1, "serviceaccounts", "ServiceAccount", account, nil, e)
	configMap, e := configmaps.NewREST(o)
	add(coreV1, "configmaps", "ConfigMap", configMap, nil, e)
	secret, e := secrets.NewREST(o)
	add(coreV1, "secrets", "Secret", secret, nil, e)
	endpoint, e := endpoints.NewREST(o)
	add(coreV1, "endpoints", "Endpoints", endpoint, nil, e)
	quota, quotaStatus, e := quotas.NewREST(o)
	add(coreV1, "resourcequotas", "ResourceQuota", quota, map[string]rest.Storage{"status": quotaStatus}, e)
	limits, e := limitranges.NewREST(o)
	add(coreV1, "limitranges", "LimitRange", limits, nil, e)
	claim, claimStatus, e := claims.NewREST(o)
	add(coreV1, "persistentvolumeclaims", "PersistentVolumeClaim", claim, map[string]rest.Storage{"status": claimStatus},
		e)
	volume, volumeStatus, e := volumes.NewREST(o)
	add(coreV1, "persistentvolumes", "PersistentVolume", volume, map[string]rest.Storage{"status": volumeStatus}, e)
	rc, e := controllers.NewStorage(o)
	add(coreV1, "replicationcontrollers", "ReplicationController", rc.Controller,
		map[string]rest.Storage{"status": rc.Status, "scale": rc.Scale}, e)
	nodes, nodeStatus, e := plain(o, core.Resource("nodes"), &core.Node{}, &core.NodeList{}, node.Strategy,
		node.StatusStrategy)
	add(coreV1, "nodes", "Node", nodes, map[string]rest.Storage{"status": nodeStatus}, e)
	// Without the allocation of addresses and ports: a world's services have them.
	services, serviceStatus, e := plain(o, core.Resource("services"), &core.Service{}, &core.ServiceList{},
		service.Strategy, service.StatusStrategy)
	add(coreV1, "services", "Service", services, map[string]rest.Storage{"status": serviceStatus}, e)

	d, e := deployments.NewStorage(o)
	add(appsV1, "deployments", "Deployment", d.Deployment, map[string]rest.Storage{"status": d.Status, "scale": d.Scale},
		e)
	rs, e := replicasets.NewStorage(o)
	add(appsV1, "replicasets", "ReplicaSet", rs.ReplicaSet,
		map[string]rest.Storage{"status": rs.Status, "scale": rs.Scale}, e)
	set, e := statefulsets.NewStorage(o)
	add(appsV1, "statefulsets", "StatefulSet", set.StatefulSet,
		map[string]rest.Storage{"status": set.Status, "scale": set.Scale}, e)
	daemon, daemonStatus, e := daemonsets.NewREST(o)
	add(appsV1, "daemonsets", "DaemonSet", daemon, map[string]rest.Storage{"status": daemonStatus}, e)
	revision, e := revisions.NewREST(o)
	add(appsV1, "controllerrevisions", "ControllerRevision", revision, nil, e)

	cronJob, cronJobStatus, e := cronjobs.NewREST(o)
	add(batchV1, "cronjobs", "CronJob", cronJob, map[string]rest.Storage{"status": cronJobStatus}, e)
	job, e := jobs.NewStorage(o)
	add(batchV1, "jobs", "Job", job.Job, map[string]rest.Storage{"status": job.Status}, e)
	request, requestStatus, approval, e := requests.NewREST(o)
	add(certsV1, "certificatesigningrequests", "CertificateSigningRequest", request,
		map[string]rest.Storage{"status": requestStatus, "approval": approval}, e)
	podRequest, podRequestStatus, e := podrequests.NewREST(o, nil, clock.RealClock{})
	add(certsV1, "podcertificaterequests", "PodCertificateRequest", podRequest,
		map[string]rest.Storage{"status": podRequestStatus}, e)
	bundle, e := bundles.NewREST(o)
	add(certsV1, "clustertrustbundles", "ClusterTrustBundle", bundle, nil, e)
	add(accessV1, "subjectaccessreviews", "SubjectAccessReview",
		reviews.NewREST(authorizer.AuthorizerFunc(authorize), legacyscheme.Scheme), nil, nil)
	slice, e := slices.NewREST(o)
	add(discoveryV1, "endpointslices", "EndpointSlice", slice, nil, e)
	scaler, scalerStatus, e := autoscalers.NewREST(o)
	add(scalingV2, "horizontalpodautoscalers", "HorizontalPodAutoscaler", scaler,
		map[string]rest.Storage{"status": scalerStatus}, e)
	budget, budgetStatus, e := budgets.NewREST(o)
	add(policyV1, "poddisruptionbudgets", "PodDisruptionBudget", budget,
		map[string]rest.Storage{"status": budgetStatus}, e)
	class, e := classes.NewREST(o)
	add(storageV1, "volumeattributesclasses", "VolumeAttributesClass", class, nil, e)
	// Without a namespace to be looked at: it says who may ask for access as an administrator, which nobody does.
	devices, devicesStatus, e := deviceclaims.NewREST(o, corev1client.New(nil).Namespaces(),
		authorizer.AuthorizerFunc(authorize))
	add(deviceV1, "resourceclaims", "ResourceClaim", devices, map[string]rest.Storage{"status": devicesStatus}, e)
	deviceClass, e := deviceclasses.NewREST(o)
	add(deviceV1, "deviceclasses", "DeviceClass", deviceClass, nil, e)
	cidr, cidrStatus, e := cidrs.NewREST(o)
	add(networkV1, "servicecidrs", "ServiceCIDR", cidr, map[string]rest.Storage{"status": cidrStatus}, e)
	address, e := addresses.NewREST(o)
	add(networkV1, "ipaddresses", "IPAddress", address, nil, e)
	// Without the check that nobody gives what he hasn't: who writes here may do all.
	role, e := clusterroles.NewREST(o)
	add(rbacV1, "clusterroles", "ClusterRole", role, nil, e)
	return all, err
}

// authorize allows what one of a user's groups is called, such as "create nodeclient", the last part of a resource.
func authorize(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	what := a.GetVerb() + " " + cmp.Or(a.GetSubresource(), a.GetResource())
	for _, group := range a.GetUser().GetGroups() {
		if group == what {
			return authorizer.DecisionAllow, "a group says so", nil
		}
	}
	return authorizer.DecisionNoOpinion, "", nil
}

// strategy is what a resource's registry asks of its kind.
type strategy interface {
	rest.RESTCreateStrategy
	rest.RESTUpdateStrategy
	rest.RESTDeleteStrategy
}

// plain makes the storages of a resource whose own constructor asks for more than a cluster in memory has.
func plain(o generic.RESTOptionsGetter, gr schema.GroupResource, one, list runtime.Object, s strategy,
	status rest.RESTUpdateStrategy) (main, sub rest.Storage, err error) {
	of := &genericregistry.Store{
		NewFunc:                   func() runtime.Object { return one.DeepCopyObject() },
		NewListFunc:               func() runtime.Object { return list.DeepCopyObject() },
		DefaultQualifiedResource:  gr,
		SingularQualifiedResource: gr,
		CreateStrategy:            s,
		UpdateStrategy:            s,
		DeleteStrategy:            s,
		ReturnDeletedObject:       true,
		TableConvertor:            rest.NewDefaultTableConvertor(gr),
	}
	if err := of.CompleteWithOptions(&generic.StoreOptions{RESTOptions: o}); err != nil {
		return nil, nil, err
	}
	statuses := *of
	statuses.UpdateStrategy = status
	return of, &statuses, nil
}
