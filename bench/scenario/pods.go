package scenario

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/uuid"
)

// realistic is a pod as people run them: two containers with variables, probes, resources and mounts, three volumes and
// a token, tolerations. Neither the scheduler nor KWOK touches it: its status and its node are the benchmark's.
func realistic(app string, owner *metav1.OwnerReference) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		GenerateName: app + "-",
		Labels: map[string]string{"app": app, "app.kubernetes.io/name": app, "app.kubernetes.io/part-of": "storefront",
			"app.kubernetes.io/version": "2.31.4",
			"pod-template-hash":         "6d4cf56db6", "team": "checkout"},
		Annotations: map[string]string{"prometheus.io/scrape": "true", "prometheus.io/port": "9102",
			"checksum/config": "6f1ed002ab5595859014ebf0951522d9f1c9a4a9a4f5e1a3c4a8b8f2f6e5d4c3"},
	}}

	if owner != nil {
		p.OwnerReferences = []metav1.OwnerReference{*owner}
	}
	mode, seconds := int32(0o644), int64(300)
	p.Spec = corev1.PodSpec{
		SchedulerName: "nobody",
		NodeSelector:  map[string]string{"kubernetes.io/os": "linux"},
		Containers:    []corev1.Container{container("server", 14), container("proxy", 6)},
		Volumes: []corev1.Volume{
			{Name: "config", VolumeSource: corev1.VolumeSource{
				ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: app + "-config"},
					DefaultMode: &mode}}},
			{Name: "tls", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: app + "-tls",
				DefaultMode: &mode}}},
			{Name: "cache", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
		},
		Tolerations: []corev1.Toleration{{Key: "dedicated", Operator: corev1.TolerationOpEqual, Value: "web",
			Effect: corev1.TaintEffectNoSchedule}},
		TopologySpreadConstraints: []corev1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: corev1.LabelTopologyZone,
			WhenUnsatisfiable: corev1.ScheduleAnyway,
			LabelSelector:     &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}}},
		TerminationGracePeriodSeconds: &seconds,
	}

	return p
}

func container(name string, variables int) corev1.Container {
	probe := func(path string) *corev1.Probe {
		return &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: path,
			Port: intstr.FromString("http")}}, InitialDelaySeconds: 5, PeriodSeconds: 10, TimeoutSeconds: 2}
	}
	c := corev1.Container{
		Name: name, Image: "registry.example.com/storefront/" + name + ":2.31.4",
		Args:          []string{"--config=/etc/" + name + "/config.yaml", "--log-level=info"},
		Ports:         []corev1.ContainerPort{{Name: "http", ContainerPort: 8080}, {Name: "metrics", ContainerPort: 9102}},
		LivenessProbe: probe("/healthz"), ReadinessProbe: probe("/readyz"),
		Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("250m"),
				corev1.ResourceMemory: resource.MustParse("256Mi")},
			Limits: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1"),
				corev1.ResourceMemory: resource.MustParse("512Mi")},
		},
		VolumeMounts: []corev1.VolumeMount{{Name: "config", MountPath: "/etc/" + name, ReadOnly: true},
			{Name: "tls", MountPath: "/etc/tls", ReadOnly: true}, {Name: "cache", MountPath: "/var/cache/" + name}},
	}
	for i := range variables {
		c.Env = append(c.Env, corev1.EnvVar{Name: fmt.Sprintf("STOREFRONT_SETTING_%02d", i),
			Value: fmt.Sprintf("https://service-%02d.storefront.svc.cluster.local:8443/v1", i)})
	}
	c.Env = append(c.Env, corev1.EnvVar{Name: "POD_IP",
		ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "status.podIP"}}})
	return c
}

// running is the status of a pod that runs; n makes its address.
func running(n int, spec *corev1.PodSpec) corev1.PodStatus {
	now := metav1.Now()
	address := fmt.Sprintf("10.%d.%d.%d", 64+n>>16, n>>8&0xff, n&0xff)
	s := corev1.PodStatus{
		Phase: corev1.PodRunning, HostIP: "172.30.0.1", HostIPs: []corev1.HostIP{{IP: "172.30.0.1"}}, PodIP: address,
		PodIPs:    []corev1.PodIP{{IP: address}},
		StartTime: &now, QOSClass: corev1.PodQOSBurstable,
	}
	for _, t := range []corev1.PodConditionType{corev1.PodReadyToStartContainers, corev1.PodInitialized, corev1.PodReady,
		corev1.ContainersReady, corev1.PodScheduled} {
		s.Conditions = append(s.Conditions,
			corev1.PodCondition{Type: t, Status: corev1.ConditionTrue, LastTransitionTime: now})
	}
	yes := true
	for _, c := range spec.Containers {
		s.ContainerStatuses = append(s.ContainerStatuses, corev1.ContainerStatus{
			Name: c.Name, Image: c.Image, ImageID: c.Image +
				"@sha256:4bcff63911fcb4448bd4fdacec207030997caf25e9bea4045fa6c8c44de311d1", Ready: true, Started: &yes,
			ContainerID: fmt.Sprintf("containerd://%064x", n),
			State:       corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}},
		})
	}
	return s
}

