package manager

import (
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/config"
	"github.com/windlass-dev/windlass/config/configtest"
	"github.com/windlass-dev/windlass/host/state"
)

// followed says how a field of the configuration is followed while the manager runs.
type followed struct {
	// before is what is configured before the field is changed; nil: nothing.
	before func(*config.Configuration)
	// change changes the field; nil: what configtest does.
	change func(*config.Configuration)
	// look returns what must be another after the change.
	look func(*fields) any
	// shown is the test that shows it, where what follows the field is in another package.
	shown string
}

// fields is a world whose configuration's fields are changed one by one.
type fields struct {
	*world
	writer atomic.Value // as whom the last config map was made
	spaces int
}

// What the manager shows of a plugin that follows a field.
var (
	lookGeneration = func(f *fields) any { return f.hosted().present }
	lookWorkers    = func(f *fields) any { return f.status().Controllers[0].Workers }
	lookWriter     = func(f *fields) any { // who is seen with the next write
		f.spaces++
		f.makeNamespaces(fmt.Sprintf("space-%d", f.spaces))
		return f.writer.Load()
	}
	lookAccounts = func(f *fields) any {
		l, err := f.client.CoreV1().ServiceAccounts("kube-system").List(f.t.Context(), metav1.ListOptions{})
		if err != nil {
			f.t.Fatal(err)
		}
		return len(l.Items)
	}
	lookSaver = func(f *fields) any { return f.m.recordings.saver }
)

func (f *fields) status() state.Status { return f.m.inspector.status(f.t.Context()) }

func (f *fields) hosted() *hosted {
	h := f.m.roster.named("greeter")
	h.mu.Lock()
	defer h.mu.Unlock()
	return &hosted{present: h.present, limits: h.limits}
}

// greeting returns the plugin's entry.
func greeting(k *config.Configuration) *config.Plugin { return &k.Plugins[0] }

