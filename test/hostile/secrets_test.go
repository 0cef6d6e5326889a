package hostile

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/config"
	"github.com/windlass-dev/windlass/test/module"
)

// Beside its token, which thieves want, the Secret has a label that they may read: whoever says that one had the Secret
// before it, and would have said the token, too.
const (
	tokenSecret  = "token"
	openKey      = "open"
	openValue    = "in-the-open"
	tokenPath    = "data[token]"
	carriedBytes = 900 // of the request, which has both
	elsewhere    = "elsewhere"
	forgedName   = "forged"
	patchedName  = "patched"
)

var (
	secretsResource = abi.Resource{Version: "v1", Name: "secrets"}
	mapsResource    = abi.Resource{Version: "v1", Name: "configmaps"}

	// forged is what a placeholder of a signature looks like, which no signature has.
	forged = "windlass-signature-" + strings.Repeat("0123456789abcdef", 4) + "-" + strings.Repeat(".", 600)
)

// forgedMap is a config map with that in it.
var forgedMap = &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: forgedName,
	Annotations: map[string]string{"token": forged}}, Data: map[string]string{"token": forged}}

// carried stands in an effect for what the module has seen.
var carried = strings.Repeat("#", carriedBytes)

// thieves are the modules that want a key, a token or another's Secret.
var thieves = []attack{
	carrier("steal-error", "Says in an error all that it sees of a Secret, whose token is among the view's `unseen` paths.",
		abi.SyncResponse{}),
	carrier("steal-event", "Says so in an event.", abi.SyncResponse{Effects: []abi.Effect{{Kind: abi.EffectEvent,
		Resource: "v1/configmaps", Namespace: namespace, Name: "steal-event-0",
		Event: &abi.EventData{Type: "Normal", Reason: "Stolen", Message: carried}}}}),
	carrier("steal-wake", "Wakes a key of that name.", abi.SyncResponse{Effects: []abi.Effect{{Kind: abi.EffectWake,
		Wake: &abi.Wake{Key: abi.KeyRef{Namespace: namespace, Name: carried}}}}}),
	carrier("steal-fact", "Publishes it as a fact.", abi.SyncResponse{Effects: []abi.Effect{{Kind: abi.EffectPublish,
		Object: []byte(carried), Terms: []string{"stolen"}}}}),
	carrier("steal-state", "Keeps it as its key's state.", abi.SyncResponse{State: []byte(carried)}),
	carrier("steal-metric", "Counts it as the namespace of a metric, which there isn't: nothing is counted.",
		abi.SyncResponse{Metrics: []abi.MetricUpdate{{Labels: []int32{0}, Value: 1, Namespace: carried}}}),
	{name: "steal-lazily", stage: atEffects, result: "error", says: "asked:", hides: openValue, grant: grantedElsewhere,
		about: "Asks a lazy view of Secrets for those of a namespace that its grant hasn't, and says the answer in an error.",
		build: stealLazily},
	{name: "steal-live", stage: atEffects, result: "refused", says: "grant has no rule with", grant: grantedElsewhere,
		about: "Reads a Secret live that its manifest has, and its grant hasn't.", build: thief("steal-live",
			abi.Write{Resource: secretsResource, Verbs: []string{"get"}},
			abi.Effect{Kind: abi.EffectGet, Resource: "v1/secrets", Namespace: namespace, Name: tokenSecret})},
	{name: "steal-token-request", stage: atEffects, result: "refused", says: "grant has no rule with",
		grant: grantedElsewhere, about: "Asks for a token of a service account, which its manifest has, and its grant hasn't.",
		build: thief("steal-token-request",
			abi.Write{Resource: accountsResource, Subresource: "token", Verbs: []string{"create"}}, tokenRequest)},
	{name: "steal-token-undeclared", stage: atEffects, result: "refused", says: undeclared,
		about: "Asks for a token of a service account, which its manifest doesn't have.",
		build: thief("steal-token-undeclared", abi.Write{Resource: accountsResource, Verbs: []string{"create"}},
			tokenRequest)},
	{name: "steal-process", stage: atEffects, result: "refused", says: "its path is not below /api/v1/",
		about: "Reads the memory of the manager's process by the path of a Secret.", build: thief("steal-process",
			abi.Write{Resource: secretsResource, Verbs: []string{"get"}},
			abi.Effect{Kind: abi.EffectRead, Resource: "v1/secrets", Path: "/proc/self/mem"})},
	{name: "steal-forged", stage: harmless, result: "ok",
		about: "Creates a config map with what looks like a signature's placeholder in it, which stays a text.",
		build: thief("steal-forged", abi.Write{Resource: mapsResource, Verbs: []string{"create"}},
			abi.Effect{Kind: abi.EffectCreate, Resource: "v1/configmaps", Namespace: "default", Name: forgedName,
				Tolerate: abi.TolerateAlreadyExists, Object: mustMarshal(forgedMap)})},
	{name: "steal-patched", stage: harmless, result: "ok",
		about: "Patches that text into a config map that there is, where it stays a text, too.",
		build: thief("steal-patched", abi.Write{Resource: mapsResource, Verbs: []string{"patch"}},
			abi.Effect{Kind: abi.EffectPatch, Resource: "v1/configmaps", Namespace: "default", Name: patchedName,
				Patch: abi.MergePatch, Object: fmt.Appendf(nil,
					`{"metadata":{"annotations":{"token":%q}},"data":{"token":%[1]q}}`, forged)})},
}

