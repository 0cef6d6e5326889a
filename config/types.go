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
	// UseServiceAccountCredentials makes each controller write as its own service account in kube-system instead of as the
	// manager. Controllers of built-in plugins use the accounts of kube-controller-manager, others those that
	// plugins[].serviceAccount names. Default: false.
	UseServiceAccountCredentials bool `json:"useServiceAccountCredentials"`
	// Serving says how health, metrics and the manager's state are served, and to whom.
	Serving Serving `json:"serving"`
	// ShutdownTimeout is how long the writes of syncs in flight may take once the manager is told to stop: a duration, 0s
	// for as long as they take. What was sent by then has five seconds more to be answered, so a manager whose writes hang
	// ends some seconds later. It is read at the start only. Default: 10s.
	ShutdownTimeout metav1.Duration `json:"shutdownTimeout"`
	// MinResyncPeriod is after how long each key is synced again though nothing has happened to it. Each controller draws
	// a period between this one and twice this one, and spreads its keys over it, ten a second at most; keys to which
	// something has happened go first. This repairs what a controller doesn't watch for, such as Endpoints edited by hand,
	// and takes up keys again that were given up. A duration; less than 1s counts as 1s. 0s turns it off: then what has
	// drifted stays so until something happens to its key. It is read at the start
	// only. Default: 12h.
	MinResyncPeriod metav1.Duration `json:"minResyncPeriod"`
	// PluginFolder is a folder whose *.wasm files are plugins. A file is the plugin of its own name, NAME.wasm, and its
	// manifest must have that name, unless plugins[].file says which plugin it is; without that no file takes a built-in
	// plugin's place. While a file can't be used, the plugin that was loaded from it before goes on. Default: none.
	PluginFolder string `json:"pluginFolder"`
	// Sandbox bounds what a sync may take, for plugins that have no limits of their own.
	Sandbox Sandbox `json:"sandbox"`
	// Signing says with which keys the manager signs certificates.
	Signing Signing `json:"signing"`
	// Plugins configures plugins by name. One that isn't named here runs with the defaults. Default: none.
	Plugins []Plugin `json:"plugins"`
	// Registries says how modules are pulled from OCI registries, for plugins that have an image.
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
	// Folder is where a controller's last syncs are saved when one fails, at most once a minute; it is created if it is
	// missing. The data of Secrets is left out, that of other objects isn't. Default: none, nothing is saved.
	Folder string `json:"folder"`
	// FolderFiles bounds the number of recordings in the folder; when there are more, the oldest one is removed. Default:
	// 50.
	FolderFiles int32 `json:"folderFiles"`
	// FolderBytes bounds the size of all recordings in the folder in the same way. Default: 64Mi.
	FolderBytes resource.Quantity `json:"folderBytes"`
}

// ClientConnection says how the API server is reached.
type ClientConnection struct {
	// Kubeconfig is the path of a kubeconfig file. It is read at the start only. Default: none, which uses $KUBECONFIG as
	// kubectl does, and where that isn't set the service account of the pod that the manager runs in.
	Kubeconfig string `json:"kubeconfig"`
	// Server is the address of the API server, host:port or a URL, in place of the one in the kubeconfig. It is read at
	// the start only. Default: none, which uses the kubeconfig's.
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
	// Rest is after how long without a sync a plugin's code and the memory that its instances start from are
	// released. The next sync loads them again, which takes some milliseconds. A duration from 1s; 0s means never.
	// Default: 5m.
	Rest metav1.Duration `json:"rest"`
	// TotalMemory is how many bytes all plugins together may hold of what budget.memory counts: a quantity from 64Mi.
	// When it is used up, a plugin that holds more than an even share of it gets no more, and its syncs fail.
	// Default: 2Gi.
	TotalMemory resource.Quantity `json:"totalMemory"`
}

