package abi

import "math"

// value is a message of version 1, under the name that its bytes have in testdata/v1.
type value struct {
	name    string
	message any // a pointer to it
	// read says that the bytes are such as others may write, and are only read here.
	read bool
}

// version1Messages returns what testdata/v1/messages.txt has the bytes of. New ones are added, none is changed.
func version1Messages() []value {
	var all []value
	for _, part := range [][]value{toThePlugin(), answers(), version1Effects(), performs(), writtenByOthers(), helpers()} {
		all = append(all, part...)
	}
	return all
}

func toThePlugin() []value {
	key := KeyRef{Resource: "apps/v1/replicasets", Namespace: "shop", Name: "web"}

	return []value{
		{name: "settings", message: &Settings{Values: []string{"50", "", "größer"}}},
		{name: "settings-none", message: &Settings{}},
		{name: "request", message: &SyncRequest{
			Controller: 1, Key: key, Now: 1767268800000000000, Attempt: 3, Settings: "sha256:5eed", State: []byte{0, 255},
			Views: []ViewData{
				{View: 0, StoreVersion: "4711", Objects: []ObjectData{
					{Data: []byte("\x0a\x05\x0a\x03web"), ResourceVersion: "4700"},
					{Data: []byte("\x0a\x05\x0a\x03api"), ResourceVersion: "4701", Resource: "v1/services", Kind: "Service"},
				}},
				{View: 1, StoreVersion: "4712", Count: 300},
				{View: 2, Guarded: true},
			},
		}},
		{name: "request-without-the-unlisted", message: &SyncRequest{Key: key, Views: []ViewData{
			{View: 0, Count: 1, Unlisted: []string{"example.com/v1/gears", "metrics.example.com/v1beta1/*"}},
		}}},
		{name: "request-of-distinct-objects", message: &SyncRequest{Key: key, Views: []ViewData{
			{View: 1, Objects: []ObjectData{{Data: []byte{0x12, 0}, Count: 50000}}}, {View: 2, Unserved: true},
		}}},
		{name: "request-of-a-key", message: &SyncRequest{Key: KeyRef{Name: "default"}}},
		{name: "request-without-anything", message: &SyncRequest{}},
		{name: "request-before-its-timer", message: &SyncRequest{Key: KeyRef{Name: "default"}, Timer: 30000000000}},
	}
}

func answers() []value {
	return []value{
		{name: "response", message: &SyncResponse{
			Effects:      []Effect{{Kind: EffectDelete, Resource: "v1/pods", Namespace: "shop", Name: "web-1", UID: "u-1"}},
			State:        []byte("seen"),
			RequeueAfter: 1500000000,
			Error:        "no room",
			Metrics: []MetricUpdate{
				{Metric: 2, Labels: []int32{1, 0, 300}, Value: 0.5, Namespace: "shop"},
				{Metric: 1, Value: math.NaN(), From: 1, To: 2},
			},
		}},
		{name: "response-nothing-to-do", message: &SyncResponse{}},
		{name: "response-keeps-state", message: &SyncResponse{KeepState: true}},
		{name: "metric-of-a-row", message: &SyncResponse{Metrics: []MetricUpdate{{Labels: []int32{0}, Value: 7, Row: 3}}}},
		{name: "metric-negative", message: &SyncResponse{Metrics: []MetricUpdate{{Value: -2.25}}}},
	}
}

