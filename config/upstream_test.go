package config

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/windlass-dev/windlass/config/kcm"
)

// Each flag means exactly one thing, and what it sets is there, with the flag's default or a reason why it has another
// one.
func TestUpstreamTable(t *testing.T) {
	fs := pflag.NewFlagSet("upstream", pflag.ContinueOnError)
	addUpstream(fs)
	native := pflag.NewFlagSet("native", pflag.ContinueOnError)
	seen := map[string]bool{}
	for _, g := range kcm.Groups {
		for _, f := range g.Flags {
			if seen[f.Name] {
				t.Errorf("--%s is in the table twice", f.Name)
			}
			seen[f.Name] = true
			if n := len(slices.DeleteFunc([]string{f.Sets, f.Does, f.Why}, func(s string) bool { return s == "" })); n != 1 {
				t.Errorf("--%s has %d of Sets, Does and Why, not one", f.Name, n)
			}
			if f.Sets == "" || f.Value == nil {
				continue
			}

			f.Add(native)
			was := native.Lookup(f.Name)
			if differs := fs.Lookup(f.Name) != nil && fs.Lookup(f.Name).DefValue != was.DefValue; differs != (f.Differs != "") {
				t.Errorf("--%s: the default is %s, upstream's is %s, and the table says why: %q", f.Name,
					fs.Lookup(f.Name).DefValue, was.DefValue, f.Differs)
			}

			if byHand[f.Name] == nil {
				if err := setByPath(Default(), f.Sets, was.Value); err != nil {
					t.Errorf("--%s: %v", f.Name, err)
				}
			}
		}
	}
}

