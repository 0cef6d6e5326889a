package abi

import "strings"

// Manifest says what a plugin is and all that it reads and writes. The host grants nothing that is not in it.
type Manifest struct {
	// Name is the plugin's name, by which the configuration speaks of it. A plugin of the same name as a built-in one
	// takes its place. Required.
	Name string `json:"name"`
	// Version is the plugin's own version, for people: what runs is told by the module's digest.
	Version string `json:"version"`
	// Description says in a sentence what the plugin does.
	Description string `json:"description,omitempty"`
	// StateVersion tells whether this version understands the state that another one kept.
	StateVersion int32 `json:"stateVersion,omitempty"`
	// Memory is the linear memory that the plugin wants, in bytes; 0 means the host's default.
	Memory int64 `json:"memory,omitempty"`
	// Settings are the values that an operator may set.
	Settings []Setting `json:"settings,omitempty"`
	// Metrics are those that the plugin's answers add to, at most 200.
	Metrics []Metric `json:"metrics,omitempty"`
	// Controllers are the plugin's controllers. Required.
	Controllers []Controller `json:"controllers"`
}

// Setting is one value that an operator may set. Values travel as strings; a file setting's value is the file's
// content.
type Setting struct {
	// Name is the setting's name in plugins[].settings. Required.
	Name string `json:"name"`
	// Default is the value where the operator sets none.
	Default string `json:"default,omitempty"`
	// Description says what the setting does and what values it may have.
	Description string `json:"description,omitempty"`
	// File makes the operator's value a file's path, and the plugin's the file's content; when that changes the plugin is
	// configured anew.
	File bool `json:"file,omitempty"`
	// Required makes the controller idle, saying so, while the setting is empty.
	Required bool `json:"required,omitempty"`
}

// Metric is one metric that a plugin's answers add to by index. No label value comes from a guest: all are declared
// here, or the host takes them from the key or from objects.
type Metric struct {
	// Name is the metric's name in /metrics. Required.
	Name string `json:"name"`
	// Help is the metric's text there.
	Help string `json:"help,omitempty"`
	// Type is counter, gauge, histogram, or sum (a gauge of the sum, over all keys, of what each key has said last); the
	// host keeps stale, codes and codeSeconds by itself. Required.
	Type string `json:"type"`
	// Buckets are the upper bounds of a histogram's buckets, each more than the one before, at most 100.
	Buckets []float64 `json:"buckets,omitempty"`
	// Labels are the metric's labels. Their declared values make at most 10,000 series, those by the key, a namespace or
	// an object counted once. There are at most 10,000 series by values in objects: further objects count under the value
	// "unexpected".
	Labels []Label `json:"labels,omitempty"`
}

// The types of a Metric.
const (
	MetricCounter   = "counter"
	MetricGauge     = "gauge"
	MetricSum       = "sum" // a gauge of the sum, over all keys, of what each key has said last
	MetricHistogram = "histogram"
	// MetricStale is a counter that the host keeps by itself: of syncs that were put off because the cache didn't show the
	// key's last writes, by group and resource of what was written.
	MetricStale = "stale"
	// MetricCodes and MetricCodeSeconds are kept by the host as well: of the plugin's syncs by the HTTP status that they
	// ended with (200, that of the write that failed, or 500), a counter and a histogram of the seconds that they took,
	// writes included.
	MetricCodes       = "codes"
	MetricCodeSeconds = "codeSeconds"
)

// Label is one label of a Metric: with all values it can take, or with where the host takes the value from. Exactly one
// of values, from and view is set.
type Label struct {
	// Name is the label's name. Required.
	Name string `json:"name"`
	// Values are all values that the label can take.
	Values []string `json:"values,omitempty"`
	// From has the host take the value from the key ("key.namespace", "key.name"), or from the update ("namespace").
	// Series by the key end with its object.
	From string `json:"from,omitempty"`
	// View is the name of the view that the host takes the value from: from its first object, which in a key view is the
	// key's own. The view is neither lazy nor counted, and is not of Secrets. Only controllers that have a view of that
	// name can add to the metric. Empty where there is no such object, or nothing at the path.
	View string `json:"view,omitempty"`
	// Paths lead to the value in the object, such as spec.managedBy; they are among the view's fields. Two are joined. Of
	// several values at a path the first counts, cut at 253 bytes.
	Paths []string `json:"paths,omitempty"`
	// Separator stands between two joined values; where both are empty, so is the label.
	Separator string `json:"separator,omitempty"`
}

// Unexpected is the value of labels from objects once a metric has as many series as it may have.
const Unexpected = "unexpected"

// Where the host takes a label's value from: the key, or the update's Namespace, which must be that of an object that
// the sync saw.
const (
	LabelKeyNamespace = "key.namespace"
	LabelKeyName      = "key.name"
	LabelNamespace    = "namespace"
)