// prototype makes a realistic pod that runs, by way of the API server, which adds its defaults and managedFields, and
// takes it away again.
func (w *World) prototype(ctx context.Context, namespace, app string, owner *metav1.OwnerReference) (*corev1.Pod,
	error) {
	pods := w.Client.CoreV1().Pods(namespace)
	p, err := pods.Create(ctx, realistic(app, owner), metav1.CreateOptions{})
	if err != nil {
		return nil, err
	}
	p.Status = running(0, &p.Spec)
	if p, err = pods.UpdateStatus(ctx, p, metav1.UpdateOptions{}); err != nil {
		return nil, err
	}
	now := int64(0)
	return p, pods.Delete(ctx, p.Name, metav1.DeleteOptions{GracePeriodSeconds: &now})
}

// createClones puts n pods like the prototype into the cluster, numbered from first, on so many nodes. KWOK leaves pods
// alone that have an address.
func (w *World) createClones(ctx context.Context, prototype *corev1.Pod, first, n, nodes int) error {
	etcd, err := w.etcdClient()
	if err != nil {
		return err
	}
	defer etcd.Close()
	return parallel(ctx, n, 32, func(ctx context.Context, i int) error {
		p := *prototype // what is changed is replaced, not written to
		p.Name, p.UID, p.ResourceVersion = fmt.Sprintf("%s%05x", p.GenerateName, first+i), uuid.NewUUID(), ""
		p.Spec.NodeName = fmt.Sprint("node-", (first+i)%nodes)
		p.Status = running(first+i, &p.Spec)
		return putObject(ctx, etcd, "pods/"+p.Namespace+"/"+p.Name, "v1", "Pod", &p)
	})
}

// perSet is how many pods a replica set of a full cluster has.
const perSet = 500

// nodesFor is how many nodes so many pods need, by what they ask for.
func nodesFor(pods int) int { return pods/400 + 1 }

// fillCluster makes n realistic pods, in replica sets behind services, each in a namespace of its own. No manager must
// run.
func (w *World) fillCluster(ctx context.Context, n int) error {
	sets := (n + perSet - 1) / perSet
	owners := make([]metav1.OwnerReference, sets)
	err := parallel(ctx, sets, 16, func(ctx context.Context, i int) error {
		name := namespaceName("load", i)
		if err := w.createNamespace(ctx, name); err != nil {
			return err
		}
		d := deployment("load", min(perSet, n-i*perSet))
		template := realistic("load", nil)
		set, err := w.Client.AppsV1().ReplicaSets(name).Create(ctx,
			&appsv1.ReplicaSet{ObjectMeta: d.ObjectMeta, Spec: appsv1.ReplicaSetSpec{
				Replicas: d.Spec.Replicas, Selector: d.Spec.Selector,
				Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: template.Labels,
					Annotations: template.Annotations}, Spec: template.Spec},
			}}, metav1.CreateOptions{})
		if err != nil {
			return err
		}
		owners[i] = *metav1.NewControllerRef(set, appsv1.SchemeGroupVersion.WithKind("ReplicaSet"))
		_, err = w.Client.CoreV1().Services(name).Create(ctx, service("load"), metav1.CreateOptions{})
		return err
	})
	if err != nil {
		return err
	}

	prototype, err := w.prototype(ctx, namespaceName("load", 0), "load", &owners[0])
	if err != nil {
		return err
	}

	began := time.Now()
	for i := range sets {
		p := *prototype
		p.Namespace, p.OwnerReferences = namespaceName("load", i), owners[i:i+1]
		if err := w.createClones(ctx, &p, i*perSet, min(perSet, n-i*perSet), nodesFor(n)); err != nil {
			return err
		}
		if done := min(n, (i+1)*perSet); i%20 == 19 || done == n {
			w.Say("    %d of %d pods, %.0f a second", done, n, float64(done)/time.Since(began).Seconds())
		}
	}

	return w.awaitPods(ctx, "", int64(n))
}

// createNamespace makes a namespace with the service account that its manager would make.
func (w *World) createNamespace(ctx context.Context, name string) error {
	if _, err := w.Client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}},
		metav1.CreateOptions{}); err != nil {
		return err
	}
	_, err := w.Client.CoreV1().ServiceAccounts(name).Create(ctx,
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default"}}, metav1.CreateOptions{})
	return err
}

// setReady sets a running pod's readiness.
func (w *World) setReady(ctx context.Context, namespace, name string, ready bool) error {
	status := map[bool]string{true: "True", false: "False"}[ready]
	body := fmt.Appendf(nil, `{"status":{"conditions":[{"type":"Ready","status":%q,"lastTransitionTime":%q}]}}`,
		status, time.Now().UTC().Format(time.RFC3339))
	_, err := w.Client.CoreV1().Pods(namespace).Patch(ctx, name, types.StrategicMergePatchType, body,
		metav1.PatchOptions{}, "status")
	return err
}