func TestUpstreamSets(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		env  map[string]string
		want func(*Configuration)
	}{
		"fields": {
			args: []string{"--kubeconfig=k", "--master=https://h:1", "--kube-api-qps=7.5", "--kube-api-burst=8",
				"--controllers=*,-job", "--use-service-account-credentials", "--controller-shutdown-timeout=0",
				"--min-resync-period=90m"},
			want: func(c *Configuration) {
				c.ClientConnection = ClientConnection{Kubeconfig: "k", Server: "https://h:1", QPS: 7.5, Burst: 8}
				c.Controllers, c.UseServiceAccountCredentials, c.ShutdownTimeout.Duration = []string{"*", "-job"}, true, 0
				c.MinResyncPeriod.Duration = 90 * time.Minute
			},
		},
		"ciphers": {
			args: []string{"--tls-cipher-suites=TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,TLS_RSA_WITH_AES_128_GCM_SHA256",
				"--tls-min-version="},
			want: func(c *Configuration) { c.Serving.TLS.CipherSuites = []string{"TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"} },
		},
		"serving": {
			args: []string{"--bind-address=::", "--secure-port=0", "--requestheader-allowed-names=a,b",
				"--authorization-always-allow-paths=/healthz", "--authentication-token-webhook-cache-ttl=1m", "--profiling=false",
				"--tls-min-version=VersionTLS13"},
			want: func(c *Configuration) {
				s := &c.Serving
				s.BindAddress, s.Port, s.Profiling, s.TLS.MinVersion = "::", 0, false, "VersionTLS13"
				s.Authentication.RequestHeader.AllowedNames, s.Authorization.AlwaysAllowPaths = []string{"a", "b"},
					[]string{"/healthz"}
				s.Authentication.TokenCacheTTL.Duration = time.Minute
			},
		},
		"leader election": {
			args: []string{"--leader-elect=false", "--leader-elect-lease-duration=30s", "--leader-elect-renew-deadline=20s",
				"--leader-elect-retry-period=3s", "--leader-elect-resource-name=n", "--leader-elect-resource-namespace=ns",
				"--leader-elect-resource-lock=leases"},
			want: func(c *Configuration) {
				l := &c.LeaderElection
				l.LeaderElect, l.ResourceName, l.ResourceNamespace = false, "n", "ns"
				l.LeaseDuration.Duration, l.RenewDeadline.Duration, l.RetryPeriod.Duration = 30*time.Second, 20*time.Second,
					3*time.Second
			},
		},
		"underscores": {args: []string{"--kube_api_burst=8", "--concurrent_replicaset_syncs=3", "--concurrent_rc_syncs=7"},
			want: func(c *Configuration) {
				c.ClientConnection.Burst = 8
				c.Plugins = []Plugin{{Name: "replicaset", Controllers: []PluginController{
					{Name: "replicaset-controller", Workers: 3}, {Name: "replicationcontroller-controller", Workers: 7},
				}}}
			}},
		"plugins": {
			args: []string{"--concurrent-job-syncs=9", "--concurrent-service-endpoint-syncs=6", "--max-endpoints-per-slice=50",
				"--endpointslice-updates-batch-period=500ms", "--terminated-pod-gc-threshold=-1"},
			want: func(c *Configuration) {
				c.Plugins = []Plugin{
					{Name: "job", Workers: 9},
					{Name: "endpointslice", Workers: 6, Settings: map[string]string{"max-endpoints-per-slice": "50",
						"endpointslice-updates-batch-period": "500ms"}},
					{Name: "podgc", Settings: map[string]string{"terminated-pod-gc-threshold": "-1"}},
				}
			},
		},
		"environment": {env: map[string]string{"WINDLASS_CONCURRENT_GC_SYNCS": "3"},
			want: func(c *Configuration) { c.Plugins = []Plugin{{Name: "garbagecollector", Workers: 3}} }},
		"ranges of nodes": {
			args: []string{"--allocate-node-cidrs", "--cluster-cidr=10.0.0.0/16,fd00::/48", "--node-cidr-mask-size-ipv4=26",
				"--service-cluster-ip-range=10.96.0.0/12", "--cidr-allocator-type=RangeAllocator"},
			want: func(c *Configuration) {
				c.Plugins = []Plugin{{Name: "nodeipam", Settings: map[string]string{"allocate-node-cidrs": "true",
					"cluster-cidr": "10.0.0.0/16,fd00::/48", "node-cidr-mask-size-ipv4": "26",
					"service-cluster-ip-range": "10.96.0.0/12", "cidr-allocator-type": "RangeAllocator"}}}
			},
		},
		"no ranges for nodes": {args: []string{"--allocate-node-cidrs=false"},
			want: func(c *Configuration) {
				c.Plugins = []Plugin{{Name: "nodeipam", Settings: map[string]string{"allocate-node-cidrs": "false"}}}
			}},
		"no garbage collector": {args: []string{"--enable-garbage-collector=false", "--controllers=garbagecollector,job"},
			want: func(c *Configuration) { c.Controllers = []string{"-garbage-collector-controller", "job"} }},
		"tokens that nobody turned on": {args: []string{"--service-account-private-key-file=sa.key", "--controllers=job,-serviceaccount-token"},
			want: func(c *Configuration) {
				c.Signing.ServiceAccountKeyFile = "sa.key"
				c.Controllers = []string{"serviceaccount-token-controller", "job", "-serviceaccount-token"}
			}},
		"tokens with the rest": {args: []string{"--service-account-private-key-file=sa.key"},
			want: func(c *Configuration) { c.Signing.ServiceAccountKeyFile = "sa.key" }},
		"garbage collector": {args: []string{"--enable-garbage-collector"}, want: func(*Configuration) {}},
	} {
		t.Run(name, func(t *testing.T) {
			for k, v := range c.env {
				t.Setenv(k, v)
			}
			got, err := fromFlags(t, c.args...)
			if err != nil {
				t.Fatal(err)
			}
			want := Default()
			c.want(want)
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
		})
	}
}

