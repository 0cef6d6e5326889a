package abi

import "strings"

// Upper sizes of what crosses the border, in bytes.
const (
	MessageMax  = 64 << 20
	StateMax    = 1 << 20
	ManifestMax = 1 << 20
	// WideStateMax is for the state of a key that is no object: it may be about all of them.
	WideStateMax = 16 << 20
	LogMax       = 8 << 10
	FactMax      = 64 << 10
)

// Settings is what configure gets: the values of the manifest's settings, in its order.
type Settings struct {
	Values []string
}

// SyncRequest is all that a sync knows.
type SyncRequest struct {
	Controller int32 // index in the manifest
	Key        KeyRef
	Now        int64 // nanoseconds since 1970
	Attempt    int32 // failures of this key in a row before this call
	Settings   string
	State      []byte
	Views      []ViewData // in the manifest's order; lazy views come empty
	// Timer is how long it is until the key's timer goes off, in nanoseconds: what an earlier answer's RequeueAfter has
	// set. 0: the key has none, or it has gone off.
	Timer int64
}

// KeyRef is a key: an object's namespace and name, or a group's value in Name. Resource is set where the key view is
// over all resources.
type KeyRef struct {
	Resource  string
	Namespace string
	Name      string
}

// String names the key as people do: "default/web", and "apps/v1/replicasets default/web" where the key has a resource.
func (k KeyRef) String() string {
	s := k.Name
	if k.Namespace != "" {
		s = k.Namespace + "/" + s
	}
	if k.Resource != "" {
		s = k.Resource + " " + s
	}
	return s
}

// Clone returns the key in memory of its own: a key of a call lies in the call's.
func (k KeyRef) Clone() KeyRef {
	return KeyRef{strings.Clone(k.Resource), strings.Clone(k.Namespace), strings.Clone(k.Name)}
}

// ViewData is what one view holds for a key.
type ViewData struct {
	View         int32
	StoreVersion string // resource version up to which the cache is known to be current
	Objects      []ObjectData
	Count        int64 // of a count view, or of one that delivers the first objects alone: of all
	Guarded      bool  // the guard didn't hold: the view was not looked at
	// Unlisted are the resources whose objects a lenient view may lack, because they can't be listed.
	Unlisted []string
	// Unserved says that the resource that was asked for isn't one whose objects are watched for views over all resources:
	// the API server doesn't serve it, or it can't be listed, watched and deleted, or its objects are in no namespace.
	Unserved bool
}

// ObjectData is one object: its projected wire bytes, in which the resource version may be old, beside its resource
// version.
type ObjectData struct {
	Data            []byte
	ResourceVersion string
	// Resource and Kind are set in views over all resources.
	Resource string
	Kind     string
	// Count is how many objects a distinct view stands for with this one; else 0.
	Count int64
}

// SyncResponse is the answer to a SyncRequest.
type SyncResponse struct {
	Effects      []Effect
	State        []byte
	KeepState    bool  // the state handed in stays; State is ignored
	RequeueAfter int64 // nanoseconds; 0: no timer. After a sync that failed an earlier timer stays
	Error        string
	Metrics      []MetricUpdate
}

// MetricUpdate adds Value to a counter, sets a gauge, observes it in a histogram, or is the key's share of a sum: it
// takes the place of all that the key has said of that sum before.
type MetricUpdate struct {
	Metric int32   // index in the manifest
	Labels []int32 // index of each label's value; of those that the host fills in, any
	Value  float64 // NaN stands for seconds: those that the sync has taken so far, or those of From and To
	// Namespace is the value of a label from LabelNamespace.
	Namespace string
	// From and To name performs of the sync, counted from 1. Seconds are those from the beginning of From to the end of
	// the one before To, and none if there is no perform in between; a From of 0 is the whole sync.
	From, To int32
	// Row is the place, from 0, of the object that labels from a view's objects are of, where a key isn't an object. An
	// answer that says something of a gauge says all there is: what it has no object for ends.
	Row int32
}

// EffectKind says what an Effect does.
type EffectKind int32