// version1Effects returns one effect of each kind at least, as plugins ask for them.
func version1Effects() []value {
	object := []byte("\x0a\x05\x0a\x03web")
	of := func(kind EffectKind, change func(*Effect)) *PerformRequest {
		e := Effect{Kind: kind, Resource: "v1/pods", Namespace: "shop", Name: "web"}
		change(&e)
		return &PerformRequest{Effects: []Effect{e}}
	}

	return []value{
		{name: "create", message: of(EffectCreate, func(e *Effect) {
			e.Object, e.DryRun, e.Tolerate = object, true, TolerateAlreadyExists|TolerateNamespaceTerminating
		})},
		{name: "update-status", message: of(EffectUpdate, func(e *Effect) {
			e.Subresource, e.Object, e.Precondition, e.Version = "status", object, PreconditionVersion, "4700"
		})},
		{name: "update-without-precondition", message: of(EffectUpdate, func(e *Effect) {
			e.Object, e.Precondition, e.Tolerate = object, PreconditionNone, TolerateConflict
		})},
		{name: "patch-json", message: of(EffectPatch, func(e *Effect) {
			e.Object, e.Patch, e.Metadata, e.Tolerate = []byte(`[]`), JSONPatch, true, TolerateInvalid
		})},
		{name: "patch-merge", message: of(EffectPatch, func(e *Effect) {
			e.Object, e.Patch, e.Precondition, e.UID = []byte(`{"a":1}`), MergePatch, PreconditionUID, "u-1"
		})},
		{name: "patch-strategic", message: of(EffectPatch, func(e *Effect) {
			e.Object, e.Patch = []byte(`{}`), StrategicPatch
		})},
		{name: "apply", message: of(EffectApply, func(e *Effect) { e.Object = []byte(`{"spec":{}}`) })},
		{name: "delete", message: of(EffectDelete, func(e *Effect) {
			e.UID, e.Tolerate, e.Always, e.HasGrace = "u-1", TolerateNotFound, true, true
			e.Propagation = PropagationBackground
		})},
		{name: "delete-foreground", message: of(EffectDelete, func(e *Effect) {
			e.Propagation, e.Grace, e.HasGrace = PropagationForeground, 30, true
		})},
		{name: "delete-orphan", message: of(EffectDelete, func(e *Effect) { e.Propagation = PropagationOrphan })},
		{name: "evict", message: of(EffectEvict, func(e *Effect) { e.UID = "u-1" })},
		{name: "delete-collection", message: of(EffectDeleteCollection, func(e *Effect) { e.Name = "" })},
		{name: "event", message: of(EffectEvent, func(e *Effect) {
			e.UID, e.Version = "u-1", "4700"
			e.Event = &EventData{Type: "Warning", Reason: "FailedCreate", Message: "no room"}
		})},
		{name: "get", message: of(EffectGet, func(e *Effect) { e.UID = "u-1" })},
		{name: "list", message: of(EffectList, func(e *Effect) {
			e.Name, e.Metadata, e.Ask = "", true, &Ask{Selector: []byte("\x0a\x0a\x0a\x03app\x12\x03web")}
		})},
		{name: "review", message: of(EffectReview, func(e *Effect) {
			*e = Effect{Kind: EffectReview, Resource: "authorization.k8s.io/v1/subjectaccessreviews", Object: object}
		})},
		{name: "view", message: of(EffectView, func(e *Effect) {
			*e = Effect{Kind: EffectView, Ask: &Ask{
				View: 2, Namespace: "shop", Names: []string{"web", "api"}, Path: "spec.nodeName", Values: []string{"n-1"},
				Selector: []byte{}, Fresh: true, Count: true,
			}}
		})},
		{name: "view-shared", message: of(EffectView, func(e *Effect) {
			*e = Effect{Kind: EffectView, Ask: &Ask{View: 2, Namespace: "shop", Fresh: true, Shared: true}}
		})},
		{name: "view-of-a-resource", message: of(EffectView, func(e *Effect) {
			*e = Effect{Kind: EffectView, Ask: &Ask{View: 2, Namespace: "shop", Resource: "deployments.apps", Count: true}}
		})},
		{name: "group-in-sequence", message: nestedGroup(Sequence)},
		{name: "group-with-a-slow-start", message: nestedGroup(SlowStart)},
		{name: "group-in-parallel", message: nestedGroup(Parallel)},
		{name: "group-independent", message: nestedGroup(Independent)},
		{name: "wake", message: &PerformRequest{Effects: []Effect{{Kind: EffectWake, Wake: &Wake{
			Controller: 1, Key: KeyRef{Namespace: "shop", Name: "web"},
		}}}}},
		{name: "discover-a-kind", message: &PerformRequest{Effects: []Effect{{Kind: EffectDiscover, Discover: &Discover{
			APIVersion: "apps/v1", Kind: "Deployment",
		}}}}},
		{name: "discover-all", message: &PerformRequest{Effects: []Effect{{Kind: EffectDiscover, Discover: &Discover{}}}}},
		{name: "read", message: &PerformRequest{Effects: []Effect{{
			Kind: EffectRead, Resource: "metrics.k8s.io/v1beta1/pods", Path: "/apis/metrics.k8s.io/v1beta1/namespaces/shop/pods",
		}}}},
		{name: "publish", message: &PerformRequest{Effects: []Effect{{
			Kind: EffectPublish, Object: []byte("app=web"), Terms: []string{"app", "web"},
		}}}},
		{name: "facts", message: &PerformRequest{Effects: []Effect{{
			Kind: EffectFacts, Namespace: "shop", Terms: []string{"app"},
		}}}},
		{name: "zone", message: &PerformRequest{Effects: []Effect{{
			Kind: EffectZone, Zone: &Zone{Name: "Europe/Rome", At: 1_464_134_400},
		}}}},
		{name: "zone-of-the-process", message: &PerformRequest{Effects: []Effect{{
			Kind: EffectZone, Zone: &Zone{Name: LocalZone},
		}}}},
		{name: "sign-certificate", message: &PerformRequest{Effects: []Effect{{
			Kind: EffectSign, Resource: "certificates.k8s.io/v1/certificatesigningrequests", Name: "node-csr-1", UID: "u-1", Version: "4700",
			Sign: &Sign{Kind: SignCertificate},
		}}}},
		{name: "sign-token", message: &PerformRequest{Effects: []Effect{{
			Kind: EffectSign, Resource: "v1/secrets", Namespace: "shop", Name: "till-token", UID: "u-1", Version: "4700",
			Sign: &Sign{Kind: SignToken},
		}}}},
		{name: "sign-bootstrap", message: &PerformRequest{Effects: []Effect{{
			Kind: EffectSign, Resource: "v1/configmaps", Namespace: "kube-public", Name: "cluster-info", UID: "u-1", Version: "4700",
			Sign: &Sign{Kind: SignBootstrap, Token: "bootstrap-token-abcdef"},
		}}}},
		{name: "several", message: &PerformRequest{Effects: []Effect{
			{Kind: EffectGet, Resource: "v1/nodes", Name: "n-1"}, {Kind: EffectGet, Resource: "v1/nodes", Name: "n-2"},
		}}},
	}
}

