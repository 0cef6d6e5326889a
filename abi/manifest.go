package abi

import (
	"slices"
	"strings"
)

// Manifest says what a plugin is and all that it reads and writes. The host grants nothing that is not in it.
type Manifest struct {
	// Name is the plugin's name, which the configuration uses for it. A module is started only as the plugin of that name,
	// and takes a built-in plugin's place only if the configuration says so. Required.
	Name string `json:"name"`
	// Version is the plugin's own version, for people. The host tells modules apart by their digests, not by this.
	Version string `json:"version"`
	// Description says in a sentence what the plugin does.
	Description string `json:"description,omitempty"`
	// StateVersion is a number for the form of the state that the plugin's keys keep. A new version of the plugin gets the
	// state that the one before kept only if both have the same number.
	StateVersion int32 `json:"stateVersion,omitempty"`
	// Memory is the linear memory that the plugin wants, in bytes; 0 means the host's default.
	Memory int64 `json:"memory,omitempty"`
	// Settings are the values that an operator may set.
	Settings []Setting `json:"settings,omitempty"`
	// Metrics are the metrics that the plugin's answers add to, at most 200.
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
	// File makes the operator's value a file's path, and gives the plugin the file's content. When the content changes,
	// the plugin is configured anew.
	File bool `json:"file,omitempty"`
	// Certificates has the host refuse a file that doesn't hold certificates in PEM, or holds a private key, too.
	Certificates bool `json:"certificates,omitempty"`
	// Required keeps the plugin's controllers idle while the setting is empty; their status says so.
	Required bool `json:"required,omitempty"`
}

// Metric is one metric that a plugin's answers add to by its place in this list. A plugin can't invent a label's value:
// all values are declared here, or the host takes them from the key or from objects.
type Metric struct {
	// Name is the metric's name in /metrics. Required.
	Name string `json:"name"`
	// Help is the metric's text there.
	Help string `json:"help,omitempty"`
	// Type is counter, gauge, histogram, or sum (a gauge of the sum, over all keys, of what each key has said last). Or it
	// is stale, codes or codeSeconds, which the host counts by itself: syncs that were put off until the cache shows the
	// key's last writes; syncs by the HTTP status that they ended with; and how long these took. Required.
	Type string `json:"type"`
	// Buckets are the upper bounds of a histogram's buckets, each more than the one before, at most 100.
	Buckets []float64 `json:"buckets,omitempty"`
	// Labels are the metric's labels. The values declared here make at most 10,000 series, where a label whose value comes
	// from the key, a namespace or an object counts as one value. There are at most 10,000 series by values in objects:
	// further objects count under the value "unexpected".
	Labels []Label `json:"labels,omitempty"`
}

// The types of a Metric.
const (
	MetricCounter   = "counter"
	MetricGauge     = "gauge"
	MetricSum       = "sum" // a gauge of the sum, over all keys, of what each key has said last
	MetricHistogram = "histogram"
	// MetricStale is a counter that the host keeps by itself: of syncs that were put off because the cache didn't show the
	// key's last writes, by group and resource of what was written. One whose name begins with that of a controller of the
	// plugin (replicaset_controller_...) counts those of that controller alone.
	MetricStale = "stale"
	// MetricCodes and MetricCodeSeconds are kept by the host as well: of the plugin's syncs by the HTTP status that they
	// ended with (200, that of the write that failed, or 500), a counter and a histogram of the seconds that they took,
	// writes included.
	MetricCodes       = "codes"
	MetricCodeSeconds = "codeSeconds"
)

