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

// known are objects, by plugin, that once stopped a controller, or whose extremes aren't fields: names in references,
// and how many there are. Each is YAML, of as many objects as the size says.
func known(size int) map[string][]string {
	const head = "{apiVersion: v1, kind: ConfigMap, metadata: "
	var owned, scaled, long []string
	for i, name := range []string{"a/b", "..", ".", "100%", "web%2Fscale", "a?b", "ü", strings.Repeat("long", 275)} {
		owned = append(owned, fmt.Sprintf(
			head+"{name: odd-%d, ownerReferences: [{apiVersion: v1, kind: Secret, name: %q, uid: nobody-%d}]}}", i, name, i))
		owned = append(owned, fmt.Sprintf(
			head+"{name: kind-%d, ownerReferences: [{apiVersion: v1, kind: %q, name: x, uid: kind-%d}]}}", i, name, i))
	}
	for i, target := range []string{
		"apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, name: admin",
		"apiVersion: v1, kind: Namespace, name: default", "apiVersion: v1, kind: ConfigMap, name: x",
		"apiVersion: v1, kind: Pod, name: x", "apiVersion: a/b, kind: C, name: x", "apiVersion: apps/v1, kind: x y, name: z",
		`apiVersion: apps/v1, kind: Deployment, name: "a?b#c"`,
	} {
		scaled = append(scaled, autoscaler(fmt.Sprint("target-", i), target))
	}
	selector := longSelector(size)
	long = append(long, `{apiVersion: apps/v1, kind: Deployment, metadata: {name: long}, spec: {replicas: 1, `+
		`selector: {matchExpressions: [{key: tier, operator: In, values: [`+selector+`]}]}, `+
		`template: {metadata: {labels: {tier: v0}}, spec: {containers: [{name: c, image: x}]}}}}`)
	for i := range 6 {
		long = append(long, autoscaler(fmt.Sprint("long-", i), "apiVersion: apps/v1, kind: Deployment, name: long"))
	}

	return map[string][]string{
		"garbagecollector":        owned,
		"horizontalpodautoscaler": append(scaled, long...),
		"endpointslicemirroring":  manySubsets(size / 4),
		"csrapproving":            {largeRequest(size * 10)},
		"statefulset":             {braces(size)},
	}
}

func autoscaler(name, target string) string {
	return `{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: ` + name + `}, ` +
		`spec: {scaleTargetRef: {` + target + `}, minReplicas: 1, maxReplicas: 3, metrics: [{type: Resource, ` +
		`resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}}]}}`
}

// longSelector returns values of a selector, so many bytes of them.
func longSelector(bytes int) string {
	values := []string{"v0"}
	for size := 0; size < bytes; size += 60 {
		values = append(values, fmt.Sprintf("v%050d", len(values)))
	}
	return strings.Join(values, ", ")
}

// manySubsets returns three Endpoints with so many subsets, each with a port of its own, and their services.
func manySubsets(subsets int) (all []string) {
	var list []string
	for i := range subsets {
		list = append(list, fmt.Sprintf("{addresses: [{ip: 10.9.%d.%d}], ports: [{name: p-%d, port: %d}]}", i>>8, i&255, i,
			i+1))
	}
	for i := range 3 {
		all = append(all,
			fmt.Sprintf("{apiVersion: v1, kind: Service, metadata: {name: many-%d}, "+
				"spec: {clusterIP: None, ports: [{port: 80}]}}", i),
			fmt.Sprintf("{apiVersion: v1, kind: Endpoints, metadata: {name: many-%d}, subsets: [%s]}", i,
				strings.Join(list, ", ")))
	}
	return all
}

// largeRequest is a request for a certificate with so many bytes before it.
func largeRequest(bytes int) string {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	request, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, key)
	if err != nil {
		panic(err)
	}
	text := strings.Repeat("# nothing\n", bytes/10) + string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST",
		Bytes: request}))
	return fmt.Sprintf(`{apiVersion: certificates.k8s.io/v1, kind: CertificateSigningRequest, metadata: {name: large}, `+
		`spec: {signerName: example.com/other, usages: [client auth], request: %q}}`,
		base64.StdEncoding.EncodeToString([]byte(text)))
}

// braces is a set whose template has so many braces in an annotation.
func braces(n int) string {
	return `{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: braces}, spec: {serviceName: x, replicas: 1, ` +
		`selector: {matchLabels: {app: braces}}, template: {metadata: {labels: {app: braces}, annotations: {config: "` +
		strings.Repeat("{", n) + `"}}, spec: {containers: [{name: c, image: x}]}}}}`
}