// nestedGroup returns a group that has a group in it.
func nestedGroup(mode GroupMode) *PerformRequest {
	return &PerformRequest{Effects: []Effect{{Kind: EffectGroup, Mode: mode, Members: []Effect{
		{Kind: EffectDelete, Resource: "v1/pods", Namespace: "shop", Name: "a", UID: "u-a"},
		{Kind: EffectGroup, Mode: Parallel, Members: []Effect{{Kind: EffectEvict, Resource: "v1/pods", Name: "b"}}},
	}}}}
}

func performs() []value {
	object := ObjectData{Data: []byte("\x0a\x05\x0a\x03web"), ResourceVersion: "4702"}

	return []value{
		{name: "outcome-done", message: &PerformResponse{Outcomes: []Outcome{{Object: object, Name: "web", UID: "u-1"}}}},
		{name: "outcome-failed-and-skipped", message: &PerformResponse{Outcomes: []Outcome{
			{Code: CodeFailed, Reason: "NotFound", Message: `pods "web" not found`}, {Code: CodeSkipped},
		}}},
		{name: "outcome-tolerated", message: &PerformResponse{Outcomes: []Outcome{{Reason: "AlreadyExists"}}}},
		{name: "outcome-of-a-group", message: &PerformResponse{Outcomes: []Outcome{{
			Code: CodeFailed, Reason: "Forbidden", Members: []Outcome{{Name: "a"}, {Code: CodeFailed, Reason: "Forbidden"}},
		}}}},
		{name: "outcome-of-a-view", message: &PerformResponse{Outcomes: []Outcome{{View: &ViewData{
			View: 2, StoreVersion: "4711", Objects: []ObjectData{object},
		}}}}},
		{name: "outcome-of-an-empty-view", message: &PerformResponse{Outcomes: []Outcome{{View: &ViewData{}}}}},
		{name: "outcome-of-discovery", message: &PerformResponse{Outcomes: []Outcome{{Discovery: &Discovery{
			Resources: []APIResource{
				{Resource: "v1/pods", Kind: "Pod", Namespaced: true, Verbs: []string{"get", "list"}},
				{Resource: "v1/nodes", Kind: "Node"},
			},
			Failures: []DiscoveryFailure{{GroupVersion: "metrics.k8s.io/v1beta1", Message: "no endpoints"}},
		}}}}},
		{name: "outcome-of-facts", message: &PerformResponse{Outcomes: []Outcome{{Facts: []Fact{
			{Key: KeyRef{Namespace: "shop", Name: "web"}, Data: []byte("app=web")}, {Key: KeyRef{Name: "api"}},
		}}}}},
		{name: "outcome-of-a-zone", message: &PerformResponse{Outcomes: []Outcome{{Zone: &ZonePeriod{
			Offset: 7200, Begin: 1_459_040_400, End: 1_477_789_200,
		}}}}},
		{name: "outcome-of-a-zone-without-an-end", message: &PerformResponse{Outcomes: []Outcome{{Zone: &ZonePeriod{
			Offset: -18000, Begin: -2_717_650_800, End: math.MaxInt64,
		}}}}},
		{name: "outcome-of-nothing", message: &PerformResponse{}},
	}
}

