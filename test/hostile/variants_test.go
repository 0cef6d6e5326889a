package hostile

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/test/messages"
	"github.com/windlass-dev/windlass/test/module"
)

// variant is a module that a generator made, and what the config maps that are its keys say.
type variant struct {
	wasm []byte
	says [][]byte // none: nothing, in as many config maps as there are keys
}

// Each variant is the plugin of this name, and has so many keys.
const (
	variantName = "variant"
	variantKeys = 8
)

// generator makes variants of what the corpus has one example of.
type generator struct {
	*rand.Rand
	testing.TB
	author *messages.Author
}

// classes are the generator's. Each makes something else for each seed.
var classes = []struct {
	name, about string
	make        func(*generator) variant
}{
	{"answers", "Answers and performs with anything in every field.", (*generator).answers},
	{"manifests", "Manifests with anything in some of their fields.", (*generator).manifests},
	{"burners", "Straight lines, loops, calls, tables, recursion and bulk operations in each other, in any of the exports.",
		(*generator).burners},
	{"hoarders", "Memory that grows, state, wakes, updates of metrics, texts and performs, of which each sync has much.",
		(*generator).hoarders},
	{"floods", "Errors, log lines, timers, wakes and live looks, as many and as long as can be.", (*generator).floods},
	{"damaged", "Modules some bytes of which are others, that are cut off, or of which a piece stands twice.",
		(*generator).damaged},
}

// makeVariant returns the variant of a class that follows from the seed. What is about is an object that there is.
func makeVariant(t testing.TB, class int, seed uint64, about *corev1.ConfigMap) variant {
	t.Helper()
	g := &generator{rand.New(rand.NewPCG(seed, uint64(class))), t, messages.NewAuthor(seed, about)}
	return classes[class].make(g)
}

// parrot is the manifest of a plugin that wants much more than it is granted.
func (g *generator) parrot() *abi.Manifest {
	core := func(name string) abi.Resource { return abi.Resource{Version: "v1", Name: name} }
	all := []string{"get", "list", "create", "update", "patch", "delete", "deletecollection"}
	c := abi.Controller{Name: variantName + "-controller", EventSource: variantName, State: true, Workers: 4,
		Views: []abi.View{
			{Name: "configmaps", Resource: core("configmaps"), Fields: []string{"metadata", "data", "binaryData"},
				Where: &abi.Condition{Op: abi.OpIn, Path: "metadata.labels[hostile]", Values: []string{variantName}}},
		},
		Writes: []abi.Write{{Resource: core("configmaps"), Verbs: all}, {Resource: core("secrets"), Verbs: all},
			{Resource: core("pods"), Verbs: all}, {Resource: core("pods"), Subresource: "eviction", Verbs: all},
			{Resource: core("namespaces"), Verbs: all}, {Resource: core("nodes"), Verbs: all}},
	}
	return &abi.Manifest{Name: variantName, Version: "1", Controllers: []abi.Controller{c},
		Metrics: []abi.Metric{
			{Name: "variant_named", Help: "A gauge.", Type: abi.MetricGauge,
				Labels: []abi.Label{{Name: "name", From: abi.LabelKeyName}, {Name: "namespace", From: abi.LabelNamespace}}},
			{Name: "variant_sum", Help: "A sum.", Type: abi.MetricSum,
				Labels: []abi.Label{{Name: "label", View: "configmaps", Paths: []string{"data[label]"}}}},
			{Name: "variant_seconds", Help: "A histogram.", Type: abi.MetricHistogram, Buckets: []float64{1, 2}},
		}}
}

// answers makes a plugin that does what its keys say, which is made up.
func (g *generator) answers() variant {
	v := variant{wasm: messages.Parrot(g, g.parrot())}
	for range variantKeys {
		answer := &abi.SyncResponse{}
		g.author.Fill(answer, 3)
		kind := abi.EffectKind(g.IntN(int(abi.EffectSign) + 2))
		answer.Effects = append(answer.Effects, g.author.Effect(kind)...)
		asked := g.author.Effect(kind)
		if g.IntN(2) == 0 {
			asked = []abi.Effect{g.aimed()}
		}
		perform := abi.AppendPerform(nil, &abi.PerformRequest{Effects: asked})

		b := abi.AppendResponse(nil, answer)
		if g.IntN(4) == 0 {
			b[g.IntN(len(b))] ^= byte(1 + g.IntN(255))
		}
		if len(perform)+len(b) < 500_000 { // no more is in an object
			v.says = append(v.says, messages.Said(perform, b))
		}
	}
	return v
}

