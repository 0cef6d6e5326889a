package config

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

const head = "apiVersion: config.windlass.dev/v1alpha1\nkind: ControllerManagerConfiguration\n"

func loadText(t *testing.T, text string) (*Configuration, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "windlass.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return Load(path)
}

func TestLoad(t *testing.T) {
	folder := t.TempDir()
	got, err := loadText(t, head+`
clientConnection: {kubeconfig: /etc/k, qps: 0.5, burst: 7}
controllers: ["*", -ttl]
useServiceAccountCredentials: true
serving: {bindAddress: "::1", port: -1, tls: {certFile: /c, keyFile: /k}, authorization: {alwaysAllowPaths: [/healthz/*], denyCacheTTL: 0s}}
pluginFolder: `+folder+`
recordings: {bytes: 0Ki, folder: /nowhere/yet, folderFiles: 3, folderBytes: 1Mi}
sandbox:
  memory: 32Mi
  interpreter: true
  rest: 1h
plugins:
- name: deployment
  workers: 3
  limits: {deadline: 1m30s, fuel: 5}
  settings: {maxSurge: "3", App.Kubernetes.io/Name: X}
  api: {qps: 100}
- name: job
  controllers: [{name: job-controller, workers: 7}, {name: job-orphan-pod-controller}]
  grant: []
- name: daemonset
  grant:
  - apiGroups: [apps, ""]
    resources: [daemonsets, "*/status"]
    verbs: ["*"]
    namespaces: [web]
    selector: {matchLabels: {app: web}, matchExpressions: [{key: tier, operator: In, values: [a, b]}]}
  budget: {deletesPerMinute: 30}
  impersonate: {serviceAccount: windlass/daemonset}
`)
	if err != nil {
		t.Fatal(err)
	}
	want := Default()
	want.ClientConnection = ClientConnection{Kubeconfig: "/etc/k", QPS: 0.5, Burst: 7}
	want.Controllers = []string{"*", "-ttl"}
	want.UseServiceAccountCredentials = true
	want.Serving.BindAddress, want.Serving.Port = "::1", -1
	want.Serving.TLS.CertFile, want.Serving.TLS.KeyFile = "/c", "/k"
	want.Serving.Authorization.AlwaysAllowPaths, want.Serving.Authorization.DenyCacheTTL = []string{"/healthz/*"},
		metav1.Duration{}
	want.PluginFolder = folder
	want.Recordings = Recordings{Bytes: resource.MustParse("0Ki"), Folder: "/nowhere/yet", FolderFiles: 3,
		FolderBytes: resource.MustParse("1Mi")}
	want.Sandbox.Memory = resource.MustParse("32Mi")
	want.Sandbox.Interpreter, want.Sandbox.Rest = true, metav1.Duration{Duration: time.Hour}
	want.Plugins = []Plugin{{
		Name: "deployment", Workers: 3,
		Limits:   Limits{Deadline: metav1.Duration{Duration: 90 * time.Second}, Fuel: 5},
		Settings: map[string]string{"maxSurge": "3", "App.Kubernetes.io/Name": "X"},
		API:      API{QPS: 100},
	}, {
		Name:        "job",
		Controllers: []PluginController{{Name: "job-controller", Workers: 7}, {Name: "job-orphan-pod-controller"}},
		Grant:       []Rule{},
	}, {
		Name: "daemonset",
		Grant: []Rule{{
			APIGroups: []string{"apps", ""}, Resources: []string{"daemonsets", "*/status"}, Verbs: []string{"*"},
			Namespaces: []string{"web"},
			Selector: metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"},
				MatchExpressions: []metav1.LabelSelectorRequirement{
					{Key: "tier", Operator: metav1.LabelSelectorOpIn, Values: []string{"a", "b"}}}},
		}},
		Budget: Budget{DeletesPerMinute: 30}, Impersonate: Impersonate{ServiceAccount: "windlass/daemonset"},
	}}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}

	p := got.Plugin("deployment")
	if p.Limits.Memory.Value() != 32<<20 || p.Limits.Deadline.Duration != 90*time.Second || p.Limits.Fuel != 5 ||
		p.API != (API{QPS: 100, Burst: 7}) {
		t.Errorf("Plugin(deployment) doesn't fill in the defaults: %+v", p)
	}
	if p := got.Plugin("unheard-of"); p.Limits.Fuel != want.Sandbox.Fuel || p.API != (API{QPS: 0.5, Burst: 7}) {
		t.Errorf("Plugin(unheard-of) doesn't fill in the defaults: %+v", p)
	}
}