// writtenByOthers returns what protobuf allows and nobody here writes; guests in other languages may.
func writtenByOthers() []value {
	return []value{
		{name: "fields-in-any-order", read: true, message: &SyncResponse{
			Effects: []Effect{{Kind: EffectDelete, Name: "web"}}, RequeueAfter: 42, Error: "no",
		}},
		{name: "zeros-are-written", read: true, message: &SyncResponse{
			State: []byte{}, Metrics: []MetricUpdate{{Metric: 0, Value: 1}},
		}},
		{name: "labels-in-one-field", read: true, message: &SyncResponse{
			Metrics: []MetricUpdate{{Labels: []int32{1, 0, 300}, Value: 1}},
		}},
		{name: "another-nan", read: true, message: &SyncResponse{Metrics: []MetricUpdate{{Value: math.NaN()}}}},
		{name: "lengths-in-more-bytes-than-they-need", read: true, message: &SyncResponse{Error: "no"}},
		{name: "unknown-fields", read: true, message: &SyncResponse{
			Effects: []Effect{{Kind: EffectDelete, Name: "web"}}, RequeueAfter: 42,
		}},
		{name: "unknown-fields-of-a-request", read: true, message: &SyncRequest{
			Key: KeyRef{Name: "web"}, Now: 5, Views: []ViewData{{View: 1, Objects: []ObjectData{{ResourceVersion: "9"}}}},
		}},
		{name: "unknown-fields-of-settings", read: true, message: &Settings{Values: []string{"50"}}},
		{name: "unknown-fields-of-outcomes", read: true, message: &PerformResponse{Outcomes: []Outcome{{Name: "web"}}}},
	}
}