// Label is one label of a metric, with all values that it can take, or with where the host takes the value from. Set
// exactly one of values, setting, from and view.
type Label struct {
	// Name is the label's name. Required.
	Name string `json:"name"`
	// Values are all values that the label can take.
	Values []string `json:"values,omitempty"`
	// Setting names the setting whose value, which the operator has written, has all values that the label can take, with
	// commas between them. It can't be that of a file.
	Setting string `json:"setting,omitempty"`
	// From has the host take the value from the key ("key.namespace", "key.name"), or from the update ("namespace"). A
	// series by the key ends with the key's object.
	From string `json:"from,omitempty"`
	// View is the name of the view that the host takes the value from: from its first object, which in a key view is the
	// key's own, or where a key isn't an object from the one that the update names. The view must be neither lazy nor
	// counted, and not of Secrets. Only controllers that have a view of that name can add to the metric. The value is
	// empty where there is no such object, or nothing at the path.
	View string `json:"view,omitempty"`
	// Paths lead to the value in the object, such as spec.managedBy; they must be among the view's fields. The values at
	// two paths are joined. Of several values at a path the first counts, cut at 253 bytes.
	Paths []string `json:"paths,omitempty"`
	// Fallbacks are where to look instead, one for each of Paths: where there is nothing at that. They must be among the
	// view's fields, too.
	Fallbacks []string `json:"fallbacks,omitempty"`
	// Separator stands between two joined values. Where both are empty, so is the label.
	Separator string `json:"separator,omitempty"`
}

// SettingValues are the values that a setting has with commas between them, which a label of that setting can take.
// Spaces around one don't count.
func SettingValues(text string) (all []string) {
	for rest := text; rest != ""; { // package strings is a tenth of a small module
		end := 0
		for end < len(rest) && rest[end] != ',' {
			end++
		}
		value := rest[:end]
		rest = rest[min(end+1, len(rest)):]
		for value != "" && value[0] == ' ' {
			value = value[1:]
		}
		for value != "" && value[len(value)-1] == ' ' {
			value = value[:len(value)-1]
		}
		if value != "" {
			all = append(all, value)
		}
	}
	return all
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
	// Name is the controller's name, in the configuration's list of controllers and wherever the host speaks of it. No
	// other plugin may have a controller of that name. Required.
	Name string `json:"name"`
	// Alias is a shorter name for it.
	Alias string `json:"alias,omitempty"`
	// Queue names the work queue in metrics; by default the controller's name.
	Queue string `json:"queue,omitempty"`
	// ServiceAccount is the account in kube-system as which a built-in controller writes; other modules' is ignored.
	ServiceAccount string `json:"serviceAccount,omitempty"`
	// EventSource is the component that the controller's events come from. Without it the controller can write none.
	EventSource string `json:"eventSource,omitempty"`
	// Key says what a key is.
	Key Key `json:"key"`
	// Views are what the controller reads. A view may refer only to views before it. At least one is required.
	Views []View `json:"views"`
	// Writes are the controller's rights: an effect that isn't covered by one of them is refused.
	Writes []Write `json:"writes,omitempty"`
	// Workers is how many keys may be synced at once, at most 1000; 0 means 1.
	Workers int32 `json:"workers,omitempty"`
	// Backoff is how long a key waits after a sync that failed.
	Backoff Backoff `json:"backoff,omitzero"`
	// Rate multiplies the request rate that the operator has configured, for built-in plugins only.
	Rate Rate `json:"rate,omitzero"`
	// Pace is how long a key rests after a sync of it that wrote, in nanoseconds, so that changes which follow each other
	// closely are written together; at most a minute. A key whose writes take long rests longer, up to four times.
	Pace int64 `json:"pace,omitempty"`
	// State lets each key keep bytes from one sync to the next: at most 1 MiB, or 16 MiB where a key isn't an object.
	State bool `json:"state,omitempty"`
	// DisabledByDefault leaves the controller out of "*" in the configuration's list.
	DisabledByDefault bool `json:"disabledByDefault,omitempty"`
	// PartOf names another controller of this module, of which this one is a second queue: it runs where that one does,
	// and operators don't configure it by its own name.
	PartOf string `json:"partOf,omitempty"`
}

// Key says what a key is: an object of a view, a value at a path in a view's objects, or a single key for the whole
// controller.
type Key struct {
	// View is the place of the view, counted from 0, whose objects are the keys, or whose values at the path are.
	View int32 `json:"view"`
	// Path makes the values at this path (metadata.namespace, spec.nodeName, …) the keys, not the objects. Keys are
	// logged: of Secrets, and of all resources, values of metadata may be keys, but not of annotations.
	Path string `json:"path,omitempty"`
	// Single gives the controller a single key, which is synced at the start, every period, and when a view changes that
	// isn't quiet.
	Single bool `json:"single,omitempty"`
	// Period is how often the single key is synced, in nanoseconds; 0 means only at the start and when a view
	// changes.
	Period int64 `json:"period,omitempty"`
}