// Limits bounds one sync of a plugin. A sync that reaches one of the limits ends there: nothing of its answer is
// written, and its key is synced again later.
type Limits struct {
	// Memory is the most linear memory a plugin's instance may have, in bytes: a quantity from 1Mi to 1Gi, rounded down to
	// pages of 64Ki. Default: 64Mi.
	Memory resource.Quantity `json:"memory"`
	// Deadline is the most wall-clock time a sync may spend inside the sandbox, its API requests aside: a duration, at
	// least 1ms. Default: 10s.
	Deadline metav1.Duration `json:"deadline"`
	// Fuel is the most a sync may compute, in metered instructions. The meter counts up to 20 for each instruction that is
	// really executed; a million metered ones take about a millisecond at most. Default: 100000000000, a last resort.
	Fuel int64 `json:"fuel"`
}

// Registries says how modules are pulled from OCI registries.
type Registries struct {
	// CredentialsFile is the path of a docker config file, as docker login writes it. Credential helpers that it names are
	// never run. Default: none.
	CredentialsFile string `json:"credentialsFile"`
	// CAFile is the path of certificates in PEM that are trusted beside the system's. Default: none.
	CAFile string `json:"caFile"`
	// PlainHTTP are registries, host or host:port, to which the manager speaks without TLS. Default: none.
	PlainHTTP []string `json:"plainHTTP"`
	// Timeout is how long each step of pulling a module may take: a duration from 1s to 10m. Default: 1m.
	Timeout metav1.Duration `json:"timeout"`
	// CacheFolder is where modules are kept, so that a start needs no registry; it is created if it is missing, and must
	// be open to nobody else. Default: windlass/modules in the user's cache folder.
	CacheFolder string `json:"cacheFolder"`
	// VerificationKeys are the paths of public keys in PEM (ECDSA P-256 or Ed25519). Each image must be signed with one of
	// them, in cosign's format; any other image is refused. Default: none, images needn't be signed.
	VerificationKeys []string `json:"verificationKeys"`
}