// live are the fields that a running manager follows. All others wait for a restart: config.ReadAtStart.
func liveFields() map[string]followed {
	const inGuard, inServer = "host/guard TestEveryFieldIsFollowed", "host/server TestCertificateIsReplaced"
	const inTracing, inRegistries = "host/tracing TestEveryFieldIsFollowed", "host/plugins/oci TestEveryFieldIsFollowed"
	const inKeyring = "host/signing/keyring TestEveryFieldIsFollowed"
	const inBounds, inMount = "test/swap TestLimitsOutliveVersions", "host/manager TestPluginFolderIsFollowed"
	user := func(k *config.Configuration) { greeting(k).Impersonate.User = "jane" }
	granted := func(k *config.Configuration) {
		greeting(k).Grant = []config.Rule{{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"*"}}}
	}
	own := func(k *config.Configuration) {
		k.UseServiceAccountCredentials, greeting(k).ServiceAccount = true, "one"
	}
	saving := func(k *config.Configuration) { k.Recordings.Folder = filepath.Join(k.PluginFolder, "saved") }

	all := map[string]followed{
		"controllers": {change: func(k *config.Configuration) { k.Controllers = []string{"-other-0", "*"} },
			look: func(f *fields) any { return len(f.status().Controllers) }},
		"useServiceAccountCredentials": {before: func(k *config.Configuration) { greeting(k).ServiceAccount = "mine" },
			look: lookAccounts},
		"pluginFolder": {shown: inMount},
		"clientConnection.qps": {look: func(f *fields) any {
			return f.hosted().limits.requests["greeter-0"].effects.QPS()
		}},
		"clientConnection.burst": {shown: inBounds},

		"sandbox.memory":      {look: lookGeneration},
		"sandbox.deadline":    {look: lookGeneration},
		"sandbox.fuel":        {look: lookGeneration},
		"sandbox.interpreter": {look: lookGeneration},
		"sandbox.rest":        {look: lookGeneration},
		"sandbox.totalMemory": {look: func(f *fields) any { return f.m.memory.Limit() }},

		"plugins[].name": {change: func(k *config.Configuration) { greeting(k).Name = "other" }, look: lookWorkers,
			before: func(k *config.Configuration) { greeting(k).Workers = 5 }},
		"plugins[].file": {change: func(k *config.Configuration) { greeting(k).File = "next.wasm" },
			look: func(f *fields) any { return f.hosted().present.Digest }},
		"plugins[].image":            {shown: inRegistries},
		"plugins[].verificationKeys": {shown: inRegistries},
		"plugins[].workers": {look: lookWorkers,
			change: func(k *config.Configuration) { greeting(k).Workers = 3 }},
		"plugins[].controllers[].name": {look: lookWorkers,
			before: func(k *config.Configuration) {
				greeting(k).Controllers = []config.PluginController{{Name: "greeter-0", Workers: 4}}
			},
			change: func(k *config.Configuration) { greeting(k).Controllers = nil }},
		"plugins[].controllers[].workers": {look: lookWorkers,
			before: func(k *config.Configuration) {
				greeting(k).Controllers = []config.PluginController{{Name: "greeter-0", Workers: 4}}
			}},
		"plugins[].limits.memory":   {look: lookGeneration},
		"plugins[].limits.deadline": {look: lookGeneration},
		"plugins[].limits.fuel":     {look: lookGeneration},
		"plugins[].settings": {look: lookGeneration,
			change: func(k *config.Configuration) { greeting(k).Settings = map[string]string{"says": "more"} }},
		"plugins[].shadow": {look: func(f *fields) any { return pluginOf(new(f.status()), "greeter").Shadow }},

		"plugins[].api.qps":   {look: func(f *fields) any { return f.hosted().limits.requests["greeter-0"].effects.QPS() }},
		"plugins[].api.burst": {shown: inBounds},
		"plugins[].grant[].apiGroups": {before: granted, look: lookGeneration,
			change: func(k *config.Configuration) { greeting(k).Grant[0].APIGroups = []string{"apps"} }},
		"plugins[].grant[].resources": {before: granted, look: lookGeneration},
		"plugins[].grant[].verbs": {before: granted, look: lookGeneration,
			change: func(k *config.Configuration) { greeting(k).Grant[0].Verbs = []string{"get"} }},
		"plugins[].grant[].namespaces": {before: granted, look: lookGeneration},
		"plugins[].grant[].selector":   {before: granted, look: lookGeneration},
		"plugins[].budget.memory":      {look: func(f *fields) any { return f.hosted().limits.memory.Limit() }},

		"plugins[].budget.deletesPerMinute": {shown: inBounds},
		"plugins[].budget.logBytesPerSecond": {look: lookLogs,
			before: func(k *config.Configuration) { greeting(k).Budget.LogBytesPerSecond = resource.MustParse("1") },
			change: func(k *config.Configuration) { greeting(k).Budget.LogBytesPerSecond = resource.MustParse("64Mi") }},
		"plugins[].impersonate.user":   {look: lookWriter},
		"plugins[].impersonate.groups": {before: user, look: lookWriter},
		"plugins[].impersonate.serviceAccount": {look: lookWriter,
			change: func(k *config.Configuration) { greeting(k).Impersonate.ServiceAccount = "default/jane" }},
		"plugins[].serviceAccount": {before: own, look: lookAccounts},

		"recordings.bytes":       {look: func(f *fields) any { return f.m.recordings.bytes }},
		"recordings.folder":      {look: lookSaver, change: saving},
		"recordings.folderFiles": {before: saving, look: lookSaver},
		"recordings.folderBytes": {before: saving, look: lookSaver},
		"logging.verbosity":      {look: func(*fields) any { return klog.V(1).Enabled() }},

		"serving.profiling":           {shown: "host/server TestConfigure"},
		"serving.contentionProfiling": {shown: "host/server TestConfigure"},
		"serving.tls.certFile":        {shown: inServer},
		"serving.tls.keyFile":         {shown: inServer},
		"serving.tls.certDir":         {shown: "host/server TestTLSIsFollowed"},
		"serving.tls.minVersion":      {shown: "host/server TestTLSIsFollowed"},
		"serving.tls.cipherSuites":    {shown: "host/server TestTLSIsFollowed"},
	}
	for _, path := range configtest.Fields(reflect.TypeFor[config.Configuration]()) {
		switch {
		case all[path].look != nil || all[path].shown != "" || isReadAtStart(path):
		case strings.HasPrefix(path, "serving.auth"):
			all[path] = followed{shown: inGuard}
		case strings.HasPrefix(path, "registries."):
			all[path] = followed{shown: inRegistries}
		case strings.HasPrefix(path, "signing."):
			all[path] = followed{shown: inKeyring}
		case strings.HasPrefix(path, "tracing."):
			all[path] = followed{shown: inTracing}
		}
	}
	return all
}

// lookLogs reports whether a message could be logged, and uses up what could be: at a byte a second the next one can't.
func lookLogs(f *fields) any {
	l := f.hosted().limits.logs
	allowed := l.Allow(64 << 10)
	for l.Allow(64 << 10) {
	}
	return allowed
}

func isReadAtStart(path string) bool {
	return slices.ContainsFunc(config.ReadAtStart(), func(p string) bool {
		return path == p || strings.HasPrefix(path, p+".") || strings.HasPrefix(path, p+"[].")
	})
}

