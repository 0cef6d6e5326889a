// Package config holds the manager's configuration: its types, their defaults and checks, how a file, flags and the
// environment become one.
package config

import (
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

//go:generate go run ../hack/generate-reference

// What a configuration file says of itself.
const (
	APIVersion = "config.windlass.dev/v1alpha1"
	Kind       = "ControllerManagerConfiguration"
)

// Configuration is all that an operator tells the manager. Every field has a default; an empty file with apiVersion and
// kind is complete.
//
// Durations are strings with a unit ("10s", "1m30s"), memory is a quantity with a unit ("64Mi").
type Configuration struct {
	// APIVersion is config.windlass.dev/v1alpha1. Required in a file.
	APIVersion string `json:"apiVersion"`
	// Kind is ControllerManagerConfiguration. Required in a file.
	Kind string `json:"kind"`
	// ClientConnection says how the API server is reached.
	ClientConnection ClientConnection `json:"clientConnection"`
	// Controllers says which controllers run, as kube-controller-manager's --controllers: the first entry that names a
	// controller decides, "foo" turns it on and "-foo" off; "*" turns on all that aren't named and aren't disabled by
	// default. Names and their short aliases are understood. Default: ["*"].
	Controllers []string `json:"controllers"`
	// UseServiceAccountCredentials has each controller write as a service account of its own in kube-system instead of as
	// the manager: built-in plugins as upstream's, others as plugins[].serviceAccount says. Default: false.
	UseServiceAccountCredentials bool `json:"useServiceAccountCredentials"`
	// Serving says how health, metrics and the manager's state are served, and to whom.
	Serving Serving `json:"serving"`
	// ShutdownTimeout is how long the writes of syncs in flight may take once the manager is told to stop: a duration, 0s
	// for as long as they take. It is read at the start only. Default: 10s.
	ShutdownTimeout metav1.Duration `json:"shutdownTimeout"`
	// MinResyncPeriod is after how long each key is looked at again though nothing has happened to it: each controller
	// draws a period from so much to twice that, over which its keys are spread, ten a second at most, behind those that
	// something has happened to. That repairs what a controller doesn't watch for, such as Endpoints edited by hand, and
	// takes up keys again that were given up. A duration; less than 1s counts as 1s, and 0s turns it off: then what has
	// drifted stays so until something happens to its key. A controller reads it when it starts. Default: 12h.
	MinResyncPeriod metav1.Duration `json:"minResyncPeriod"`
	// PluginFolder is a folder whose *.wasm files are plugins; one of the same name as a built-in plugin replaces it.
	// While a file can't be used, what was taken from it before goes on. Default: none.
	PluginFolder string `json:"pluginFolder"`
	// Sandbox bounds what a sync may take, for plugins that have no limits of their own.
	Sandbox Sandbox `json:"sandbox"`
	// Plugins configures plugins by name. One that isn't named here runs with the defaults. Default: none.
	Plugins []Plugin `json:"plugins"`
	// Registries says how modules are got from OCI registries, for plugins that have an image.
	Registries Registries `json:"registries"`
	// Recordings says how the last syncs of each controller are kept.
	Recordings Recordings `json:"recordings"`
	// LeaderElection says which of several processes runs the controllers.
	LeaderElection LeaderElection `json:"leaderElection"`
	// Logging says what is logged, and how.
	Logging Logging `json:"logging"`
	// Tracing says where spans of syncs are sent.
	Tracing Tracing `json:"tracing"`
}

// Recordings says how the last syncs of each controller are kept, for `windlass record` and `windlass replay`.
type Recordings struct {
	// Bytes bounds what is kept of each controller in memory: a quantity of at most 1Gi, 0 for nothing at all. A sync that
	// is larger is kept without its messages. Default: 256Ki.
	Bytes resource.Quantity `json:"bytes"`
	// Folder is where a controller's last syncs are saved when one fails, at most once a minute; it is made where it is
	// missing. Secrets' data is left out, other objects aren't. Default: none, nothing is saved.
	Folder string `json:"folder"`
	// FolderFiles bounds the number of recordings in the folder; the oldest one goes. Default: 50.
	FolderFiles int32 `json:"folderFiles"`
	// FolderBytes bounds their size. Default: 64Mi.
	FolderBytes resource.Quantity `json:"folderBytes"`
}

// ClientConnection says how the API server is reached.
type ClientConnection struct {
	// Kubeconfig is the path of a kubeconfig file. Default: none, which takes the service account of the pod the manager
	// runs in.
	Kubeconfig string `json:"kubeconfig"`
	// Server is the address of the API server, host:port or a URL, in place of the kubeconfig's. Default: none, that of
	// the kubeconfig.
	Server string `json:"server"`
	// QPS is how many requests a second each controller may send in the long run. Default: 20.
	QPS float32 `json:"qps"`
	// Burst is how many requests each controller may send at once. Default: 30.
	Burst int32 `json:"burst"`
}

// Sandbox bounds what a sync may take.
type Sandbox struct {
	Limits `json:",inline"`
	// Interpreter runs plugins in wazero's interpreter instead of compiling them: many times slower, the same results.
	// Default: false.
	Interpreter bool `json:"interpreter"`
	// Rest is after how long without a sync the memory of a built-in plugin is let go of: its code, and what its
	// instances start from. The next sync loads it again, which takes some milliseconds. A duration from 1s, or 0s: never.
	// Default: 5m.
	Rest metav1.Duration `json:"rest"`
}

// Limits bounds one sync of a plugin. A sync that reaches one of them ends there, nothing of its answer is written, its
// key is tried again later.
type Limits struct {
	// Memory is the most linear memory a plugin's instance may have, in bytes: a quantity from 1Mi to 1Gi, rounded down to
	// pages of 64Ki. Default: 64Mi.
	Memory resource.Quantity `json:"memory"`
	// Deadline is the most wall-clock time a sync may spend inside the sandbox, its API requests aside: a duration, at
	// least 1ms. Default: 10s.
	Deadline metav1.Duration `json:"deadline"`
	// Fuel is the most a sync may compute, in metered instructions (up to 20 times those really executed; a million take
	// about a millisecond at most). Default: 100000000000, a backstop.
	Fuel int64 `json:"fuel"`
}

// Registries says how modules are got from OCI registries.
type Registries struct {
	// CredentialsFile is the path of a docker config file, as docker login writes it. Credential helpers that it names are
	// never run. Default: none.
	CredentialsFile string `json:"credentialsFile"`
	// CAFile is the path of certificates in PEM that are trusted beside the system's. Default: none.
	CAFile string `json:"caFile"`
	// PlainHTTP are registries, host or host:port, that are spoken to without TLS. Default: none.
	PlainHTTP []string `json:"plainHTTP"`
	// Timeout is how long each step of getting a module may take: a duration from 1s to 10m. Default: 1m.
	Timeout metav1.Duration `json:"timeout"`
	// CacheFolder is where modules are kept, so that a start needs no registry; it is made where it is missing, and must
	// be open to nobody else. Default: windlass/modules in the user's cache folder.
	CacheFolder string `json:"cacheFolder"`
	// VerificationKeys are the paths of public keys in PEM (ECDSA P-256 or Ed25519), one of which must have signed each
	// image in cosign's format; an image that isn't signed so is refused. Default: none, images needn't be signed.
	VerificationKeys []string `json:"verificationKeys"`
}

// Plugin configures one plugin.
type Plugin struct {
	// Name is the plugin's name in its manifest. Required.
	Name string `json:"name"`
	// Image is an OCI reference of the plugin's module with its digest, registry/repository@sha256:...; it goes before a
	// built-in module or a file of that name. While it can't be had, what runs of the plugin goes on, and nothing else is
	// run in its place. Default: none.
	Image string `json:"image"`
	// VerificationKeys take the place of those of registries, for this image and that of the shadow. Default: none, those
	// of registries.
	VerificationKeys []string `json:"verificationKeys"`
	// Workers is how many keys each controller of the plugin syncs at once, 0 to 1000. Default: 0, the number in the
	// plugin's manifest.
	Workers int32 `json:"workers"`
	// Controllers configures single controllers of the plugin, by name. Default: none.
	Controllers []PluginController `json:"controllers"`
	// Limits bounds the plugin's syncs. Default of each field: the one of sandbox.
	Limits Limits `json:"limits"`
	// Settings are the plugin's own, by name; `windlass plugin inspect` lists them. Values are strings; a file setting's
	// value is the file's path. Default: the plugin's.
	Settings map[string]string `json:"settings"`
	// Shadow is a module ("builtin:NAME", a file's path, or an OCI reference with its digest) that gets the same calls as
	// the plugin and of which nothing is written: what it would have done otherwise is counted, logged, and shown by
	// `windlass get differences`. Default: none.
	Shadow string `json:"shadow"`
	// API bounds the requests of each of the plugin's controllers. Default of each field: the one of clientConnection.
	API API `json:"api"`
	// Grant narrows what the plugin may read and write to what one of these rules covers; what its manifest doesn't have
	// it can't be granted. An empty list grants nothing. Default: none, which is all that the manifest has.
	Grant []Rule `json:"grant"`
	// Budget bounds what the plugin may do in a time.
	Budget Budget `json:"budget"`
	// Impersonate says as whom the plugin's controllers write; the manager needs the verb "impersonate" for that. It goes
	// before useServiceAccountCredentials.
	Impersonate Impersonate `json:"impersonate"`
	// ServiceAccount is the account in kube-system that the plugin's controllers write as with
	// useServiceAccountCredentials; it is made where it is missing. Default: those in the manifest of a built-in module,
	// windlass-plugin-NAME for any other, whatever its manifest says.
	ServiceAccount string `json:"serviceAccount"`
}

// PluginController configures one controller of a plugin.
type PluginController struct {
	// Name is the controller's name in the plugin's manifest. Required.
	Name string `json:"name"`
	// Workers is how many keys the controller syncs at once, 0 to 1000. Default: 0, the number of the plugin.
	Workers int32 `json:"workers"`
}

// WorkersOf returns how many keys a controller of the plugin syncs at once; 0: as many as its manifest says.
func (p *Plugin) WorkersOf(controller string) int32 {
	for i := range p.Controllers {
		if c := &p.Controllers[i]; c.Name == controller && c.Workers > 0 {
			return c.Workers
		}
	}
	return p.Workers
}

// Rule grants verbs on resources, as a rule of a ClusterRole does, in namespaces and to objects with labels.
//
// To read views of a resource takes "list" and "watch" in the same rule. `windlass plugin inspect` shows the resources
// and verbs of a plugin's manifest.
type Rule struct {
	// APIGroups are the resources' groups; "" is the core group, "*" all groups. Required.
	APIGroups []string `json:"apiGroups"`
	// Resources are plurals such as "pods", with a subresource where that is meant, "pods/status"; "*" is all resources
	// and their subresources, "*/scale" that subresource of all. Required.
	Resources []string `json:"resources"`
	// Verbs are get, list, watch, create, update, patch, delete, deletecollection, approve, escalate, sign, or "*" for all
	// of them. An eviction is a create of pods/eviction. Required.
	Verbs []string `json:"verbs"`
	// Namespaces are those whose objects the rule covers. A Namespace object is in itself; other objects without a
	// namespace are in none of them. Default: none, which is all namespaces and what is in no namespace.
	Namespaces []string `json:"namespaces"`
	// Selector chooses the objects that the rule covers by their labels. An object must have them before and after a
	// write; one that is created by itself. Default: none, which chooses all.
	Selector metav1.LabelSelector `json:"selector"`
}

// Budget bounds what a plugin may do in a time.
type Budget struct {
	// DeletesPerMinute is how many deletes, evictions and deletes of collections (one each, whatever is in them) all of
	// the plugin's controllers may send in any minute; a key that needs more waits, and a restart of the manager begins a
	// new minute. Default: 0, no bound.
	DeletesPerMinute int32 `json:"deletesPerMinute"`
	// LogBytesPerSecond is how many bytes all of the plugin's controllers may log in a second, on average: a quantity from
	// 1 to 64Mi. A burst of 1Mi is free; what is over the bound is dropped and counted. Default: 64Ki.
	LogBytesPerSecond resource.Quantity `json:"logBytesPerSecond"`
}

// Impersonate says as whom a plugin writes: a user with groups, or a service account.
type Impersonate struct {
	// User is a user's name. Default: none.
	User string `json:"user"`
	// Groups are the user's groups; every user is in system:authenticated. Default: none.
	Groups []string `json:"groups"`
	// ServiceAccount is namespace/name of a service account, in place of user and groups. Default: none.
	ServiceAccount string `json:"serviceAccount"`
}

// Username is the name of the user that is impersonated, empty for none.
func (i Impersonate) Username() string {
	if ns, name, ok := strings.Cut(i.ServiceAccount, "/"); ok {
		return "system:serviceaccount:" + ns + ":" + name
	}
	return i.User
}

// accountPrefix begins the names of the service accounts of plugins that aren't built in.
const accountPrefix = "windlass-plugin-"

// Account is the service account in kube-system that a controller of the plugin writes as where controllers have
// accounts of their own. Only a built-in module's manifest has a say in it.
func (p *Plugin) Account(builtin bool, inManifest string) string {
	switch {
	case p.ServiceAccount != "":
		return p.ServiceAccount
	case builtin:
		return inManifest
	}
	return accountPrefix + p.Name
}

// API bounds the requests of a controller.
type API struct {
	// QPS is how many requests a second in the long run. Default: 0, that of clientConnection.
	QPS float32 `json:"qps"`
	// Burst is how many requests at once. Default: 0, that of clientConnection.
	Burst int32 `json:"burst"`
}

// Plugin returns the configuration of the plugin of that name with all defaults filled in.
func (c *Configuration) Plugin(name string) Plugin {
	p := Plugin{Name: name}
	for i := range c.Plugins {
		if c.Plugins[i].Name == name {
			p = c.Plugins[i]
		}
	}

	if p.Limits.Memory.IsZero() {
		p.Limits.Memory = c.Sandbox.Memory
	}
	if p.Limits.Deadline.Duration == 0 {
		p.Limits.Deadline = c.Sandbox.Deadline
	}
	if p.Limits.Fuel == 0 {
		p.Limits.Fuel = c.Sandbox.Fuel
	}
	if p.Budget.LogBytesPerSecond.IsZero() {
		p.Budget.LogBytesPerSecond = *resource.NewQuantity(logBytes, resource.BinarySI)
	}
	if len(p.VerificationKeys) == 0 {
		p.VerificationKeys = c.Registries.VerificationKeys
	}
	if p.API.QPS == 0 {
		p.API.QPS = c.ClientConnection.QPS
	}
	if p.API.Burst == 0 {
		p.API.Burst = c.ClientConnection.Burst
	}

	return p
}