// unloaded are the thieves that don't come to a sync.
var unloaded = []attack{
	{name: "steal-label", stage: atLoad, says: "a label's value can't come from v1/secrets",
		about: "Its metric has a label whose values are the tokens of Secrets.", build: func(t testing.TB) []byte {
			m := newManifest("steal-label", seesSecrets)
			m.Metrics = []abi.Metric{{Name: "stolen_total", Help: "Tokens.", Type: abi.MetricCounter,
				Labels: []abi.Label{{Name: "token", View: "secrets", Paths: []string{tokenPath}}}}}
			return assembleManifest(t, "(module "+pluginMark+")", m)
		}},
	{name: "steal-all", stage: atLoad, says: "PartialObjectMetadata has no field", about: "Has a view over all resources that wants their data.",
		build: func(t testing.TB) []byte {
			return assembleText(t, "steal-all", "(module "+pluginMark+")", func(c *abi.Controller) {
				c.Views = append(c.Views, abi.View{Name: "all", Resource: abi.Resource{Name: "*"}, Lazy: true,
					Fields: []string{"metadata", "data"}})
			})
		}},
	{name: "steal-all-unseen", stage: atLoad, says: "(all, /*): unseen: path", about: "Has a view over all resources whose data is unseen.",
		build: func(t testing.TB) []byte {
			return assembleText(t, "steal-all-unseen", "(module "+pluginMark+")", func(c *abi.Controller) {
				c.Views = append(c.Views, abi.View{Name: "all", Resource: abi.Resource{Name: "*"}, Lazy: true,
					Fields: []string{"metadata.name"}, Unseen: []string{tokenPath}})
			})
		}},
	{name: "steal-keys", stage: atLoad, says: "of v1/secrets may lead to secrets, and keys are logged",
		about: "Has the tokens of Secrets as the names of its keys, and fails each, for their names to be logged.",
		build: func(t testing.TB) []byte {
			b := abi.AppendResponse(nil, &abi.SyncResponse{Error: "logged"})
			return assembleText(t, "steal-keys", fmt.Sprintf(`(module
  (; plugin ;)
  (data (i32.const 8192) "%s")
  (func (export "windlass_sync") (result i64) (i64.const 0x00002000%08x)))`, module.Escape(b), len(b)),
				func(c *abi.Controller) {
					seesSecrets(c)
					c.Views[1].Where = nil
					c.Key = abi.Key{View: 1, Path: tokenPath}
				})
		}},
	{name: "steal-file", stage: atConfigure, says: "refuses its settings: no file",
		about: "Has a setting whose default is the path of a file of the manager's, and says whether it gets the content.",
		build: func(t testing.TB) []byte {
			const path = "/proc/self/environ"
			m := newManifest("steal-file", nil)
			m.Settings = []abi.Setting{{Name: "key", File: true, Default: path}}
			return assembleManifest(t, fmt.Sprintf(`(module
  (global $size (mut i32) (i32.const 0))
  (; plugin ;)
  (data (i32.const 8192) "no filea file")
  (func (export "windlass_alloc") (param i32) (result i32)
    (global.set $size (local.get 0))
    (i32.const 4096))
  (func (export "windlass_configure") (result i64)
    (select (i64.const 0x0000200000000007) (i64.const 0x0000200700000006)
      (i32.eq (global.get $size) (i32.const %d)))))`, len(abi.AppendSettings(nil, &abi.Settings{Values: []string{path}}))), m)
		}},
}

var (
	accountsResource = abi.Resource{Version: "v1", Name: "serviceaccounts"}
	tokenRequest     = abi.Effect{Kind: abi.EffectCreate, Resource: "v1/serviceaccounts", Subresource: "token",
		Namespace: namespace, Name: "default", Object: mustMarshal(&authenticationv1.TokenRequest{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "default"}})}
)