// Controller is one controller of a plugin, with views, a queue and a sync of its own.
type Controller struct {
	// Name is the controller's name, in the configuration's list of controllers and wherever the host speaks of it.
	// Required, and in no other plugin.
	Name string `json:"name"`
	// Alias is a shorter name for it.
	Alias string `json:"alias,omitempty"`
	// Queue names the work queue in metrics; by default the controller's name.
	Queue string `json:"queue,omitempty"`
	// ServiceAccount is the account in kube-system, and the client's name, under which the controller writes.
	ServiceAccount string `json:"serviceAccount,omitempty"`
	// EventSource is the component that events come from; empty: the controller writes none.
	EventSource string `json:"eventSource,omitempty"`
	// Key says what a key is.
	Key Key `json:"key"`
	// Views are what the controller reads, in an order in which each names only earlier ones.
	// There is at least one. Required.
	Views []View `json:"views"`
	// Writes are the controller's rights: an effect that isn't covered by one of them is refused.
	Writes []Write `json:"writes,omitempty"`
	// Workers is how many keys may be synced at once, at most 1000; 0 means 1.
	Workers int32 `json:"workers,omitempty"`
	// Backoff is how failed keys are held back.
	Backoff Backoff `json:"backoff,omitzero"`
	// Rate multiplies the request rate that the operator has configured, of built-in plugins alone.
	Rate Rate `json:"rate,omitzero"`
	// Pace is how long a key rests after a sync of it that wrote, in nanoseconds, so that changes which follow each other
	// closely are written together; at most a minute. A key whose writes take long rests longer, up to four times.
	Pace int64 `json:"pace,omitempty"`
	// State asks for a blob per key, at most StateMax bytes.
	State bool `json:"state,omitempty"`
	// DisabledByDefault leaves the controller out of "*" in the configuration's list.
	DisabledByDefault bool `json:"disabledByDefault,omitempty"`
	// PartOf names the controller of this module whose second queue this one is: it runs where that one does, and
	// operators don't know its name.
	PartOf string `json:"partOf,omitempty"`
}

// Key says what a key is: an object of a view (Group empty), a value of a path in a view's objects, or one key for the
// controller.
type Key struct {
	// View is the index of the view whose objects are keys, or whose values at Path are.
	View int32 `json:"view"`
	// Path makes the keys the values at this path (metadata.namespace, spec.nodeName, …), not the objects.
	Path string `json:"path,omitempty"`
	// Single makes one key of the controller, synced every Period and when a loud view changes.
	Single bool `json:"single,omitempty"`
	// Period is how often the single key is synced, in nanoseconds; 0: only when a view changes.
	Period int64 `json:"period,omitempty"`
}

// Resource names an API resource: group, version, plural.
type Resource struct {
	// Group is the API group; empty: the core group.
	Group string `json:"group,omitempty"`
	// Version is the version. Required.
	Version string `json:"version"`
	// Name is the plural, such as "pods"; "*" stands for all resources, of which there is metadata alone. Required.
	Name string `json:"name"`
}

// String returns "apps/v1/replicasets", and "v1/pods" for the core group.
func (r Resource) String() string {
	if r.Group == "" {
		return r.Version + "/" + r.Name
	}
	return r.Group + "/" + r.Version + "/" + r.Name
}

// ParseResource reads what [Resource.String] gives; false for anything else.
func ParseResource(s string) (Resource, bool) {
	first, rest, ok := strings.Cut(s, "/")
	if !ok {
		return Resource{}, false
	}
	r := Resource{Version: first, Name: rest}
	if version, name, ok := strings.Cut(rest, "/"); ok {
		r = Resource{Group: first, Version: version, Name: name}
	}
	return r, r.Version != "" && r.Name != "" && !strings.Contains(r.Name, "/")
}

// View is one read: which objects of a resource a key's snapshot holds, with which fields, and which of their events
// wake the key.
//
// All views of one controller on one resource share one projection: the union of their fields.
type View struct {
	// Name is for errors, logs and recordings; by habit the resource's.
	Name string `json:"name"`
	// Resource is what the objects are of. Required.
	Resource Resource `json:"resource"`
	// ClusterScoped tells that the resource is a custom one whose objects are in no namespace. Of built-in resources it
	// needn't be said.
	ClusterScoped bool `json:"clusterScoped,omitempty"`
	// Fields are the paths kept of each object, such as "metadata.labels" or "status.conditions.type"; a path keeps all
	// below it. Paths run through lists.
	Fields []string `json:"fields"`
	// Where chooses the objects; none means all of them. The conditions of a lazy view hold as well as what the plugin
	// asks for.
	Where *Condition `json:"where,omitempty"`
	// Guard is a condition on earlier views alone; while it doesn't hold the view is empty and wakes nobody.
	Guard *Condition `json:"guard,omitempty"`
	// Lazy delivers the view only when the plugin asks for it in the middle of a sync.
	Lazy bool `json:"lazy,omitempty"`
	// AskBy names paths by whose values a lazy view is asked often: an index is kept for each.
	AskBy []string `json:"askBy,omitempty"`
	// Partial tells that the plugin takes nothing for gone because this view lacks it, but asks the API server first. Such
	// a view looks into stores that aren't complete yet, where a key with any other waits until they are.
	Partial bool `json:"partial,omitempty"`
	// Count delivers the number of objects, capped at this, in place of the objects; 1 means: is there one.
	Count int32 `json:"count,omitempty"`
	// Quiet names paths whose changes wake nobody; "*" is the whole view.
	Quiet []string `json:"quiet,omitempty"`
	// QuietOn names kinds of events that wake nobody: "add", "update", "delete", "start" (the objects found when the cache
	// is filled), "own" (the echo of the controller's own writes).
	QuietOn []string `json:"quietOn,omitempty"`
	// Batch delays the wake-ups of this view, in nanoseconds, so that many become one;
	// where more follow closely when it is over, until they pause, but no more than a quarter longer.
	Batch int64 `json:"batch,omitempty"`
}