// version1Manifests returns what the files *.json of testdata/v1 have, by their names.
func version1Manifests() map[string]*Manifest {
	pods, sets := Resource{Version: "v1", Name: "pods"}, Resource{Group: "apps", Version: "v1", Name: "replicasets"}
	small := &Manifest{Name: "small", Version: "1.0.0", Controllers: []Controller{{
		Name: "small-controller", Views: []View{{Name: "pods", Resource: pods, Fields: []string{"metadata.name"}}},
	}}}

	scoped := &Manifest{Name: "scoped", Version: "1.0.0", Controllers: []Controller{{
		Name: "scoped-controller", Views: []View{{Name: "pods", Resource: pods, Fields: []string{"metadata.name"}}},
		Writes: []Write{{Resource: pods, Verbs: []string{"get", "delete"}, Namespaces: []string{"default", "shop"},
			Names: []string{"web"}}},
	}}}

	lenient := &Manifest{Name: "lenient", Version: "1.0.0", Controllers: []Controller{{
		Name: "lenient-controller", Views: []View{{Name: "all", Resource: Resource{Name: "*"},
			Fields: []string{"metadata.name"}, Lenient: true}},
	}}}

	parted := &Manifest{Name: "parted", Version: "1.0.0", Controllers: []Controller{{
		Name: "parted-controller", Views: []View{{Name: "pods", Resource: pods, Fields: []string{"metadata.name"}},
			{Name: "others", Resource: pods, Fields: []string{"metadata.name"}, First: 500}},
	}}}

	distinct := &Manifest{Name: "distinct", Version: "1.0.0", Controllers: []Controller{{
		Name: "distinct-controller", Views: []View{{Name: "pods", Resource: pods, Fields: []string{"metadata.name"}},
			{Name: "others", Resource: pods, Fields: []string{"spec.nodeName"}, Lazy: true, Distinct: true}},
	}}}

	unseen := &Manifest{Name: "unseen", Version: "1.0.0", Controllers: []Controller{{
		Name: "unseen-controller", Views: []View{{Name: "secrets", Resource: Resource{Version: "v1", Name: "secrets"},
			Fields: []string{"metadata.name"}, Unseen: []string{"data[token]"}}},
	}}}

	ranged := &Manifest{Name: "ranged", Version: "1.0.0", Settings: []Setting{{Name: "ranges"}},
		Metrics: []Metric{{Name: "given_total", Type: MetricCounter, Labels: []Label{{Name: "range", Setting: "ranges"}}}},
		Controllers: []Controller{{
			Name: "ranged-controller", Views: []View{{Name: "pods", Resource: pods, Fields: []string{"metadata.name"}}},
		}}}

	return map[string]*Manifest{
		"manifest-ranged":   ranged,
		"manifest-lenient":  lenient,
		"manifest-distinct": distinct,
		"manifest-certificates": {Name: "certificates", Version: "1.0.0",
			Settings:    []Setting{{Name: "root-ca-file", File: true, Certificates: true}},
			Controllers: []Controller{{Name: "certificates-controller", Views: []View{{Name: "pods", Resource: pods}}}}},
		"manifest-fallbacks": {Name: "fallbacks", Version: "1.0.0",
			Metrics: []Metric{{Name: "nodes", Type: MetricGauge, Labels: []Label{{Name: "zone", View: "nodes",
				Paths: []string{"metadata.labels[beta]"}, Fallbacks: []string{"metadata.labels[zone]"}}}}},
			Controllers: []Controller{{Name: "fallbacks-controller", Key: Key{Single: true}, Views: []View{{Name: "nodes",
				Resource: Resource{Version: "v1", Name: "nodes"},
				Fields:   []string{"metadata.labels[beta]", "metadata.labels[zone]"}}}}}},
		"manifest-unseen": unseen,
		"manifest-parted": parted,
		"manifest-small":  small,
		"manifest-scoped": scoped,
		"manifest": {
			Name: "everything", Version: "1.2.3", Description: "Has every member <& more> that a manifest can have.",
			StateVersion: 2, Memory: 8 << 20,
			Settings: []Setting{
				{Name: "burst", Default: "50", Description: "How many at once."},
				{Name: "certificate", File: true, Required: true},
			},
			Metrics:     version1Metrics(),
			Controllers: []Controller{version1Controller(sets, pods), version1Ticker(pods)},
		},
	}
}

// version1Metrics returns a metric of each type, and a label of each source.
func version1Metrics() []Metric {
	return []Metric{
		{Name: "creations_total", Help: "Pods that were created.", Type: MetricCounter, Labels: []Label{
			{Name: "result", Values: []string{"success", "error"}}, {Name: "namespace", From: LabelNamespace},
		}},
		{Name: "replicas", Type: MetricGauge, Labels: []Label{
			{Name: "namespace", From: LabelKeyNamespace}, {Name: "name", From: LabelKeyName},
		}},
		{Name: "owned", Type: MetricSum, Labels: []Label{
			{Name: "owner", View: "replicasets", Paths: []string{"metadata.name", "metadata.uid"}, Separator: ":"},
		}},
		{Name: "seconds", Type: MetricHistogram, Buckets: []float64{0.001, 1, 1000000}},
		{Name: "stale_syncs_total", Type: MetricStale},
		{Name: "syncs_total", Type: MetricCodes},
		{Name: "sync_seconds", Type: MetricCodeSeconds},
	}
}