// aimed makes an effect that the manifest has, and the API server would do: most often at what the grant doesn't have.
func (g *generator) aimed() abi.Effect {
	patch := `{"metadata":{"labels":{"hostile":"` + variantName + `"}}}`
	e := abi.Effect{Kind: []abi.EffectKind{abi.EffectGet, abi.EffectList, abi.EffectDelete, abi.EffectDeleteCollection,
		abi.EffectPatch, abi.EffectCreate}[g.IntN(6)],
		Resource:  []string{"v1/configmaps", "v1/secrets", "v1/pods", "v1/namespaces"}[g.IntN(4)],
		Namespace: []string{namespace, namespace, "default", "kube-system"}[g.IntN(4)],
		Name:      []string{"bystander", "loot", "kube-root-ca.crt", "default", variantName + "-1"}[g.IntN(5)],
	}

	if e.Resource == "v1/namespaces" {
		e.Namespace = ""
	}
	switch e.Kind {
	case abi.EffectList, abi.EffectDeleteCollection:
		e.Name = ""
	case abi.EffectPatch:
		e.Patch, e.Object = abi.MergePatch, []byte(patch)
	case abi.EffectDelete:
		e.Precondition = abi.PreconditionUID
		e.UID = string(g.author.About.UID)
	case abi.EffectCreate:
		o := corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: e.Namespace, Name: e.Name}} // as much as each kind has
		b, err := o.Marshal()
		if err != nil {
			g.Fatal(err)
		}
		e.Object = b
	}
	return e
}

// manifests makes a plugin with one to three parts of its manifest made up, and a copy of another.
func (g *generator) manifests() variant {
	m := g.parrot()
	for range 1 + g.IntN(3) {
		c := &m.Controllers[0]
		part := []any{&c.Views[0], &c.Writes[g.IntN(len(c.Writes))], &m.Metrics[g.IntN(len(m.Metrics))], c, m}[g.IntN(5)]
		field := reflect.ValueOf(part).Elem()
		n := g.IntN(field.NumField())
		if name := field.Type().Field(n).Name; part != any(m) || name != "Name" && name != "Controllers" {
			g.author.Fill(field.Field(n).Addr().Interface(), 3)
		}
	}
	if g.IntN(3) == 0 {
		other := m.Controllers[0]
		other.Name = []string{"other", variantName + "-controller", "../other", strings.Repeat("o", 300)}[g.IntN(4)]
		m.Controllers = append(m.Controllers, other)
	}
	if _, err := json.Marshal(m); err != nil { // no number
		return g.manifests()
	}
	return variant{wasm: messages.Parrot(g, m)}
}

// few returns a number up to n, small ones as often as large ones.
func (g *generator) few(n float64) int { return int(math.Exp(g.Float64() * math.Log(n))) }

// burners makes functions, each of which may call those before it, and an export that calls the last one.
func (g *generator) burners() variant {
	functions := 1 + g.IntN(5)
	var text strings.Builder
	text.WriteString("(module (memory (export \"memory\") 16)\n(; plugin ;)\n(type $f (func))\n")
	fmt.Fprintf(&text, "(table %d funcref) (elem (i32.const 0)", functions)
	for n := range functions {
		fmt.Fprintf(&text, " $f%d", n)
	}
	text.WriteString(")\n")
	for n := range functions {
		fmt.Fprintf(&text, "(func $f%d (local $i i32) (local $x i64) (local $d f64)\n", n)
		for range 1 + g.IntN(3) {
			g.statement(&text, n, 3)
		}
		text.WriteString(")\n")
	}

	export := [][3]string{{"windlass_sync", "(result i64)", "(i64.const 0)"},
		{"windlass_sync", "(result i64)", "(i64.const 0)"}, {"windlass_sync", "(result i64)", "(i64.const 0)"},
		{"windlass_configure", "(result i64)", "(i64.const 0)"},
		{"windlass_manifest", "(result i64)", "(i64.const " + manifestMark + ")"},
		{"windlass_alloc", "(param i32) (result i32)", "(i32.const 4096)"}}[g.IntN(6)]
	last := fmt.Sprintf("(call $f%d)", functions-1)
	body := "(loop $l " + last + " (br $l))"
	if g.IntN(2) == 0 {
		body = strings.Repeat(last+"\n", g.few(20_000))
	}
	fmt.Fprintf(&text, "(func (export %q) %s %s %s))", export[0], export[1], body, export[2])
	return variant{wasm: assembleText(g, variantName, text.String(), nil)}
}