// Plugin configures one plugin.
type Plugin struct {
	// Name is the plugin's name in its manifest. A configuration that names a plugin which isn't there is refused, unless
	// its file may be missing: at a start with a plugin folder, if the previous configuration named it, too, or if some
	// file can't be used. Then the rest is applied, but until it is there no plugin starts that is neither built
	// in nor named here: the missing name, and its grant, may be meant for it. Required.
	Name string `json:"name"`
	// File is the name of a file in pluginFolder which is this plugin's module; its manifest must have the plugin's name.
	// A module takes a built-in plugin's place only so, or as an image, and it must have all controllers of that plugin
	// that the list of controllers turns on. While there is no such file the built-in plugin runs. Default: none, which
	// is NAME.wasm, but for a built-in plugin's name.
	File string `json:"file"`
	// Image is an OCI reference of the plugin's module with its digest, registry/repository@sha256:... It takes precedence
	// over a built-in module or a file of that name. While it can't be pulled, the version of the plugin that runs goes
	// on, and nothing else runs in its place. Default: none.
	Image string `json:"image"`
	// VerificationKeys replace registries.verificationKeys for this image and for the shadow's. Default: none, which uses
	// those of registries.
	VerificationKeys []string `json:"verificationKeys"`
	// Workers is how many keys each controller of the plugin syncs at once, 0 to 1000. Default: 0, the number in the
	// plugin's manifest.
	Workers int32 `json:"workers"`
	// Controllers configures single controllers of the plugin, by name. Default: none.
	Controllers []PluginController `json:"controllers"`
	// Limits bounds the plugin's syncs. Default of each field: the one of sandbox.
	Limits Limits `json:"limits"`
	// Settings are values of the plugin's own settings, by name; `windlass plugin inspect` lists the settings. Values are
	// strings; the value of a file setting is the file's path. Default: the plugin's.
	Settings map[string]string `json:"settings"`
	// Shadow is a module ("builtin:NAME", a file's path, or an OCI reference with its digest) that gets the same calls as
	// the plugin, but nothing of its answers is written. What it would have done differently is counted, logged, and shown
	// by `windlass get differences`. Default: none.
	Shadow string `json:"shadow"`
	// API bounds the requests of each of the plugin's controllers. Default of each field: the one of clientConnection.
	API API `json:"api"`
	// Grant narrows what the plugin may read and write to what one of these rules covers. A rule can't grant more than the
	// plugin's manifest asks for. An empty list grants nothing. Default: none, which grants all that is in the manifest.
	Grant []Rule `json:"grant"`
	// Budget bounds how much the plugin may delete and log in a certain time, and how much memory it may hold.
	Budget Budget `json:"budget"`
	// Impersonate says as whom the plugin's controllers write; the manager needs the verb "impersonate" for that. It takes
	// precedence over useServiceAccountCredentials.
	Impersonate Impersonate `json:"impersonate"`
	// ServiceAccount is the account in kube-system as which the plugin's controllers write where
	// useServiceAccountCredentials is on; it is created if it is missing. Default: for a built-in module the accounts in
	// its manifest, for any other module windlass-plugin-NAME, whatever its manifest says.
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
// For a view of a resource "list" and "watch" must be in the same rule. `windlass plugin inspect` shows the resources
// and verbs of a plugin's manifest.
type Rule struct {
	// APIGroups are the resources' groups; "" is the core group, "*" all groups. Required.
	APIGroups []string `json:"apiGroups"`
	// Resources are plurals such as "pods", or a plural with a subresource, such as "pods/status"; "*" is all resources
	// and their subresources, "*/scale" that subresource of all resources. Required.
	Resources []string `json:"resources"`
	// Verbs are get, list, watch, create, update, patch, delete, deletecollection, approve, attest, escalate, sign, or "*"
	// for all of them. An eviction is a create of pods/eviction. Required.
	Verbs []string `json:"verbs"`
	// Namespaces are the namespaces whose objects the rule covers. A Namespace object counts as in itself; other objects
	// without a namespace are in none of them. Default: none, which covers all namespaces and what is in no namespace.
	Namespaces []string `json:"namespaces"`
	// Selector chooses the objects that the rule covers by their labels. An object must match both before and after a
	// write; a new object must match as it is created. Default: none, which chooses all.
	Selector metav1.LabelSelector `json:"selector"`
}

// Budget bounds how much a plugin may delete and log in a certain time, and how much memory it may hold.
type Budget struct {
	// Memory is how many bytes the plugin may hold at once, all its controllers, instances and versions together: a
	// quantity from 1Mi. It counts the memory and stacks of the module's instances, objects that are read live, state,
	// facts, keys that syncs have woken, series of metrics, and recordings. A sync that needs more fails; `windlass top`
	// shows what is held. Default: 512Mi.
	Memory resource.Quantity `json:"memory"`
	// DeletesPerMinute is how many deletes, evictions and deletes of collections (one each, whatever is in them) all of
	// the plugin's controllers together may send in any minute. A key that needs more waits. A restart of the manager
	// begins a new minute. Default: 0, no bound.
	DeletesPerMinute int32 `json:"deletesPerMinute"`
	// LogBytesPerSecond is how many bytes all of the plugin's controllers together may log in a second, on average: a
	// quantity from 1 to 64Mi. A burst of 1Mi is free; what is over the bound is dropped and counted. Default: 64Ki.
	LogBytesPerSecond resource.Quantity `json:"logBytesPerSecond"`
}

// Impersonate says as whom a plugin writes: a user with groups, or a service account.
type Impersonate struct {
	// User is a user's name. Default: none.
	User string `json:"user"`
	// Groups are the user's groups; every user is in system:authenticated, too. Default: none.
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
	if p.Budget.Memory.IsZero() {
		p.Budget.Memory = *resource.NewQuantity(heldBytes, resource.BinarySI)
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