// The kinds of effects. Unknown kinds are refused.
const (
	EffectCreate           EffectKind = 1
	EffectUpdate           EffectKind = 2 // the object, or Subresource of it: a difference to what the plugin saw
	EffectPatch            EffectKind = 3
	EffectApply            EffectKind = 4
	EffectDelete           EffectKind = 5
	EffectEvict            EffectKind = 6
	EffectDeleteCollection EffectKind = 7
	EffectEvent            EffectKind = 8
	EffectGet              EffectKind = 9 // live
	EffectList             EffectKind = 10
	EffectReview           EffectKind = 11 // create and return, nothing stored
	EffectView             EffectKind = 12 // deliver a lazy view
	EffectGroup            EffectKind = 13 // Members, by Mode
	EffectWake             EffectKind = 14 // wake a key of a sibling controller
	// what the API server serves, by Discover; NotFound of an object's UID that is known to have been deleted
	EffectDiscover EffectKind = 15
	EffectRead     EffectKind = 16 // a GET of Path, below Resource, answered in JSON: metrics APIs
	EffectPublish  EffectKind = 17 // make Object the key's fact
	// the facts that this controller's keys in Namespace have published: all, or those under one of Terms and those under
	// none
	EffectFacts EffectKind = 18
	EffectZone  EffectKind = 19 // the period of Zone that a moment lies in
	EffectSign  EffectKind = 20 // what Sign says, with a key that the host has
)

// GroupMode is how the members of an EffectGroup run.
type GroupMode int32

// The modes of a group. Sequence stops at the first failure; SlowStart begins with one, each that succeeds lets two
// begin, and after a failure none does; Parallel tries all at once and fails with the first error; Independent is
// Parallel whose failures stop nobody.
const (
	Sequence    GroupMode = 0
	SlowStart   GroupMode = 1
	Parallel    GroupMode = 2
	Independent GroupMode = 3
)

// PatchType is the format of a patch.
type PatchType int32

// The formats of a patch.
const (
	JSONPatch      PatchType = 1
	MergePatch     PatchType = 2
	StrategicPatch PatchType = 3
)

// Precondition is what must hold of the object for an effect to be done.
type Precondition int32

// The preconditions: the resource version that the plugin saw (the default for updates), the UID (the default for
// deletes), none.
const (
	PreconditionDefault Precondition = 0
	PreconditionVersion Precondition = 1
	PreconditionUID     Precondition = 2
	PreconditionNone    Precondition = 3
)

// Propagation is what a delete does with dependents.
type Propagation int32

// The propagation policies.
const (
	PropagationDefault    Propagation = 0
	PropagationBackground Propagation = 1
	PropagationForeground Propagation = 2
	PropagationOrphan     Propagation = 3
)

// Tolerance is a set of failures that count as success.
type Tolerance int32

// The failures that can count as success.
const (
	TolerateNotFound             Tolerance = 1
	TolerateAlreadyExists        Tolerance = 2
	TolerateConflict             Tolerance = 4
	TolerateInvalid              Tolerance = 8
	TolerateNamespaceTerminating Tolerance = 16
)

// Effect is one thing to do.
type Effect struct {
	Kind        EffectKind
	Resource    string // as Resource.String gives it
	Subresource string
	Namespace   string
	Name        string
	// Object is the object of a create, update, apply or review on the wire (JSON for custom resources), or the body of a
	// patch.
	Object       []byte
	Patch        PatchType
	Precondition Precondition
	// UID and Version say which copy of the object the plugin means: an update is a difference to that one.
	UID         string
	Version     string
	Tolerate    Tolerance
	DryRun      bool
	Propagation Propagation
	Grace       int64 // seconds; GraceDefault for the object's own
	HasGrace    bool
	// Always runs the effect even where an earlier one has failed.
	Always bool

	Mode    GroupMode
	Members []Effect

	Event *EventData
	Ask   *Ask
	Wake  *Wake

	Discover *Discover
	Path     string // of a read, with its query: /apis/metrics.k8s.io/v1beta1/namespaces/default/pods?labelSelector=app
	// Metadata asks for the objects' metadata alone in the answer to a get, a list, a patch or a delete. Of a resource
	// that isn't built in there is nothing else.
	Metadata bool
	// Terms are under what a published fact is found, or of which terms facts are asked for; see EffectFacts.
	Terms []string
	Zone  *Zone
	Sign  *Sign
}

// SignKind is what is signed.
type SignKind int32