// A flag goes over what the file says of the same plugin, and leaves the rest of it.
func TestUpstreamOverFile(t *testing.T) {
	path := saveText(t, head+
		"plugins:\n- {name: job, workers: 2, budget: {deletesPerMinute: 3}}\n- {name: podgc, settings: {node-quarantine: 1m}}\n")
	got, err := fromFlags(t, "--config="+path, "--concurrent-job-syncs=9", "--terminated-pod-gc-threshold=5")
	if err != nil {
		t.Fatal(err)
	}
	want := []Plugin{{Name: "job", Workers: 9, Budget: Budget{DeletesPerMinute: 3}},
		{Name: "podgc", Settings: map[string]string{"node-quarantine": "1m", "terminated-pod-gc-threshold": "5"}}}
	if d := cmp.Diff(want, got.Plugins); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

func TestUpstreamRefuses(t *testing.T) {
	for flag, want := range map[string]string{
		"--concurrent-job-syncs=0":               `--concurrent-job-syncs: invalid value "0": must be at least 1`,
		"--concurrent-cron-job-syncs=0":          "must be at least 1",
		"--concurrent-job-syncs=1001":            "configuration with --concurrent-job-syncs: plugins[0].workers: Invalid value: 1001",
		"--controller-shutdown-timeout=-1s":      "shutdownTimeout: Invalid value",
		"--min-resync-period=-1s":                "minResyncPeriod: Invalid value",
		"--leader-elect-resource-lock=endpoints": "must be leases",
		"--tls-cipher-suites=TLS_FAST":           "serving.tls.cipherSuites[0]: Unsupported value",
		"--tls-min-version=VersionTLS10":         "serving.tls.minVersion: Unsupported value",
		"--cloud-provider=gce":                   `--cloud-provider: invalid value "gce": must be external, or empty`,
		"--service-cluster-ip-range=a,b,c":       "two with a comma",
		"--feature-gates=HPAScaleToZer=true":     `feature gate "HPAScaleToZer" isn't one of kube-controller-manager's (Kubernetes v1.37): did you mean HPAScaleToZero?`,
		"--feature-gates=HPAScaleToZero":         `HPAScaleToZero must be true or false, not ""`,
		"--feature-gates=HPAScaleToZero=maybe":   `must be true or false, not "maybe"`,
		"--feature-gates=x:HPAScaleToZero=true":  `"x" isn't a component with feature gates`,
		"--feature-gates=JobManagedBy=false":     "feature gate JobManagedBy is locked to true",
		"--emulated-version=1.33":                "version 1.33 is not between 1.34 and 1.37",
		"--emulated-version=1.38":                "version 1.38 is not between 1.34 and 1.37",
		"--emulated-version=1.35.1":              "isn't a version such as 1.37",
		"--emulated-version=1.34,kube=1.35":      "more than one version",
	} {
		t.Run(flag, func(t *testing.T) {
			_, err := fromFlags(t, flag)
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("no %q in: %v", want, err)
			}
		})
	}

	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	AddFlags(fs)
	for _, arg := range []string{"--node-monitor-period=5", "--node-eviction-rate=x", "--allocate-node-cidrs=maybe",
		"--bind-address=localhost", "--log-json-info-buffer-size=1e999999999", "--tls-sni-cert-key=a"} {
		if err := fs.Parse([]string{arg}); err == nil {
			t.Errorf("%s was taken", arg)
		}
	}
}

// A gate is a setting of the plugins whose controllers ask for it; one that wasn't locked yet in the version that is
// emulated can be set, one that wasn't there yet can't.
func TestGatesAreSettings(t *testing.T) {
	c, err := fromFlags(t, "--emulated-version=1.34",
		"--feature-gates=JobManagedBy=false,PodDeletionCost=false,DeploymentReplicaSetTerminatingReplicas=true")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]map[string]string{}
	for _, p := range c.Plugins {
		got[p.Name] = p.Settings
	}
	want := map[string]map[string]string{
		"job":        {"JobManagedBy": "false"},
		"replicaset": {"PodDeletionCost": "false", "DeploymentReplicaSetTerminatingReplicas": "true"},
		"deployment": {"DeploymentReplicaSetTerminatingReplicas": "true"},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}

	if _, err := fromFlags(t, "--emulated-version=1.34", "--feature-gates=HPAGeneration=true"); err == nil ||
		!strings.Contains(err.Error(), "doesn't exist yet in Kubernetes v1.34") {
		t.Errorf("a gate of v1.37 in v1.34: %v", err)
	}
}