// statement writes one, of which some have others in them, so deep at most. It may call the functions before the n-th.
func (g *generator) statement(w *strings.Builder, n, deep int) {
	inner := func() {
		for range 1 + g.IntN(2) {
			g.statement(w, n, deep-1)
		}
	}
	straight := []string{
		"(local.set $d (f64.sqrt (f64.add (local.get $d) (f64.const 1.5))))\n",
		"(local.set $x (i64.div_u (i64.const -1) (i64.or (local.get $x) (i64.const 3))))\n",
		"(i64.store offset=40000 (i32.and (local.get $i) (i32.const 0xffff8)) (i64.load offset=8192 (i32.const 8)))\n",
		"(local.set $i (i32.rem_s (i32.const 1000001) (i32.or (local.get $i) (i32.const 1))))\n",
		fmt.Sprintf("(memory.fill (i32.const 16384) (i32.const 7) (i32.const %d))\n", g.few(1e6)),
		fmt.Sprintf("(memory.copy (i32.const 16384) (i32.const 16385) (i32.const %d))\n", g.few(1e6)),
	}

	kind := g.IntN(6)
	if deep == 0 {
		kind = g.IntN(2)
	}
	switch {
	case kind == 1 && n > 0:
		w.WriteString(strings.Repeat(fmt.Sprintf("(call $f%d)\n", g.IntN(n)), g.few(2000)))
	case kind == 2:
		fmt.Fprintf(w, "(local.set $i (i32.const %d))\n(loop\n", g.few(1<<31))
		inner()
		w.WriteString("(br_if 0 (local.tee $i (i32.sub (local.get $i) (i32.const 1)))))\n")
	case kind == 3:
		w.WriteString("(block (block (block (br_table 0 1 2 (i32.and (local.get $i) (i32.const 3))))\n")
		inner()
		w.WriteString(")\n")
		inner()
		w.WriteString(")\n")
	case kind == 4:
		w.WriteString("(if (i64.eqz (i64.and (local.get $x) (i64.const 1))) (then\n")
		inner()
		w.WriteString(") (else\n")
		inner()
		w.WriteString("))\n")
	case kind == 5 && g.IntN(8) == 0: // recursion
		fmt.Fprintf(w, "(call_indirect (type $f) (i32.const %d))\n", n)
	case kind == 5 && n > 0:
		fmt.Fprintf(w, "(call_indirect (type $f) (i32.const %d))\n", g.IntN(n))
	default:
		w.WriteString(strings.Repeat(straight[g.IntN(len(straight))], g.few(1000)))
	}
}

// hoarders makes a plugin of many workers whose syncs take memory and keep it while they perform, or leave something
// with the host each time.
func (g *generator) hoarders() variant {
	change := func(c *abi.Controller) {
		c.Workers = int32(g.few(1000))
		c.Writes[0].Verbs = append(c.Writes[0].Verbs, "list")
	}
	if g.IntN(2) == 0 {
		list := abi.AppendPerform(nil, &abi.PerformRequest{Effects: []abi.Effect{{Kind: abi.EffectList,
			Resource: "v1/configmaps", Namespace: namespace}}})
		pages := g.few(1000)
		return variant{wasm: assembleText(g, variantName, fmt.Sprintf(`(module
  (import "windlass" "perform" (func $perform (param i32 i32) (result i32)))
  (; plugin ;)
  (data (i32.const 8192) "%s")
  (func (export "windlass_sync") (result i64)
    (loop $l
      (drop (memory.grow (i32.const %d)))
      (memory.fill (i32.const 65536) (i32.const 1) (i32.sub (i32.shl (memory.size) (i32.const 16)) (i32.const 65536)))
      (drop (call $perform (i32.const 8192) (i32.const %d))) (br $l))
    (i64.const 0)))`, module.Escape(list), pages, len(list)), change)}
	}

	r := &abi.SyncResponse{}
	switch g.IntN(4) {
	case 0:
		r.State = make([]byte, g.few(abi.StateMax))
	case 1:
		for n := range g.few(50_000) {
			r.Effects = append(r.Effects, abi.Effect{Kind: abi.EffectWake,
				Wake: &abi.Wake{Key: abi.KeyRef{Namespace: namespace, Name: fmt.Sprint("new-", n)}}})
		}
	case 2:
		for n := range g.few(20_000) {
			r.Metrics = append(r.Metrics, abi.MetricUpdate{Labels: make([]int32, g.IntN(3)), Value: float64(n)})
		}
	default:
		for range g.few(100) {
			r.Effects = append(r.Effects, abi.Effect{Kind: abi.EffectPublish, Object: make([]byte, g.few(500_000)),
				Terms: []string{strings.Repeat("t", g.few(200))}})
		}
	}
	return variant{wasm: answeringAlways(g, r, change)}
}