func TestLoadDefaults(t *testing.T) {
	for name, text := range map[string]string{"nothing but what it is": head,
		"JSON": `{"apiVersion":"` + APIVersion + `","kind":"` + Kind + `"}`, "empty fields": head +
			"plugins:\nsandbox: ~\n"} {
		got, err := loadText(t, text)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if d := cmp.Diff(Default(), got); d != "" {
			t.Errorf("%s: -want +got:\n%s", name, d)
		}
	}
	if err := Default().Validate(); err != nil {
		t.Error(err)
	}
}

// Each error has to name the path and what to do about it.
func TestLoadRefuses(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"empty file":    {"", "needs at least apiVersion: config.windlass.dev/v1alpha1"},
		"comments only": {"# nothing\n", "needs at least apiVersion"},
		"a list":        {"- a\n", "line 1: the file must be a map"},
		"null document": {"---\n", "must be a map"},
		"not YAML":      {"a: [", "not YAML"},
		"no apiVersion": {"kind: " + Kind,
			"apiVersion: Required value: write apiVersion: config.windlass.dev/v1alpha1"},
		"other apiVersion": {"apiVersion: v1\nkind: " + Kind,
			`apiVersion: Unsupported value: "v1": supported values: "config.windlass.dev/v1alpha1"`},
		"other kind": {"apiVersion: " + APIVersion + "\nkind: Pod", `kind: Unsupported value: "Pod"`},
		"apiVersion a number": {"apiVersion: 1.10\nkind: " + Kind,
			`line 1: apiVersion: Invalid value: "1.10": must be a string: put it in quotes`},
		"kind an octal": {"apiVersion: " + APIVersion + "\nkind: 012",
			`kind: Invalid value: "012": must be a string`},
		"two documents":   {head + "---\n" + head, "line 3: a second document"},
		"second not YAML": {head + "---\na: [", "not YAML"},
		"misspelt field": {head + "controlers: [a]",
			"line 3: controlers: Unsupported value: \"controlers\": unknown field: did you mean controllers?"},
		"misspelt and empty": {head + "leadr: {}",
			"leadr: Unsupported value: \"leadr\": unknown field: there are apiVersion, clientConnection, controllers"},
		"unknown and null": {head + "foo:", "foo: Unsupported value: \"foo\": unknown field"},
		"other case": {head + "CONTROLLERS: [a]\ncontrollers: [b]",
			"CONTROLLERS: Unsupported value: \"CONTROLLERS\": unknown field: did you mean controllers?"},
		"unknown in list": {head + "plugins:\n- name: a\n- {name: b, worker: 3}",
			"line 5: plugins[1].worker: Unsupported value: \"worker\": unknown field: did you mean workers?"},
		"twice": {head + "controllers: [a]\ncontrollers: [b]",
			`line 4: controllers: Duplicate value: "controllers": the field is on line 3 already`},
		"setting twice": {head + "plugins: [{name: a, settings: {b: x, b: y}}]",
			`plugins[0].settings[b]: Duplicate value: "b"`},
		"bare duration": {head + "sandbox: {deadline: 5}",
			`sandbox.deadline: Invalid value: "5": must be a duration with its unit`},
		"quoted bare duration":  {head + `sandbox: {deadline: "5"}`, `must be a duration with its unit`},
		"duration out of range": {head + "sandbox: {deadline: 99999999999999999999}", "sandbox.deadline: Invalid value"},
		"huge duration":         {head + "sandbox: {deadline: 99999999999999999999h}", "sandbox.deadline: Invalid value"},
		"negative duration": {head + "sandbox: {deadline: -1s}",
			"sandbox.deadline: Invalid value: \"-1s\": must be at least 1ms"},
		"zero deadline": {head + "sandbox: {deadline: 0s}", "sandbox.deadline: Invalid value"},
		"bare memory": {head + "sandbox: {memory: 64}",
			`sandbox.memory: Invalid value: "64": must be a quantity with its unit`},
		"huge recordings": {head + "recordings: {bytes: 2Gi, folderFiles: -1}",
			`recordings.bytes: Invalid value: "2Gi": must be from 0 to 1Gi`},
		"memory too small": {head + "sandbox: {memory: 64Ki}",
			`sandbox.memory: Invalid value: "64Ki": must be from 1Mi to 1Gi`},
		"plugin memory too big": {head + "plugins: [{name: a, limits: {memory: 5Gi}}]",
			`plugins[0].limits.memory: Invalid value: "5Gi"`},
		"memory endless": {head + "sandbox: {memory: 1e999999999}", `sandbox.memory: Invalid value: "1e999999999"`},
		"a short rest": {head + "sandbox: {rest: 5ms}",
			`sandbox.rest: Invalid value: "5ms": must be at least 1s, or 0s for never`},
		"no fuel": {head + "sandbox: {fuel: 0}", "sandbox.fuel: Invalid value: 0: must be more than 0"},
		"workers a fraction": {head + "plugins: [{name: a, workers: 3.9}]",
			`plugins[0].workers: Invalid value: "3.9": must be a whole number`},
		"workers in quotes": {head + `plugins: [{name: a, workers: "7"}]`,
			`plugins[0].workers: Invalid value: "7": must be a whole number`},
		"workers too many": {head + `plugins: [{name: a, workers: 99999999999}]`, `plugins[0].workers: Invalid value`},
		"workers above most": {head + `plugins: [{name: a, workers: 1001}]`,
			`plugins[0].workers: Invalid value: 1001: must be from 1 to 1000`},
		"a controller without a name": {head + "plugins: [{name: a, controllers: [{workers: 1}]}]",
			"plugins[0].controllers[0].name: Required value: name the controller that this configures"},
		"a controller twice": {head + "plugins: [{name: a, controllers: [{name: b}, {name: b, workers: 2}]}]",
			`plugins[0].controllers[1].name: Duplicate value: "b"`},
		"a controller's workers": {head + "plugins: [{name: a, controllers: [{name: b, workers: -1}]}]",
			"plugins[0].controllers[0].workers: Invalid value: -1: must be from 1 to 1000, or 0 for the number of the plugin"},
		"workers octal":         {head + `plugins: [{name: a, workers: 010}]`, `plugins[0].workers: Invalid value: "010"`},
		"plugins a map":         {head + "plugins: {name: a}", `line 3: plugins: Invalid value: "a map": must be a list`},
		"plugin without a name": {head + "plugins: [{workers: 1}]", "plugins[0].name: Required value"},
		"empty plugin":          {head + "plugins: [~]", "plugins[0]: Required value: remove the empty element"},
		"plugin twice": {head + "plugins: [{name: a}, {name: a}]",
			`plugins[1].name: Duplicate value: "a": plugins[0] configures it already`},
		"setting a number": {head + "plugins: [{name: a, settings: {maxSurge: 3}}]",
			`plugins[0].settings[maxSurge]: Invalid value: "3": must be a string: put it in quotes, "3"`},
		"setting a map": {head + "plugins: [{name: a, settings: {b: {c: d}}}]",
			`plugins[0].settings[b]: Invalid value: "a map": must be a string`},
		"controllers a string": {head + "controllers: a,b", `controllers: Invalid value: "a,b": must be a list`},
		"controller a number":  {head + "controllers: [1]", `controllers[0]: Invalid value: "1": must be a string`},
		"controller -":         {head + "controllers: ['-']", `controllers[0]: Invalid value: "-"`},
		"yes": {head + "useServiceAccountCredentials: yes",
			`useServiceAccountCredentials: Invalid value: "yes": must be true or false`},
		"true in quotes": {head + "useServiceAccountCredentials: 'true'", `must be true or false, without quotes`},
		"qps infinite": {head + "clientConnection: {qps: .inf}",
			`clientConnection.qps: Invalid value: ".inf": must be a number`},
		"qps zero": {head + "clientConnection: {qps: 0}",
			"clientConnection.qps: Invalid value: 0: must be more than 0"},
		"burst negative": {head + "clientConnection: {burst: -1}", "clientConnection.burst: Invalid value: -1"},
		"folder missing": {head + "pluginFolder: /nowhere/at/all",
			`pluginFolder: Invalid value: "/nowhere/at/all": stat /nowhere/at/all: no such file or directory: make the folder`},
		"folder a file": {head + "pluginFolder: /etc/hosts", "is a file: name the folder"},
		"anchor": {head + "controllers: &a [b]",
			"controllers: Invalid value: \"\": anchors and aliases aren't supported"},
		"alias to itself": {head + "plugins: &a [*a]", "anchors and aliases aren't supported"},
		"grant of nothing": {head + "plugins: [{name: a, grant: [{}]}]",
			"plugins[0].grant[0].apiGroups: Required value"},
		"grant without verbs": {head + "plugins: [{name: a, grant: [{apiGroups: [\"\"], resources: [pods]}]}]",
			"plugins[0].grant[0].verbs: Required value"},
		"grant of a verb": {head +
			"plugins: [{name: a, grant: [{apiGroups: [\"\"], resources: [pods], verbs: [evict]}]}]",
			"plugins[0].grant[0].verbs[0]: Unsupported value: \"evict\""},
		"grant of a version": {head +
			"plugins: [{name: a, grant: [{apiGroups: [apps/v1], resources: [x], verbs: [get]}]}]",
			"plugins[0].grant[0].apiGroups[0]: Invalid value: \"apps/v1\": must be a group without its version"},
		"grant of a kind": {head + "plugins: [{name: a, grant: [{apiGroups: [\"\"], resources: [Pod], verbs: [get]}]}]",
			"plugins[0].grant[0].resources[0]: Invalid value: \"Pod\""},
		"grant in all": {head +
			"plugins: [{name: a, grant: [{apiGroups: [\"\"], resources: [pods], verbs: [get], namespaces: [\"*\"]}]}]",
			"plugins[0].grant[0].namespaces[0]: Invalid value: \"*\": must be a namespace's name"},
		"grant's selector": {head +
			"plugins: [{name: a, grant: [{apiGroups: [\"\"], resources: [pods], verbs: [get], selector: {matchExpressions: [{key: a, operator: In}]}}]}]", "plugins[0].grant[0].selector: Invalid value"},
		"grant misspelt": {head + "plugins: [{name: a, grant: [{selector: {matchlabels: {}}}]}]",
			"plugins[0].grant[0].selector.matchlabels: Unsupported value: \"matchlabels\": unknown field: did you mean matchLabels?"},
		"memory of a plugin": {head + "plugins: [{name: a, budget: {memory: 1Ki}}]",
			"plugins[0].budget.memory: Invalid value: \"1Ki\": must be at least 1Mi"},
		"memory of all": {head + "sandbox: {totalMemory: 1Mi}",
			"sandbox.totalMemory: Invalid value: \"1Mi\": must be at least 64Mi"},
		"log rate above": {head + "plugins: [{name: a, budget: {logBytesPerSecond: 65Mi}}]",
			"plugins[0].budget.logBytesPerSecond: Invalid value: \"65Mi\": must be from 1 to 64Mi"},
		"log rate without unit": {head + "plugins: [{name: a, budget: {logBytesPerSecond: 5000}}]",
			"plugins[0].budget.logBytesPerSecond: Invalid value"},
		"account": {head + "plugins: [{name: a, serviceAccount: kube-system/b}]",
			"plugins[0].serviceAccount: Invalid value: \"kube-system/b\": must be a service account's name"},
		"account and somebody": {head + "plugins: [{name: a, serviceAccount: b, impersonate: {user: u}}]",
			"plugins[0].serviceAccount: Invalid value: \"b\": can't be set together with impersonate"},
		"budget below": {head + "plugins: [{name: a, budget: {deletesPerMinute: -1}}]",
			"plugins[0].budget.deletesPerMinute: Invalid value: -1"},
		"impersonate both": {head + "plugins: [{name: a, impersonate: {user: u, serviceAccount: a/b}}]",
			"plugins[0].impersonate.serviceAccount: Invalid value"},
		"impersonate no name": {head + "plugins: [{name: a, impersonate: {serviceAccount: b}}]",
			"plugins[0].impersonate.serviceAccount: Invalid value: \"b\": must be namespace/name"},
		"impersonate groups": {head + "plugins: [{name: a, impersonate: {groups: [g]}}]",
			"plugins[0].impersonate.user: Required value"},
		"merge key": {head + "sandbox: {<<: {fuel: 3}}",
			"sandbox: Invalid value: \"<<\": a field's name must be a string"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := loadText(t, c.text)
			if err == nil {
				t.Fatal("was accepted")
			}
			if !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "windlass.yaml: ") {
				t.Errorf("got:  %v\nwant: %s", err, c.want)
			}
		})
	}
}

