// Package gates generates config/kcm/gates.txt, what Windlass has to know of kube-controller-manager's feature gates,
// from upstream's packages.
package gates

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/featuregate"
	logs "k8s.io/component-base/logs/api/v1"
	metrics "k8s.io/component-base/metrics/features"
	_ "k8s.io/controller-manager/pkg/features/register" // those of controller managers
	_ "k8s.io/kubernetes/pkg/features"                  // the others

	"github.com/windlass-dev/windlass/config/kcm"
)

// packages are the folders of upstream's pkg/controller that a controller's code is in, beside files of all.
var packages = map[string][]string{
	"bootstrap-signer-controller":                                    {"bootstrap"},
	"certificatesigningrequest-approving-controller":                 {"certificates/approver"},
	"certificatesigningrequest-cleaner-controller":                   {"certificates/cleaner/cleaner.go"},
	"certificatesigningrequest-signing-controller":                   {"certificates/signer", "certificates/authority"},
	"clusterrole-aggregation-controller":                             {"clusterroleaggregation"},
	"cronjob-controller":                                             {"cronjob"},
	"daemonset-controller":                                           {"daemon"},
	"deployment-controller":                                          {"deployment"},
	"disruption-controller":                                          {"disruption"},
	"endpoints-controller":                                           {"endpoint"},
	"endpointslice-controller":                                       {"endpointslice"},
	"endpointslice-mirroring-controller":                             {"endpointslicemirroring"},
	"ephemeral-volume-controller":                                    {"volume/ephemeral"},
	"garbage-collector-controller":                                   {"garbagecollector"},
	"horizontal-pod-autoscaler-controller":                           {"podautoscaler"},
	"job-controller":                                                 {"job"},
	"kube-apiserver-serving-clustertrustbundle-publisher-controller": {"certificates/clustertrustbundlepublisher"},
	"legacy-serviceaccount-token-cleaner-controller":                 {"serviceaccount/legacy_serviceaccount_token_cleaner.go"},
	"namespace-controller":                                           {"namespace"},
	"persistentvolume-protection-controller":                         {"volume/pvprotection"},
	"persistentvolumeclaim-protection-controller":                    {"volume/pvcprotection"},
	"pod-garbage-collector-controller":                               {"podgc"},
	"podcertificaterequest-cleaner-controller":                       {"certificates/cleaner/pcrcleaner.go"},
	"replicaset-controller":                                          {"replicaset", "controller_utils.go"},
	"replicationcontroller-controller":                               {"replication", "controller_utils.go"},
	"resourcequota-controller":                                       {"resourcequota"},
	"root-ca-certificate-publisher-controller":                       {"certificates/rootcacertpublisher"},
	"service-cidr-controller":                                        {"servicecidrs"},
	"serviceaccount-controller":                                      {"serviceaccount"},
	"serviceaccount-token-controller":                                {"serviceaccount"},
	"statefulset-controller":                                         {"statefulset"},
	"taint-eviction-controller":                                      {"tainteviction", "../apis/core/v1/helper/helpers.go"},
	"token-cleaner-controller":                                       {"bootstrap"},
	"ttl-after-finished-controller":                                  {"ttlafterfinished"},
	"volumeattributesclass-protection-controller":                    {"volume/vacprotection"},
}

// required are the gates without which kube-controller-manager leaves a controller out
// (cmd/kube-controller-manager/app, requiredFeatureGates).
var required = map[string][]string{
	"kube-apiserver-serving-clustertrustbundle-publisher-controller": {"ClusterTrustBundle"},
	"podcertificaterequest-cleaner-controller":                       {"PodCertificateRequest"},
}

// What kube-controller-manager's own packages add beside those that the imports bring (its app/options does).
func init() {
	for _, add := range []func(featuregate.MutableVersionedFeatureGate) error{logs.AddFeatureGates,
		metrics.AddFeatureGates} {
		if err := add(utilfeature.DefaultMutableFeatureGate); err != nil {
			panic(err)
		}
	}
}

// Text returns the file: a line for each gate, in order, with its name, what it is by default from each version of
// Kubernetes on, whether it is locked to that, whether it is alpha or beta then, which gates it can't be on without,
// and which controllers' code asks for it. kubernetes is the folder of k8s.io/kubernetes.
func Text(kubernetes string) (string, error) {
	asked, err := askedFor(kubernetes)
	if err != nil {
		return "", err
	}

	var b strings.Builder
	all, needs := utilfeature.DefaultMutableFeatureGate.GetAllVersioned(),
		utilfeature.DefaultMutableFeatureGate.Dependencies()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		b.WriteString(string(name))
		specs := slices.SortedFunc(slices.Values(all[name]), func(x, y featuregate.FeatureSpec) int {
			return cmp.Compare(x.Version.Minor(), y.Version.Minor())
		})
		for _, s := range specs {
			if s.MinCompatibilityVersion != nil && s.MinCompatibilityVersion.Minor() >= kcm.Minor {
				continue // by default a manager is compatible with the version before
			}
			fmt.Fprintf(&b, " %d.%d=%v", s.Version.Major(), s.Version.Minor(), s.Default)
			if s.LockToDefault {
				b.WriteString(",locked")
			}
			if stage := strings.ToLower(string(s.PreRelease)); stage == kcm.Alpha || stage == kcm.Beta {
				b.WriteString("," + stage)
			}
		}
		for _, needed := range slices.Sorted(slices.Values(needs[name])) {
			b.WriteString(" +" + string(needed))
		}
		for _, controller := range asked[string(name)] {
			b.WriteString(" " + controller)
		}
		b.WriteString("\n")
	}
	return b.String(), nil
}

// askedFor returns the controllers by the gate that their code asks for.
func askedFor(kubernetes string) (map[string][]string, error) {
	asked := map[string][]string{}
	for _, controller := range slices.Sorted(maps.Keys(packages)) {
		gates := map[string]bool{}
		for _, gate := range required[controller] {
			gates[gate] = true
		}
		for _, folder := range packages[controller] {
			err := filepath.WalkDir(filepath.Join(kubernetes, "pkg", "controller", folder),
				func(path string, d fs.DirEntry, err error) error {
					if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
						return err
					}
					return collect(path, gates)
				})
			if err != nil {
				return nil, err
			}
		}
		for gate := range gates {
			asked[gate] = append(asked[gate], controller)
		}
	}
	return asked, nil
}

// collect adds the gates that a file asks for: X of calls such as DefaultFeatureGate.Enabled(features.X).
func collect(path string, gates map[string]bool) error {
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		return err
	}

	ast.Inspect(file, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || len(call.Args) != 1 {
			return true
		}
		f, called := call.Fun.(*ast.SelectorExpr)
		gate, named := call.Args[0].(*ast.SelectorExpr)
		if called && named && f.Sel.Name == "Enabled" {
			gates[gate.Sel.Name] = true
		}
		return true
	})
	return nil
}