// Each field of the configuration is followed while the manager runs, or the manager says that it waits for a restart.
func TestEveryFieldIsFollowed(t *testing.T) {
	f := &fields{world: newWorld(t)}
	f.anything = true
	transport := f.config.Transport
	f.writer.Store("")
	f.config.Transport = roundTripper(func(r *http.Request) (*http.Response, error) {
		if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/configmaps") {
			f.writer.Store(fmt.Sprint(r.Header["Impersonate-User"], r.Header["Impersonate-Group"]))
		}
		return transport.RoundTrip(r)
	})
	g := greeter(t, "greeter", "hello", "", func(m *abi.Manifest) { m.Settings = []abi.Setting{{Name: "says"}} })
	shadow := filepath.Join(t.TempDir(), "shadow.wasm")
	if err := os.WriteFile(shadow, g.wasm, 0o600); err != nil {
		t.Fatal(err)
	}
	f.place(g)
	f.place(greeter(t, "other", "other", ""))
	f.placeBytes("next", greeter(t, "greeter", "next", "", func(m *abi.Manifest) {
		m.Settings = []abi.Setting{{Name: "says"}}
	}).wasm)
	f.configure(nil, func(k *config.Configuration) { k.Plugins = []config.Plugin{{Name: "greeter"}} })
	f.begin()
	f.runs(g)
	base := f.current

	all, seen := liveFields(), 0
	for _, path := range configtest.Fields(reflect.TypeFor[config.Configuration]()) {
		if path == "apiVersion" || path == "kind" {
			continue
		}
		how, known := all[path]
		if known == isReadAtStart(path) {
			t.Errorf("%s: say in live how it is followed, or in config.ReadAtStart that it isn't", path)
			continue
		}
		seen++
		if how.shown != "" {
			expectTest(t, path, how.shown)
			continue
		}

		change := how.change
		switch {
		case path == "plugins[].shadow":
			change = func(k *config.Configuration) { greeting(k).Shadow = shadow }
		case change == nil:
			change = func(k *config.Configuration) { configtest.Change(k, path) }
		}
		f.set(base, how.before)
		var before any
		if known {
			how.look(f) // which may use up what there is
			before = how.look(f)
		}
		f.set(base, how.before, change)
		list, _, _ := strings.Cut(path, "[]")
		f.eventually(path+" is followed", func(s *state.Status) bool {
			if known {
				return !reflect.DeepEqual(how.look(f), before) && len(s.Restart) == 0
			}
			return slices.Equal(s.Restart, []string{list}) && slices.ContainsFunc(s.Troubles,
				func(x state.Trouble) bool { return strings.Contains(x.What, "waits for a restart: "+list) })
		})
	}
	f.set(base)
	f.eventually("nothing waits", func(s *state.Status) bool { return len(s.Restart) == 0 && s.Refused == "" })
	if known := slices.Collect(maps.Keys(all)); seen < len(known)+15 {
		t.Errorf("%d fields, of which %d are followed", seen, len(known))
	}
}

// set has the manager run with a configuration that was changed so.
func (f *fields) set(base *config.Configuration, changes ...func(*config.Configuration)) {
	f.t.Helper()
	f.mu.Lock()
	f.current = base
	f.mu.Unlock()
	f.configure(nil, func(k *config.Configuration) {
		for _, change := range changes {
			if change != nil {
				change(k)
			}
		}
	})
	f.look() // returns when the one before has been read
}

// expectTest checks that a test is there, by its package and its name.
func expectTest(t *testing.T, path, test string) {
	t.Helper()
	folder, name, _ := strings.Cut(test, " ")
	files, err := filepath.Glob(filepath.Join("..", "..", folder, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(b), "func "+name+"(") {
			return
		}
	}
	t.Errorf("%s: there is no test %s", path, test)
}

// Another folder's plugins run as soon as the configuration names it.
func TestPluginFolderIsFollowed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.sources = nil // those of the configuration
	g, other := greeter(t, "greeter", "hello", ""), greeter(t, "other", "other", "")
	w.place(g)
	w.configure(nil, func(k *config.Configuration) { k.Controllers = []string{"greeter-0"} })
	w.begin()
	w.runs(g)
	w.folder = t.TempDir()
	w.place(other)
	w.configure(nil, func(k *config.Configuration) { k.Controllers, k.PluginFolder = []string{"other-0"}, w.folder })
	w.eventually("the other folder's runs alone", func(s *state.Status) bool {
		return len(s.Plugins) == 1 && s.Plugins[0].Digest == other.digest()
	})
}
