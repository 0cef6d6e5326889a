package awkward

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"strings"
)

// objects returns objects by plugin, as YAML.
func objects(size int) map[string][]string {
	many := 500 * size

	return map[string][]string{
		"cleaner":                 secrets(),
		"clusterroleaggregation":  aggregated(many),
		"cronjob":                 schedules(many),
		"csrapproving":            requests(many),
		"daemonset":               {workload("DaemonSet", "wide", tolerations(many), ""), large("DaemonSet", "")},
		"deployment":              deployments(many),
		"disruption":              budgets(many),
		"endpoints":               {service("many-ports", many), service("many-labels", 1)},
		"endpointslice":           {service("more-ports", many)},
		"endpointslicemirroring":  subsets(many),
		"ephemeralvolume":         {volumes(many)},
		"garbagecollector":        owners(),
		"horizontalpodautoscaler": autoscalers(many),
		"job":                     jobs(),
		"namespace":               {namespace()},
		"podgc":                   {pod("gone", "nodeName: nobody, "+tolerations(many)+", "), pod("gated", gates(many))},
		"protection":              protected(),
		"nodeipam":                {`{apiVersion: v1, kind: Node, metadata: {name: awkward-range}, spec: {podCIDR: 203.0.113.0/24, podCIDRs: [203.0.113.0/24]}}`},
		"nodettl": {`{apiVersion: v1, kind: Node, metadata: {name: awkward-told, annotations: {node.alpha.kubernetes.io/ttl: ` +
			long(200_000) + `}}}`},
		"replicaset": {workload("ReplicaSet", "wide", tolerations(many), ""), large("ReplicaSet", ""),
			workload("ReplicationController", "wide", tolerations(many), "")},
		"rootca": {`{apiVersion: v1, kind: ConfigMap, metadata: {name: large}, data: {text: ` + long(900_000) + `}}`},
		"serviceaccount": {`{apiVersion: v1, kind: ServiceAccount, metadata: {name: large, annotations: {a: ` +
			long(250_000) + `}}}`},
		"servicecidr": {`{apiVersion: networking.k8s.io/v1, kind: ServiceCIDR, metadata: {name: awkward}, spec: ` +
			`{cidrs: [198.51.100.254/31]}}`},
		"statefulset":      {braces(20 * many), large("StatefulSet", "serviceName: x, ")},
		"ttlafterfinished": {job("ttl", "ttlSecondsAfterFinished: 2147483647, suspend: true, ")},
	}
}

// long is a text of so many bytes.
func long(bytes int) string { return strings.Repeat("x", bytes) }

// list joins so many texts, each of which has its number.
func list(n int, format string) string {
	all := make([]string, n)
	for i := range all {
		all[i] = strings.ReplaceAll(format, "#", fmt.Sprint(i))
	}
	return strings.Join(all, ", ")
}

const containers = "containers: [{name: c, image: x}]"

// unschedulable keeps pods from nodes.
const unschedulable = "nodeSelector: {awkward: nowhere}, "

func pod(name, spec string) string {
	return `{apiVersion: v1, kind: Pod, metadata: {name: ` + name + `}, spec: {` + spec + containers + `}}`
}

func tolerations(n int) string {
	return "tolerations: [" + list(n, "{key: key-#, operator: Exists}") + "]"
}

func gates(n int) string { return "schedulingGates: [" + list(n, "{name: example.com/gate-#}") + "], " }

// workload is of a kind, with a pod that no node takes, a selector of many labels, and more in its pods' spec and its
// own.
func workload(kind, name, pods, spec string) string {
	version, selector := "apps/v1", "selector: {matchLabels: {"+list(100, "label-#: "+long(60))+"}}, "
	if kind == "ReplicationController" {
		version, selector = "v1", "selector: {"+list(100, "label-#: "+long(60))+"}, "
	}
	return `{apiVersion: ` + version + `, kind: ` + kind + `, metadata: {name: ` + name + `}, spec: {` + spec + selector +
		`minReadySeconds: 2147483646, template: {metadata: {labels: {` + list(100, "label-#: "+long(60)) +
		`, more: label}}, spec: {` + unschedulable + pods + `, ` + containers + `}}}}`
}