// The kinds of events a view can be quiet on.
const (
	QuietAdd    = "add"
	QuietUpdate = "update"
	QuietDelete = "delete"
	QuietStart  = "start" // the objects found when the informer starts
	QuietOwn    = "own"   // the echo of this controller's own writes
)

// Condition is a tree of tests on an object of a view. Exactly one of All, Any, Each and Op is set.
type Condition struct {
	// All holds where all of these do.
	All []Condition `json:"all,omitempty"`
	// Any holds where one of these does.
	Any []Condition `json:"any,omitempty"`
	// Each holds where one element of the list at Path satisfies Where; the paths in Where start at the element.
	Each bool `json:"each,omitempty"`
	// Where is Each's condition.
	Where *Condition `json:"where,omitempty"`

	// Path leads to values in the object: a dotted JSON path that runs through lists (any element), with map keys in
	// brackets (metadata.labels[a.b/c]). Derived: controller.uid (the controlling owner's UID), owners.uid. In a guard,
	// View and Path name an earlier view and a path in it; OpExists with an empty path asks whether the view holds any
	// object.
	Path string `json:"path,omitempty"`
	// Op is the test: "in" (a value at the path is one of the values), "exists" (there is one), "join" (one equals a value
	// at viewPath in an object of the view), "selected" (the labels at the path, metadata.labels when it is empty, match
	// the selector at viewPath in an object of the view).
	Op string `json:"op,omitempty"`
	// Not negates "in" and "exists" against constants.
	Not bool `json:"not,omitempty"`
	// Values are the constants of OpIn: strings as they are, numbers in decimal, "true", "false".
	Values []string `json:"values,omitempty"`
	// View is the earlier view that OpJoin and OpSelected compare with, FromKey for the key itself.
	View int32 `json:"view,omitempty"`
	// ViewPath is the path in View: of the values for OpJoin, of a label selector (or a map of labels) for OpSelected.
	// For FromKey it is "namespace", "name" or "value".
	ViewPath string `json:"viewPath,omitempty"`
}

// FromKey stands for the key in Condition.View.
const FromKey = -1

// The tests of a Condition.
const (
	OpIn     = "in"     // a value at Path is one of Values
	OpExists = "exists" // there is a value at Path
	OpJoin   = "join"   // a value at Path equals one at ViewPath in an object of View
	// the labels at Path (metadata.labels when empty) match the selector at ViewPath in an object of View
	OpSelected = "selected"
)

// Write is one right: these verbs on a resource or one of its subresources.
type Write struct {
	// Resource is what may be written; a name of "*" is every resource. Required.
	Resource Resource `json:"resource"`
	// Subresource is the one that may be written, such as "status"; empty: the objects themselves.
	Subresource string `json:"subresource,omitempty"`
	// Verbs are as in RBAC: get, list, create, update, patch, delete, deletecollection; no effect has the verb escalate,
	// it is for who writes roles with rights that he hasn't. An update travels as update if that is among them, else as
	// patch. Required.
	Verbs []string `json:"verbs"`
}

// Rate multiplies the request rate and burst that the operator has configured; 0 means 1.
type Rate struct {
	// QPS multiplies the rate.
	QPS int32 `json:"qps,omitempty"`
	// Burst multiplies the burst.
	Burst int32 `json:"burst,omitempty"`
}

// Backoff is how failed keys are held back. Zero values mean upstream's defaults: 5 ms doubling to 1000 s, for ever.
type Backoff struct {
	// Base is the first pause, in nanoseconds; each further one is twice as long.
	Base int64 `json:"base,omitempty"`
	// Max is the longest pause, in nanoseconds.
	Max int64 `json:"max,omitempty"`
	// Retries is after how many failures in a row the key is left alone until one of its objects changes; 0: never.
	Retries int32 `json:"retries,omitempty"`
}