func TestLoadReportsAll(t *testing.T) {
	_, err := loadText(t, head+"foo: 1\nplugins: [{workers: x}]\nsandbox: {deadline: 5}\n")
	for _, want := range []string{"line 3: foo:", "line 4: plugins[0].workers:", "line 5: sandbox.deadline:"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in: %v", want, err)
		}
	}
}

// The comments are the documentation: each field says what it is when nobody says anything.
func TestEveryFieldSaysItsDefault(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}

	fields := 0
	inspect := func(n ast.Node) bool {
		s, ok := n.(*ast.StructType)
		if !ok {
			return true
		}
		for _, f := range s.Fields.List {
			// inlined, or nothing of the file's
			if len(f.Names) == 0 || f.Tag == nil || !strings.Contains(f.Tag.Value, "json:") {
				continue
			}
			fields++
			doc := f.Doc.Text()
			nested := false
			if id, ok := f.Type.(*ast.Ident); ok {
				nested = ast.IsExported(id.Name) // a struct of ours, whose own fields have the defaults
			}
			if !nested && !strings.Contains(doc, "Default") && !strings.Contains(doc, "Required") || doc == "" {
				t.Errorf("%s doesn't say its default", f.Names[0].Name)
			}
		}
		return true
	}

	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, inspect)
	}

	if fields < 60 {
		t.Errorf("found %d fields only", fields)
	}
}

// What decodes, written out and decoded again, is the same.
func FuzzDecodedSurvivesEncoding(f *testing.F) {
	f.Add([]byte(head + "controllers: [a]\nplugins: [{name: a, settings: {b: c}, limits: {memory: 1.5Gi, deadline: 1m}}]\nclientConnection: {qps: 1e3}"))
	f.Add([]byte(head + "plugins: [{name: a}]\nrecordings: {bytes: 0}"))
	f.Add([]byte("{}"))
	f.Add([]byte("a: &a [*a]\n---\n"))

	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := Decode(data)
		if err != nil {
			return
		}
		out, err := yaml.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		again, err := Decode(out)
		if err != nil {
			t.Fatalf("%v in:\n%s", err, out)
		}
		// Quantities keep the text that they were written as; their encoding is what counts.
		twice, err := yaml.Marshal(again)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(string(out), string(twice)); d != "" {
			t.Errorf("-first +second:\n%s", d)
		}
	})
}