// Resource names an API resource: group, version, plural.
type Resource struct {
	// Group is the API group; empty for the core group.
	Group string `json:"group,omitempty"`
	// Version is the version. Required.
	Version string `json:"version"`
	// Name is the plural, such as "pods"; "*" stands for all resources, of which the view has only metadata. Required.
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

// View is one thing that the controller reads: which objects of a resource are in a key's snapshot, with which fields,
// and which of their events wake the key.
//
// All views of one controller on one resource have the same fields: those of all of them together.
type View struct {
	// Name is the view's name in errors, logs and recordings; usually the resource's.
	Name string `json:"name"`
	// Resource is the resource of the objects. Required.
	Resource Resource `json:"resource"`
	// ClusterScoped says that the objects of a custom resource are in no namespace. For built-in resources it can be left
	// out.
	ClusterScoped bool `json:"clusterScoped,omitempty"`
	// Fields are the paths that are kept of each object, such as "metadata.labels" or "status.conditions.type"; a path
	// keeps everything below it. A path goes through lists to each of their elements.
	Fields []string `json:"fields"`
	// Where chooses the objects; without it the view has all of them. In a lazy view it holds in addition to what the
	// plugin asks for.
	Where *Condition `json:"where,omitempty"`
	// Guard is a condition on earlier views only. While it doesn't hold, the view is empty and wakes no key.
	Guard *Condition `json:"guard,omitempty"`
	// Lazy delivers the view only when the plugin asks for it in the middle of a sync.
	Lazy bool `json:"lazy,omitempty"`
	// AskBy names paths by whose values the plugin often asks for objects of a lazy view: an index is kept for each.
	AskBy []string `json:"askBy,omitempty"`
	// Partial says that the plugin never takes an object for gone only because this view lacks it, but asks the API server
	// first. So the view may be read from caches that aren't complete yet, where a key with any other view waits until
	// they are.
	Partial bool `json:"partial,omitempty"`
	// Lenient says, of a view over all resources, that the plugin goes on without those that can't be listed: half a
	// minute after such a resource was asked for first, the view is delivered with what the others have, and its
	// "unlisted" names the resource. Any other view waits until it can be listed.
	Lenient bool `json:"lenient,omitempty"`
	// Count delivers the number of objects in place of the objects, and stops counting at this number; 1 asks only whether
	// there is one.
	Count int32 `json:"count,omitempty"`
	// First delivers at most so many objects, the first by namespace and name, with the number of all: for a plugin that
	// does its work in parts where there may be more objects than its memory holds. Of large objects it delivers fewer, up
	// to 8 MiB, but at least one. Those beyond it wake the key, too. A lazy view has it for each ask.
	First int32 `json:"first,omitempty"`
	// Distinct delivers objects whose fields are equal once, each with how many there are: what the plugin adds up over
	// many objects of a few kinds. Such an object has the declared fields alone, not even a name, and can't be written.
	Distinct bool `json:"distinct,omitempty"`
	// Quiet names paths whose changes wake no key; "*" is the whole view.
	Quiet []string `json:"quiet,omitempty"`
	// Unseen names paths that aren't delivered, and whose changes wake the key all the same: what only the host may read,
	// such as the key of a token that it signs with.
	Unseen []string `json:"unseen,omitempty"`
	// QuietOn names kinds of events that wake no key: "add", "update", "delete", "start" (the objects found when the cache
	// is filled), "own" (the echo of the controller's own writes).
	QuietOn []string `json:"quietOn,omitempty"`
	// Batch delays the syncs that this view triggers, in nanoseconds, so that many changes make one sync. If changes still
	// follow closely when the delay is over, it goes on until they pause, but no more than a quarter longer.
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

// Condition is a tree of tests on an object of a view. Set exactly one of all, any, each and op.
type Condition struct {
	// All holds where all of these conditions do.
	All []Condition `json:"all,omitempty"`
	// Any holds where one of these conditions does.
	Any []Condition `json:"any,omitempty"`
	// Each holds where one element of the list at path satisfies where; the paths in where start at the element.
	Each bool `json:"each,omitempty"`
	// Where is the condition on the elements, for each.
	Where *Condition `json:"where,omitempty"`

	// Path leads to values in the object: a dotted JSON path that goes through lists (to any element), with map keys in
	// brackets (metadata.labels[a.b/c]). There are two more that no object has: controller.uid (the controlling owner's
	// UID) and owners.uid. In a guard, view and path name an earlier view and a path in its objects; "exists" with an
	// empty path asks whether that view has any object.
	Path string `json:"path,omitempty"`
	// Op is the test: "in" (a value at the path is one of the values), "exists" (there is one; an empty text or empty data
	// is none, but a label or an annotation may be empty), "join" (one equals a value
	// at viewPath in an object of the view), "selected" (the labels at the path, metadata.labels when it is empty, match
	// the selector at viewPath in an object of the view).
	Op string `json:"op,omitempty"`
	// Not negates "in" and "exists" against constants.
	Not bool `json:"not,omitempty"`
	// Values are the values for "in": strings as they are, numbers in decimal, "true", "false".
	Values []string `json:"values,omitempty"`
	// View is the place of the earlier view that "join" and "selected" compare with, counted from 0, or -1 for the key
	// itself.
	View int32 `json:"view,omitempty"`
	// ViewPath is the path in the objects of that view: for "join" that of the values, for "selected" that of a label
	// selector or a map of labels. With the key itself it is "namespace", "name" or "value".
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
	// Subresource is the subresource that may be written, such as "status"; empty for the objects themselves.
	Subresource string `json:"subresource,omitempty"`
	// Verbs are as in RBAC: get, list, create, update, patch, delete, deletecollection. An update is sent as update if
	// that is among them, else as patch. Four more verbs belong to no effect, but RBAC asks for them: approve, sign and
	// attest, for a signer, to update the approval or the status of a certificate signing request, or to write a cluster
	// trust bundle of that signer; and escalate, to write roles with rights that the writer doesn't have. Required.
	Verbs []string `json:"verbs"`
	// Namespaces are the namespaces in which the right holds; none means all.
	Namespaces []string `json:"namespaces,omitempty"`
	// Names are the names of the objects for which the right holds, as resourceNames in RBAC; none means all. A create, a
	// list and a deletecollection have no name to compare.
	Names []string `json:"names,omitempty"`
}

// In returns the right in these namespaces alone.
func (w Write) In(namespaces ...string) Write { w.Namespaces = namespaces; return w }

// Named returns the right to objects of these names alone.
func (w Write) Named(names ...string) Write { w.Names = names; return w }

// Changes reports whether the right is one to change objects of its resource.
func (w *Write) Changes() bool {
	return slices.ContainsFunc(w.Verbs, func(v string) bool {
		return v != "get" && v != "list" && v != "approve" && v != "sign" && v != "attest"
	})
}

// Covers reports whether the right covers a verb on an object: in a namespace, empty for all of them and for objects
// without one, and of a name, empty where none is known.
func (w *Write) Covers(verb, namespace, name string) bool {
	return slices.Contains(w.Verbs, verb) &&
		(len(w.Namespaces) == 0 || slices.Contains(w.Namespaces, namespace)) &&
		(len(w.Names) == 0 || slices.Contains(w.Names, name))
}

// Rate multiplies the request rate and burst that the operator has configured; 0 means 1.
type Rate struct {
	// QPS multiplies the rate.
	QPS int32 `json:"qps,omitempty"`
	// Burst multiplies the burst.
	Burst int32 `json:"burst,omitempty"`
}

// Backoff is how long a key waits after a sync that failed. Zero values mean upstream's defaults: 5 ms, doubling to
// 1000 s, without an end.
type Backoff struct {
	// Base is the first pause, in nanoseconds; each further one is twice as long.
	Base int64 `json:"base,omitempty"`
	// Max is the longest pause, in nanoseconds.
	Max int64 `json:"max,omitempty"`
	// Retries is after how many failures in a row the key is left alone until one of its objects changes; 0 means never.
	Retries int32 `json:"retries,omitempty"`
}