// large has an environment of a megabyte.
func large(kind, spec string) string {
	return `{apiVersion: apps/v1, kind: ` + kind + `, metadata: {name: large, annotations: {a: ` + long(200_000) + `}}, ` +
		`spec: {` + spec + `selector: {matchLabels: {app: large-` + strings.ToLower(kind) + `}}, template: {metadata: ` +
		`{labels: {app: large-` + strings.ToLower(kind) + `}}, spec: {` + unschedulable +
		`containers: [{name: c, image: x, env: [{name: BIG, value: ` + long(1_000_000) + `}]}]}}}}`
}

func deployments(many int) []string {
	const head = `{apiVersion: apps/v1, kind: Deployment, metadata: {name: `
	const pods = `template: {metadata: {labels: {tier: v0}}, spec: {` + unschedulable + containers + `}}}}`
	return []string{
		head + `terms}, spec: {replicas: 1, selector: {matchExpressions: [` +
			list(many, "{key: tier, operator: NotIn, values: [v0#0]}") + `, {key: tier, operator: In, values: [v0]}]}, ` + pods,
		head + `numbers}, spec: {replicas: 1, revisionHistoryLimit: 2147483647, progressDeadlineSeconds: 2147483647, ` +
			`minReadySeconds: 2147483646, strategy: {rollingUpdate: {maxSurge: 2147483647, maxUnavailable: 2147483647}}, ` +
			`selector: {matchLabels: {tier: v0, of: numbers}}, ` + strings.Replace(pods, "tier: v0", "tier: v0, of: numbers", 1),
		head + strings.Repeat("n", 253) + `}, spec: {replicas: 1, selector: {matchLabels: {tier: v0, of: names}}, ` +
			strings.Replace(pods, "tier: v0", "tier: v0, of: names", 1),
		large("Deployment", ""),
	}
}

func jobs() []string {
	rules := list(20, "{action: Ignore, onExitCodes: {operator: In, values: ["+list(255, "1#")+"]}}")
	return []string{
		job("indexed", "completionMode: Indexed, completions: 100000, parallelism: 1, backoffLimitPerIndex: 2147483647, "+
			"maxFailedIndexes: 100000, "),
		job("numbers", "completions: 2147483647, parallelism: 1, backoffLimit: 2147483647, "+
			"activeDeadlineSeconds: 9223372036854775807, podFailurePolicy: {rules: ["+rules+"]}, "),
		job("none", "completions: 0, parallelism: 2147483647, "),
	}
}

func job(name, spec string) string {
	return `{apiVersion: batch/v1, kind: Job, metadata: {name: ` + name + `}, spec: {` + spec +
		`template: {spec: {restartPolicy: Never, ` + unschedulable + containers + `}}}}`
}

func schedules(many int) (all []string) {
	for i, spec := range []string{
		`schedule: "* * 29 2 *", timeZone: America/Asuncion`, `schedule: "0 0 31 2 *"`,
		`schedule: "` + strings.TrimSuffix(strings.Repeat("0,", 10*many), ",") + ` 0 1 1 *"`,
		`schedule: "@every 9223372036s", startingDeadlineSeconds: 9223372036854775807`,
		`schedule: "0 0 1 1 *", startingDeadlineSeconds: 0, failedJobsHistoryLimit: 2147483647`,
	} {
		all = append(all, fmt.Sprintf(`{apiVersion: batch/v1, kind: CronJob, metadata: {name: at-%d}, spec: {%s, `+
			`jobTemplate: {spec: {template: {spec: {restartPolicy: Never, %s}}}}}}`, i, spec, containers))
	}
	return all
}

func service(name string, ports int) string {
	return `{apiVersion: v1, kind: Service, metadata: {name: ` + name + `, annotations: {a: ` + long(200_000) +
		`}}, spec: {clusterIP: None, selector: {tier: v0}, ports: [` + list(ports, "{name: port-#, port: #1}") + `]}}`
}

