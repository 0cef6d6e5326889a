package schema

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/host/schema/testpod"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	certificatesv1 "k8s.io/api/certificates/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

func marshal(t testing.TB, o runtime.Object) []byte {
	t.Helper()
	b, err := o.(message).Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestValues(t *testing.T) {
	pod := testpod.New(7)
	pod.OwnerReferences = append([]metav1.OwnerReference{{Kind: "Other", UID: "other"}}, pod.OwnerReferences...)
	pod.OwnerReferences[1].UID = "controller"
	pod.CreationTimestamp = metav1.NewTime(time.Date(2026, 2, 3, 4, 5, 6, 7000, time.UTC))
	pod.Spec.SecurityContext.SupplementalGroups = []int64{3, 1000000, -1}
	pod.Status.Resize = ""
	seconds, cpu := int32(30), int32(70)
	lease := &coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{LeaseDurationSeconds: &seconds,
		RenewTime: &metav1.MicroTime{Time: time.Date(2026, 2, 3, 4, 5, 6, 7000, time.UTC)}}}
	hpa := &autoscalingv2.HorizontalPodAutoscaler{
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{Metrics: []autoscalingv2.MetricSpec{{
			Type: "Resource", Resource: &autoscalingv2.ResourceMetricSource{Name: "cpu",
				Target: autoscalingv2.MetricTarget{AverageUtilization: &cpu}}}}}}
	csr := &certificatesv1.CertificateSigningRequest{Spec: certificatesv1.CertificateSigningRequestSpec{
		Request: []byte("\x00pem"), Extra: map[string]certificatesv1.ExtraValue{"a.b/c": {"x", "y"}, "d": {"z"}}}}

	for _, c := range []struct {
		group, version, resource string
		object                   runtime.Object
		path                     string
		want                     []string
	}{
		{"", "v1", "pods", pod, "metadata.name", []string{pod.Name}},
		{"", "v1", "pods", pod, "metadata.labels[app.kubernetes.io/component]", []string{"web"}},
		{"", "v1", "pods", pod, "metadata.labels[none]", nil},
		{"", "v1", "pods", pod, "metadata.deletionTimestamp", nil},
		{"", "v1", "pods", pod, "metadata.creationTimestamp", []string{"2026-02-03T04:05:06Z"}},
		{"", "v1", "pods", pod, "metadata.ownerReferences.kind", []string{"Other", "ReplicaSet"}},
		{"", "v1", "pods", pod, "controller.uid", []string{"controller"}},
		{"", "v1", "pods", pod, "controller.kind", []string{"ReplicaSet"}},
		{"", "v1", "pods", pod, "owners.uid", []string{"other", "controller"}},
		{"", "v1", "pods", pod, "spec.hostNetwork", []string{"false"}},
		{"", "v1", "pods", pod, "spec.enableServiceLinks", []string{"true"}},
		{"", "v1", "pods", pod, "spec.hostUsers", nil},
		{"", "v1", "pods", pod, "spec.securityContext.supplementalGroups", []string{"3", "1000000", "-1"}},
		{"", "v1", "pods", pod, "spec.volumes.configMap.name", []string{"shop-frontend-0-config"}},
		{"", "v1", "pods", pod, "spec.volumes.projected.sources.configMap.items.key", []string{"ca.crt"}},
		{"", "v1", "pods", pod, "spec.containers.resources.limits[memory]", []string{"512Mi"}},
		{"", "v1", "pods", pod, "spec.containers.resources.requests", []string{"250m", "256Mi"}},
		{"", "v1", "pods", pod, "spec.containers.livenessProbe.httpGet.port", []string{"http"}},
		{"", "v1", "pods", pod, "spec.containers.ports.containerPort", []string{"8080", "9090"}},
		{"", "v1", "pods", pod, "status.conditions.type",
			[]string{"PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"}},
		{"", "v1", "pods", pod, "spec.containers", nil},
		{"", "v1", "services", &corev1.Service{Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}},
			"spec.ports.targetPort", []string{"0"}},
		{"coordination.k8s.io", "v1", "leases", lease, "spec.renewTime", []string{"2026-02-03T04:05:06.000007Z"}},
		{"coordination.k8s.io", "v1", "leases", lease, "spec.leaseDurationSeconds", []string{"30"}},
		{"autoscaling", "v2", "horizontalpodautoscalers", hpa, "spec.metrics.resource.target.averageUtilization",
			[]string{"70"}},
		{"certificates.k8s.io", "v1", "certificatesigningrequests", csr, "spec.request", []string{"\x00pem"}},
		{"certificates.k8s.io", "v1", "certificatesigningrequests", csr, "spec.extra[a.b/c]", []string{"x", "y"}},
		{"certificates.k8s.io", "v1", "certificatesigningrequests", csr, "spec.extra", []string{"x", "y", "z"}},
	} {
		p, err := mustFor(t, c.group, c.version, c.resource).Message.Path(c.path)
		if err != nil {
			t.Error(err)
			continue
		}
		values, err := p.Values(nil, marshal(t, c.object))
		var got []string
		for _, v := range values {
			got = append(got, string(v))
		}
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: %q (%v), want %q", c.path, got, err, c.want)
		}
	}
}

func TestRawGivesMessagesThatPathsGoOnFrom(t *testing.T) {
	pod := mustFor(t, "", "v1", "pods").Message
	conditions, err := pod.Path("status.conditions")
	if err != nil {
		t.Fatal(err)
	}
	typ, err := conditions.Message().Path("type")
	if err != nil {
		t.Fatal(err)
	}
	all, err := conditions.Raw(nil, marshal(t, testpod.New(1)))
	if err != nil || len(all) != 5 {
		t.Fatal(len(all), err)
	}
	got, err := typ.Values(nil, all[2])
	if err != nil || len(got) != 1 || string(got[0]) != "Ready" {
		t.Errorf("%q %v", got, err)
	}
	labels, err := pod.Path("metadata.labels")
	if err != nil || !labels.Map() {
		t.Fatal(err)
	}
	entries, err := labels.Raw(nil, marshal(t, testpod.New(1)))
	if err != nil || len(entries) != 5 {
		t.Errorf("%q %v", entries, err)
	}
}

func TestPathErrorsSayWhatThereIs(t *testing.T) {
	pod := mustFor(t, "", "v1", "pods").Message
	for path, want := range map[string]string{
		"":                         "is empty",
		"spec..nodeName":           "empty segment",
		"spec.nodename":            `no field "nodename"; there is nodeName`,
		"spec.nodeNmae":            "there is nodeName",
		"metadata.labels.app":      `a map's key is in brackets: labels[app]`,
		"spec.nodeName[x]":         `"nodeName" isn't a map`,
		"spec.nodeName.x":          `ends at "nodeName"`,
		"metadata.labels[app":      "[ without ]",
		"metadata.labels[a]b":      "no dot after ]",
		"controller":               `no field "controller"`,
		"spec.controller.uid":      `no field "controller"`,
		"metadata.labels[a].b":     `ends at "labels"`,
		"metadata.managedFieldz.x": "managedFields",
	} {
		_, err := pod.Path(path)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %s", path, err, want)
		}
	}
}