// version1Controller returns a controller that has every member but those of [version1Ticker].
func version1Controller(sets, pods Resource) Controller {
	owned := &Condition{All: []Condition{
		{Op: OpJoin, Path: "owners.uid", View: 0, ViewPath: "metadata.uid"},
		{Any: []Condition{
			{Op: OpSelected, View: 0, ViewPath: "spec.selector"},
			{Op: OpIn, Path: "status.phase", Values: []string{"Running"}, Not: true},
			{Each: true, Path: "status.conditions", Where: &Condition{Op: OpExists, Path: "type"}},
		}},
	}}

	return Controller{
		Name: "everything-controller", Alias: "everything", Queue: "all", ServiceAccount: "everything-sa",
		EventSource: "everything",
		Key:         Key{View: 0},
		Views: []View{
			{Name: "replicasets", Resource: sets, Fields: []string{"metadata", "spec.selector"},
				Quiet: []string{"metadata.labels"}},
			{
				Name: "pods", Resource: pods, Fields: []string{"metadata", "status"}, Where: owned,
				Guard: &Condition{Op: OpExists, View: 0}, Partial: true, Batch: 1000000,
				QuietOn: []string{QuietAdd, QuietUpdate, QuietDelete, QuietStart, QuietOwn},
			},
			{
				Name: "all", Resource: pods, Fields: []string{"spec.nodeName"}, Lazy: true, AskBy: []string{"spec.nodeName"},
				Where: &Condition{Op: OpJoin, Path: "metadata.namespace", View: FromKey, ViewPath: "namespace"},
			},
			{
				Name: "webapps", Resource: Resource{Group: "example.com", Version: "v1", Name: "webapps"}, ClusterScoped: true,
				Fields: []string{"spec"}, Count: 1,
			},
		},
		Writes: []Write{
			{Resource: sets, Subresource: "status", Verbs: []string{"update", "patch"}},
			{Resource: pods, Verbs: []string{"get", "list", "create", "delete", "deletecollection"}},
		},
		Workers: 5, Backoff: Backoff{Base: 5000000, Max: 1000000000000, Retries: 15}, Rate: Rate{QPS: 2, Burst: 3},
		Pace: 50000000, State: true,
	}
}

// version1Ticker returns a controller with a single key.
func version1Ticker(pods Resource) Controller {
	return Controller{
		Name: "ticker", Key: Key{View: 1, Path: "spec.nodeName", Single: true, Period: 60000000000},
		Views: []View{
			{Name: "pods", Resource: pods},
			{Name: "more", Resource: Resource{Name: "*"}, Fields: []string{"metadata.name"}},
		},
		DisabledByDefault: true, PartOf: "everything-controller",
	}
}

// helpers returns what the host's pure functions give in messages.
func helpers() []value {
	name := func(common string) X509Name {
		return X509Name{CommonName: common, Organization: []string{"system:nodes"}, OrganizationalUnit: []string{"rack 1"},
			Country: []string{"DE"}, Province: []string{"Berlin"}, Locality: []string{"Mitte"}, SerialNumber: "7"}
	}

	return []value{
		{name: "x509", message: &X509{Subject: name("system:node:n1"), DNSNames: []string{"n1", "n1.example.com"},
			EmailAddresses: []string{"n1@example.com"}, IPAddresses: []string{"10.0.0.1", "fd00::1"},
			URIs: []string{"spiffe://example.com/n1"}, Usages: []string{"digital signature", "client auth"},
			KeyAlgorithm: "ECDSA", KeyBits: 256,
			Extensions: []X509Extension{{ID: "2.5.29.15", Critical: true, Value: []byte{3, 2, 7, 128}}},
			Issuer:     name("kubernetes"), NotBefore: 1767268800, NotAfter: 253402300799, CA: true}},
		{name: "x509-of-a-request", message: &X509{Subject: X509Name{CommonName: "mike"}, KeyAlgorithm: "Ed25519"}},
	}
}