// subsets are Endpoints with many subsets, each with a port of its own, and their services.
func subsets(many int) (all []string) {
	var subsets []string
	for i := range many / 4 {
		subsets = append(subsets, fmt.Sprintf("{addresses: [{ip: 10.9.%d.%d}], ports: [{name: p-%d, port: %d}]}", i>>8, i&255,
			i, i+1))
	}
	for i := range 2 {
		all = append(all,
			fmt.Sprintf("{apiVersion: v1, kind: Service, metadata: {name: many-%d}, "+
				"spec: {clusterIP: None, ports: [{port: 80}]}}", i),
			fmt.Sprintf("{apiVersion: v1, kind: Endpoints, metadata: {name: many-%d}, subsets: [%s]}", i,
				strings.Join(subsets, ", ")))
	}
	return all
}

// owners are objects whose owners have names and kinds that name nothing.
func owners() (all []string) {
	const head = "{apiVersion: v1, kind: ConfigMap, metadata: "
	for i, name := range []string{"a/b", "..", ".", "100%", "web%2Fscale", "a?b", "ü", strings.Repeat("long", 275)} {
		all = append(all, fmt.Sprintf(
			head+"{name: odd-%d, ownerReferences: [{apiVersion: v1, kind: Secret, name: %q, uid: nobody-%d}]}}", i, name, i))
	}
	return append(all, head+"{name: many, ownerReferences: ["+
		list(2000, "{apiVersion: v1, kind: Secret, name: nobody-#, uid: one-#}")+"]}}")
}

func autoscalers(many int) (all []string) {
	for i, target := range []string{
		"apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, name: admin",
		"apiVersion: apps/v1, kind: Namespace, name: default", "apiVersion: storage.k8s.io/v1, kind: CSINode, name: x",
		"apiVersion: apps/v1, kind: x y, name: z", `apiVersion: apps/v1, kind: Deployment, name: "a?b#c"`,
	} {
		all = append(all, autoscaler(fmt.Sprint("target-", i), target, "1"))
	}

	all = append(all, `{apiVersion: apps/v1, kind: Deployment, metadata: {name: long}, spec: {replicas: 1, `+
		`selector: {matchExpressions: [{key: tier, operator: In, values: [`+list(many, "v#")+`]}]}, `+
		`template: {metadata: {labels: {tier: v0}}, spec: {`+unschedulable+containers+`}}}}`)
	for i := range 6 {
		all = append(all, autoscaler(fmt.Sprint("long-", i), "apiVersion: apps/v1, kind: Deployment, name: long",
			"9223372036854775807"))
	}
	return all
}

// budgets are of all pods, of which some belong to what can be in no path, and one of a long selector.
func budgets(many int) (all []string) {
	for i, owner := range []string{
		"apiVersion: apps/v1, kind: x y, name: z", `apiVersion: apps/v1, kind: Deployment, name: "a?b#c"`,
		"apiVersion: v1, kind: Namespace, name: default", `apiVersion: apps/v1, kind: StatefulSet, name: ".."`,
	} {
		name := fmt.Sprint("owned-", i)
		all = append(all, `{apiVersion: v1, kind: Pod, metadata: {name: `+name+`, labels: {owned: `+name+`}, `+
			`ownerReferences: [{`+owner+`, uid: u, controller: true}]}, spec: {`+unschedulable+containers+`}}`,
			budget(name, "matchLabels: {owned: "+name+"}"))
	}
	return append(all, budget("all", ""),
		budget("long", "matchExpressions: [{key: owned, operator: In, values: ["+list(many, "v#")+"]}]"))
}

func budget(name, selector string) string {
	return `{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: ` + name + `}, ` +
		`spec: {maxUnavailable: 99%, selector: {` + selector + `}}}`
}