// grantedElsewhere are the rights of a plugin that has no Secret of the namespace.
var grantedElsewhere = []config.Rule{
	{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get", "list", "watch"}},
	{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get", "list", "watch"},
		Namespaces: []string{elsewhere}},
}

// seesSecrets gives a controller the Secrets of its key's namespace, but for their tokens.
func seesSecrets(c *abi.Controller) {
	c.EventSource = "thief"
	c.Views[0].Fields = []string{"metadata.name"}
	c.Views = append(c.Views, abi.View{Name: "secrets", Resource: secretsResource,
		Fields: []string{"metadata.name", "metadata.labels[" + openKey + "]"}, Unseen: []string{tokenPath},
		Where: &abi.Condition{All: []abi.Condition{
			{Op: abi.OpJoin, Path: "metadata.namespace", View: abi.FromKey, ViewPath: "namespace"},
			{Op: abi.OpIn, Path: "metadata.name", Values: []string{tokenSecret}}}}})
}

// carrier makes a module that says what it sees of Secrets where the answer has what stands for that, and in the
// answer's error.
func carrier(name, about string, answer abi.SyncResponse) attack {
	a := attack{name: name, about: about, stage: atEffects, result: "error", says: openValue}
	a.build = func(t testing.TB) []byte {
		m := newManifest(name, seesSecrets)
		m.Metrics = []abi.Metric{{Name: strings.ReplaceAll(name, "-", "_") + "_total", Help: "Thefts.",
			Type: abi.MetricCounter, Labels: []abi.Label{{Name: "namespace", From: abi.LabelNamespace}}}}
		answer.Error = carried
		b := abi.AppendResponse(nil, &answer)

		var copies strings.Builder
		for at := 0; ; at += carriedBytes {
			next := bytes.Index(b[at:], []byte(carried))
			if next < 0 {
				break
			}
			at += next
			fmt.Fprintf(&copies, "(call $carry (i32.const %d))\n", 8192+at)
		}
		return assembleManifest(t, fmt.Sprintf(carrierText, carriedBytes, module.Escape(b), copies.String(), 8192, len(b)), m)
	}
	return a
}

// carrierText is a module that copies the beginning of its request, what isn't of a token's alphabet as dots.
const carrierText = `(module
  (memory (export "memory") 4)
  (; plugin ;)
  (func (export "windlass_alloc") (param i32) (result i32) (i32.const 65536))
  (func $token (param $c i32) (result i32)
    (i32.or
      (i32.or
        (i32.lt_u (i32.sub (i32.or (local.get $c) (i32.const 32)) (i32.const 97)) (i32.const 26))
        (i32.lt_u (i32.sub (local.get $c) (i32.const 48)) (i32.const 10)))
      (i32.or (i32.eq (local.get $c) (i32.const 45)) (i32.eq (local.get $c) (i32.const 95)))))
  (func $carry (param $to i32) (local $i i32) (local $c i32)
    (loop $l
      (local.set $c (i32.load8_u offset=65536 (local.get $i)))
      (i32.store8 (i32.add (local.get $to) (local.get $i))
        (select (local.get $c) (i32.const 46) (call $token (local.get $c))))
      (br_if $l (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const %d)))))
  (data (i32.const 8192) "%s")
  (func (export "windlass_sync") (result i64)
    %s
    (i64.const 0x%08x%08x)))`

// stealLazily makes a module that says the outcome of its question in an error.
func stealLazily(t testing.TB) []byte {
	ask := abi.AppendPerform(nil, &abi.PerformRequest{Effects: []abi.Effect{{Kind: abi.EffectView,
		Ask: &abi.Ask{View: 1, Namespace: namespace}}}})
	const text = "asked:"
	return assembleText(t, "steal-lazily", fmt.Sprintf(`(module
  (import "windlass" "perform" (func $perform (param i32 i32) (result i32)))
  (import "windlass" "outcome" (func $outcome (param i32)))
  (memory (export "memory") 4)
  (; plugin ;)
  (data (i32.const 8192) "%s")
  (data (i32.const 65536) "\2a\80\02%s")
  (func (export "windlass_sync") (result i64)
    (if (i32.gt_u (call $perform (i32.const 8192) (i32.const %d)) (i32.const 200)) (then unreachable))
    (call $outcome (i32.const %d))
    (i64.const 0x00010000%08x)))`, module.Escape(ask), text, len(ask), 65536+3+len(text), 3+256),
		func(c *abi.Controller) {
			seesSecrets(c)
			c.Views[1].Lazy = true
		})
}

// thief makes a module whose manifest has one right more, and whose answer is one effect.
func thief(name string, right abi.Write, e abi.Effect) func(testing.TB) []byte {
	return func(t testing.TB) []byte {
		return moduleAnswering(t, name, func(c *abi.Controller) { c.Writes = append(c.Writes, right) }, e)
	}
}

// mustMarshal returns an object on the wire.
func mustMarshal(o interface{ Marshal() ([]byte, error) }) []byte {
	b, err := o.Marshal()
	if err != nil {
		panic(err)
	}
	return b
}