// floods makes a plugin whose answers have the host write, look and wake without end.
func (g *generator) floods() variant {
	r := &abi.SyncResponse{RequeueAfter: int64(g.few(1e9))}
	if g.IntN(2) == 0 {
		r.Error = strings.Repeat([]string{"A", "\n", "\xff", "E1101 "}[g.IntN(4)], g.few(60_000))
	}
	for n := range g.few(300) {
		key := abi.KeyRef{Namespace: namespace, Name: fmt.Sprintf("%s-%d", variantName, n%variantKeys)}
		r.Effects = append(r.Effects, []abi.Effect{
			{Kind: abi.EffectWake, Wake: &abi.Wake{Key: key}},
			{Kind: abi.EffectGet, Resource: "v1/configmaps", Namespace: namespace, Name: key.Name},
			{Kind: abi.EffectList, Resource: "v1/configmaps", Namespace: namespace},
			{Kind: abi.EffectDiscover, Discover: &abi.Discover{}},
			{Kind: abi.EffectZone, Zone: &abi.Zone{Name: "Europe/Rome", At: int64(n)}},
			{Kind: abi.EffectEvent, Resource: "v1/configmaps", Namespace: namespace, Name: key.Name, Event: &abi.EventData{Type: "Normal", Reason: "Flood", Message: strings.Repeat("m", g.few(2000))}},
		}[g.IntN(6)])
	}
	return variant{wasm: answeringAlways(g, r, func(c *abi.Controller) {
		c.EventSource = variantName
		c.Writes[0].Verbs = append(c.Writes[0].Verbs, "get", "list")
	})}
}

// answeringAlways makes a module whose syncs all answer this.
func answeringAlways(t testing.TB, r *abi.SyncResponse, change func(*abi.Controller)) []byte {
	b := abi.AppendResponse(nil, r)
	return assembleText(t, variantName, fmt.Sprintf(`(module
  (memory (export "memory") %d)
  (; plugin ;)
  (data (i32.const 65536) "%s")
  (func (export "windlass_sync") (result i64) (i64.const 0x%08x%08x)))
`, len(b)>>16+2, module.Escape(b), 65536, len(b)), change)
}

// damaged makes a module of another class, and damages it.
func (g *generator) damaged() variant {
	whole := []func(*generator) variant{(*generator).answers, (*generator).manifests, (*generator).burners,
		(*generator).hoarders, (*generator).floods}
	v := whole[g.IntN(len(whole))](g)
	b := v.wasm
	switch g.IntN(4) {
	case 0:
		b = b[:g.IntN(len(b))]
	case 1:
		from := g.IntN(len(b))
		to := from + g.IntN(len(b)-from)
		b = append(append(append([]byte(nil), b[:to]...), b[from:to]...), b[to:]...)
	default:
		for range 1 + g.IntN(8) {
			b[8+g.IntN(len(b)-8)] = byte(g.Uint32())
		}
	}
	v.wasm = b
	return v
}

// configMaps are the variant's keys.
func (v *variant) configMaps() (all []*corev1.ConfigMap) {
	for n := range variantKeys {
		o := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace,
			Name: fmt.Sprintf("%s-%d", variantName, n), Labels: map[string]string{"hostile": variantName}}}
		if n < len(v.says) {
			o.BinaryData = map[string][]byte{"says": v.says[n]}
		}
		all = append(all, o)
	}
	return all
}