func autoscaler(name, target, value string) string {
	return `{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: ` + name + `}, ` +
		`spec: {scaleTargetRef: {` + target + `}, minReplicas: 1, maxReplicas: 2147483647, metrics: [` +
		list(50, `{type: Resource, resource: {name: cpu-#, target: {type: AverageValue, averageValue: "`+value+`"}}}`) + `]}}`
}

// requests are requests for certificates with much before and after them.
func requests(many int) (all []string) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	request, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, key)
	if err != nil {
		panic(err)
	}
	text := strings.Repeat("# nothing\n", 20*many) +
		string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: request}))
	for i, signer := range []string{"example.com/other", "kubernetes.io/kube-apiserver-client-kubelet"} {
		all = append(all, fmt.Sprintf(`{apiVersion: certificates.k8s.io/v1, kind: CertificateSigningRequest, `+
			`metadata: {name: large-%d}, spec: {signerName: %s, usages: [client auth], request: %q}}`, i, signer,
			base64.StdEncoding.EncodeToString([]byte(text))))
	}
	return all
}

func secrets() (all []string) {
	for i, expiration := range []string{"never", "9999-12-31T23:59:59Z", "0001-01-01T00:00:00Z", long(1000)} {
		all = append(all, fmt.Sprintf(`{apiVersion: v1, kind: Secret, type: bootstrap.kubernetes.io/token, metadata: `+
			`{name: bootstrap-token-%d}, stringData: {expiration: %q, token-id: %q}}`, i, expiration, long(5000)))
	}
	return append(all, `{apiVersion: v1, kind: Secret, type: kubernetes.io/service-account-token, metadata: {name: `+
		strings.Repeat("s", 253)+`, annotations: {kubernetes.io/service-account.name: "a/b", `+
		`kubernetes.io/service-account.uid: `+long(5000)+`}}}`)
}

func aggregated(many int) []string {
	const head = `{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: awkward-`
	return []string{
		head + `sum}, aggregationRule: {clusterRoleSelectors: [` + list(many, `{matchLabels: {awkward: "#"}}`) +
			`]}, rules: []}`,
		head + `part, labels: {awkward: "1"}}, rules: [` +
			list(4*many, "{apiGroups: [example.com], resources: [resource-#], verbs: [get]}") + `]}`,
	}
}

func volumes(many int) string {
	return pod("volumes", unschedulable+"volumes: ["+list(many/4, "{name: volume-#, ephemeral: {volumeClaimTemplate: "+
		"{spec: {accessModes: [ReadWriteOnce], storageClassName: nothing, "+
		"resources: {requests: {storage: 9223372036854775807}}}}}}")+"], ")
}

func namespace() string {
	return `{apiVersion: v1, kind: Namespace, metadata: {name: ` + strings.Repeat("n", 63) + `, annotations: {a: ` +
		long(250_000) + `}}}`
}

func protected() []string {
	name := strings.Repeat("p", 253)
	return []string{
		`{apiVersion: v1, kind: PersistentVolume, metadata: {name: ` + name + `}, spec: {capacity: {storage: ` +
			`9223372036854775807}, accessModes: [ReadWriteOnce], storageClassName: nothing, volumeAttributesClassName: ` + name +
			`, csi: {driver: example.com, volumeHandle: x}}}`,
		`{apiVersion: storage.k8s.io/v1, kind: VolumeAttributesClass, metadata: {name: ` + name +
			`}, driverName: example.com, parameters: {` + list(500, "key-#: "+long(100)) + `}}`,
		`{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: ` + name + `}, spec: ` +
			`{accessModes: [ReadWriteOnce], storageClassName: nothing, resources: {requests: {storage: 9223372036854775807}}}}`,
	}
}

// braces is a set whose template has so many braces in an annotation.
func braces(n int) string {
	return `{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: braces}, spec: {serviceName: x, replicas: 1, ` +
		`selector: {matchLabels: {app: braces}}, template: {metadata: {labels: {app: braces}, annotations: {config: "` +
		strings.Repeat("{", n) + `"}}, spec: {` + unschedulable + containers + `}}}}`
}