// AllAlpha and AllBeta are the defaults of the gates that are of that stage in the version that is emulated; what is
// said of a gate by its name takes precedence, wherever it is said.
func TestGatesOfAStage(t *testing.T) {
	file := saveText(t, `{apiVersion: config.windlass.dev/v1alpha1, kind: ControllerManagerConfiguration, plugins: [{name: horizontalpodautoscaler, settings: {HPAGeneration: "true"}}]}`)
	for _, x := range []struct {
		args []string
		want map[string]string // of the job's and the autoscaler's plugin and the replicaset's
	}{
		{[]string{"--feature-gates=AllBeta=false,PodDeletionCost=true"}, map[string]string{
			"PersistentVolumeClaimUnusedSinceTime": "false", "PodDeletionCost": "true", "DeploymentReplicaSetTerminatingReplicas": "false", "HPAScaleToZero": "false",
			"HPAGeneration":     "true",
			"PodLevelResources": "false", "PodLevelResourcesFixKubeletQOSClass": "false", "MutableSchedulingDirectivesForSuspendedJobs": "false",
			"MaxUnavailableStatefulSet": "false", "StatefulSetSemanticRevisionComparison": "false",
		}},
		{[]string{"--feature-gates=AllAlpha=true,HPAScaleToZero=false,EventedPLEG=false", "--emulated-version=1.34"},
			map[string]string{
				"DeploymentReplicaSetTerminatingReplicas": "true", "HPAScaleToZero": "false", "HPAGeneration": "true",
				"MaxUnavailableStatefulSet": "true", "PodCertificateRequest": "true",
			}},
		{[]string{"--feature-gates=AllAlpha=true,GenericWorkload=true"}, map[string]string{
			"StatefulSetRecreateStrategy": "true", "TaintTolerationComparisonOperators": "true", "HPAGeneration": "true",
		}},
		{[]string{"--feature-gates=AllBeta=false", "--emulated-version=1.34"}, map[string]string{
			"JobManagedBy": "false", "PodDeletionCost": "false", "PodLevelResources": "false", "HPAGeneration": "true",
			"StatefulSetSemanticRevisionComparison": "false", "ClusterTrustBundle": "false",
		}},
	} {
		c, err := fromFlags(t, append(x.args, "--config="+file)...)
		if err != nil {
			t.Fatal(err)
		}

		got := map[string]string{}
		for _, p := range c.Plugins {
			maps.Copy(got, p.Settings)
		}
		if d := cmp.Diff(x.want, got); d != "" {
			t.Errorf("%v: -want +got:\n%s", x.args, d)
		}
	}
}

// A gate that is on without those that it needs is refused, as natively: in v1.34 AllAlpha alone turns one on whose
// need comes later.
func TestGatesThatNeedOthers(t *testing.T) {
	_, err := fromFlags(t, "--feature-gates=AllAlpha=true", "--emulated-version=1.34")
	const want = "feature gate EventedPLEG is enabled, but depends on features that are disabled: [PLEGOnDemandRelist]"
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
	if _, err = fromFlags(t, "--feature-gates=AllAlpha=true,EventedPLEG=false", "--emulated-version=1.34"); err != nil &&
		strings.Contains(err.Error(), "EventedPLEG") {
		t.Error(err)
	}
}

func TestNotices(t *testing.T) {
	t.Setenv("WINDLASS_PVCLAIMBINDER_SYNC_PERIOD", "20s")
	fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
	AddFlags(fs)
	gates := "kube:HPAScaleToZero=false,AllAlpha=true,StatefulSetRecreateStrategy=false," +
		"TaintTolerationComparisonOperators=true,AllBeta=true,HPAConfigurableTolerance=true,WorkloadWithJob=true"
	if err := fs.Parse([]string{"--concurrent-job-syncs=5", "--enable-hostpath-provisioner=true", "--cloud-provider=external",
		"--feature-gates=" + gates, "--tls-cipher-suites=TLS_RSA_WITH_AES_128_GCM_SHA256"}); err != nil {
		t.Fatal(err)
	}

	if _, err := FromFlags(fs); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, n := range Notices(fs) {
		if n.Why == "" {
			t.Errorf("%s: no reason", n.Flag)
		}
		if unbuilt := strings.Contains(n.Why,
			"isn't built here yet"); n.Flag == "--feature-gates=HPAConfigurableTolerance=true" && unbuilt {
			t.Errorf("%s: %s, and it is on", n.Flag, n.Why)
		}
		got = append(got, n.Flag)
	}

	want := []string{"--feature-gates=AllAlpha=true", "--feature-gates=HPAConfigurableTolerance=true",
		"--feature-gates=WorkloadWithJob=true", "--cloud-provider",
		"--tls-cipher-suites=TLS_RSA_WITH_AES_128_GCM_SHA256", "--pvclaimbinder-sync-period", "--enable-hostpath-provisioner"}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

func saveText(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestMissing(t *testing.T) {
	names := []string{"job-controller", "deployment-controller"}
	named, others := Missing([]string{"*", "bootstrapsigner", "-ttl", "job"}, names)
	if d := cmp.Diff([]string{"bootstrap-signer-controller"}, named); d != "" {
		t.Error(d)
	}
	for name, want := range map[string]bool{"cronjob-controller": true, "ttl-controller": false,
		"token-cleaner-controller": false, "job-controller": false, "bootstrap-signer-controller": false} {
		if slices.Contains(others, name) != want {
			t.Errorf("%s among the others: %v", name, !want)
		}
	}
	if named, others = Missing([]string{"job"}, names); named != nil || others != nil {
		t.Error(named, others)
	}
}