// What is signed, by the object that the effect names.
const (
	// SignCertificate is the certificate of an approved CertificateSigningRequest, by the signer that the request names.
	// The host checks the signer's rules; one that the request breaks is a failure with the reason
	// SignerValidationFailure, and a signer without a key one with the reason NoSigningKey. It belongs into the
	// request's status.
	SignCertificate SignKind = 1
	// SignToken is the token of a Secret for the service account that the Secret names. It belongs into the Secret's data,
	// as token.
	SignToken SignKind = 2
	// SignBootstrap is what a node that joins trusts the config map kube-public/cluster-info by, made with the bootstrap
	// token that Sign names. It belongs into the config map's data, as jws-kubeconfig-ID.
	SignBootstrap SignKind = 3
)

// Sign asks for what is signed with a key of the host's, for the object that the effect names, in the version that the
// plugin saw. The answer's Object has a placeholder: bytes that the host replaces by what it has signed where an update
// of that object in the same sync has them in the field that it is for.
type Sign struct {
	Kind SignKind
	// Token is the name of a Secret in kube-system, the bootstrap token that is signed with.
	Token string
}

// Discover asks which resource has the kind, or with no kind for all resources, each in its preferred version.
type Discover struct {
	APIVersion string
	Kind       string
}

// Discovery is what the API server serves. Of a group that doesn't answer there is a failure in place of its resources.
type Discovery struct {
	Resources []APIResource
	Failures  []DiscoveryFailure
}

// APIResource is one resource that the API server serves.
type APIResource struct {
	Resource   string // as Resource.String gives it
	Kind       string
	Namespaced bool
	Verbs      []string
}

// DiscoveryFailure tells why a group and version, such as "metrics.k8s.io/v1beta1", can't be listed.
type DiscoveryFailure struct {
	GroupVersion string
	Message      string
}

// LocalZone names the zone of the manager's own process, which is another one on another machine.
const LocalZone = "Local"

// Zone asks for the period of a time zone that the moment At lies in, of the host's zone database. The name is one of
// that, such as "Europe/Rome", UTC (also with no name), or LocalZone. At, as all moments of a period, is in seconds
// since 1970.
type Zone struct {
	Name string
	At   int64
}

// ZonePeriod is a time in which a zone's offset stays the same, from Begin until before End, where the next one begins.
// A period without a beginning has the least number there, one without an end the greatest.
type ZonePeriod struct {
	Offset     int32 // seconds east of UTC
	Begin, End int64
}

// Fact is what a key has published last. Facts live in the host's memory alone, no longer than FactMax bytes each with
// their terms: after a start they are built anew.
type Fact struct {
	Key  KeyRef
	Data []byte
}

// EventData is an event on the object that the effect names by Resource, Namespace, Name and UID.
type EventData struct {
	Type    string // Normal, Warning
	Reason  string
	Message string
}

// Ask asks for a lazy view, narrowed by names, by values at a path, or by a selector (a LabelSelector on the wire); the
// view's own conditions hold too.
type Ask struct {
	View      int32
	Namespace string
	Names     []string
	Path      string
	Values    []string
	Selector  []byte
	// Fresh demands that the cache is not older than the question.
	Fresh bool
	Count bool
	// Shared, with Fresh, has a list do that began for another question, once the cache held the key's object as the sync
	// sees it: what is asked may be older than the question, but not than what it is about.
	Shared bool
	// Resource names the resource that a view over all resources is asked for, without a version, such as
	// deployments.apps; other views' questions have none.
	Resource string
}

// Wake names a key of a controller in the same module.
type Wake struct {
	Controller int32
	Key        KeyRef
}

// PerformRequest is what a plugin hands to the perform import.
type PerformRequest struct {
	Effects []Effect
}

// PerformResponse has one outcome per effect.
type PerformResponse struct {
	Outcomes []Outcome
}

// Code is how an effect ended.
type Code int32

// The codes of an Outcome.
const (
	CodeOK      Code = 0
	CodeFailed  Code = 1
	CodeSkipped Code = 2 // an earlier effect had failed
)

// Outcome is how an effect ended.
type Outcome struct {
	Code Code
	// Reason is the API server's (NotFound, AlreadyExists, Conflict, Invalid, Forbidden, …), NamespaceTerminating,
	// UnknownTimeZone, SignerValidationFailure, or NoSigningKey.
	Reason  string
	Message string
	// Object is the answer, projected to what the plugin reads of the resource; whole where it reads none, and of a dry
	// run.
	Object  ObjectData
	Name    string // of the object, for generated names
	UID     string
	Members []Outcome
	View    *ViewData

	Discovery *Discovery
	Facts     []Fact
	Zone      *ZonePeriod
}
