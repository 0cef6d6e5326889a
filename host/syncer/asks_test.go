package syncer

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/effects"
	"github.com/windlass-dev/windlass/host/schema"
	"github.com/windlass-dev/windlass/host/views"
)

// newAskingTarget is [newTarget] with a lazy view of config maps after the first, and a server that may be asked by
// many at once.
func newAskingTarget(t *testing.T, module Module) *Target {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusUnprocessableEntity)
		fmt.Fprint(w, `{"apiVersion": "v1", "kind": "Status", "status": "Failure", "code": 422, "reason": "Invalid"}`)
	}))
	t.Cleanup(server.Close)

	review := abi.Resource{Group: "authorization.k8s.io", Version: "v1", Name: "subjectaccessreviews"}
	all := []string{"create", "update", "patch", "delete", "deletecollection", "get", "list"}
	m := &abi.Controller{
		Name: "c", State: true, EventSource: "c",
		Views: []abi.View{
			{Name: "maps", Resource: configMaps, Fields: []string{"data"}},
			{Name: "others", Resource: configMaps, Fields: []string{"data"}, Lazy: true},
		},
		Writes: []abi.Write{
			{Resource: configMaps, Verbs: all},
			{Resource: abi.Resource{Version: "v1", Name: "pods"}, Subresource: "eviction", Verbs: all},
			{Resource: abi.Resource{Group: "metrics.k8s.io", Version: "v1beta1", Name: "pods"}, Verbs: all},
			{Resource: review, Verbs: all},
			{Resource: abi.Resource{Group: "certificates.k8s.io", Version: "v1", Name: "signers"}, Verbs: []string{"sign"}},
		},
	}
	plan, err := views.Compile(m)
	if err != nil {
		t.Fatal(err)
	}
	writer, err := effects.New(effects.Options{
		Plugin: "p", Controller: m, Config: &rest.Config{Host: server.URL}, Wake: func(abi.KeyRef, int32, abi.KeyRef) {},
		Discovery: noDiscovery{},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(writer.Close)
	writer.Lead()
	return &Target{Plugin: "p", Manifest: m, Plan: plan, Writer: writer, Module: module}
}

// noDiscovery discovers nothing.
type noDiscovery struct{}

var errUndiscovered = errors.New("nothing is served")

func (noDiscovery) All(context.Context) (*abi.Discovery, error) { return nil, errUndiscovered }
func (noDiscovery) Kind(context.Context, string, string) (abi.APIResource, error) {
	return abi.APIResource{}, errUndiscovered
}
func (noDiscovery) Resource(context.Context, abi.Resource) (*schema.Resource, error) {
	return nil, errUndiscovered
}

// effectKinds reads the kinds of effects off the contract's source.
func effectKinds(t *testing.T) map[abi.EffectKind]string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "../../abi/messages.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}

	kinds := map[abi.EffectKind]string{}
	ast.Inspect(file, func(n ast.Node) bool {
		v, ok := n.(*ast.ValueSpec)
		if !ok || len(v.Values) != 1 {
			return true
		}
		if kind, ok := v.Type.(*ast.Ident); !ok || kind.Name != "EffectKind" {
			return true
		}
		i, err := strconv.Atoi(v.Values[0].(*ast.BasicLit).Value)
		if err != nil {
			t.Fatal(err)
		}
		kinds[abi.EffectKind(i)] = v.Names[0].Name
		return true
	})
	if len(kinds) < 19 {
		t.Fatalf("the contract has %d kinds of effects: %v", len(kinds), kinds)
	}
	return kinds
}

// memberOf returns the i-th effect of each kind, as members of groups.
func memberOf(i int) map[abi.EffectKind]abi.Effect {
	name := "map-" + strconv.Itoa(i%4) // of which the snapshot knows, several effects on each
	on := func(e abi.Effect) abi.Effect {
		e.Resource, e.Namespace, e.Name, e.UID, e.Version = "v1/configmaps", "shop", name, "u", "1"
		return e
	}
	object := create(name).Object
	ask := abi.Effect{Kind: abi.EffectView, Ask: &abi.Ask{View: 1, Namespace: "shop", Names: []string{name}}}
	review := "authorization.k8s.io/v1/subjectaccessreviews"

	return map[abi.EffectKind]abi.Effect{
		abi.EffectCreate: create("new-" + strconv.Itoa(i)),
		abi.EffectUpdate: on(abi.Effect{Kind: abi.EffectUpdate, Object: object}),
		abi.EffectPatch:  on(abi.Effect{Kind: abi.EffectPatch, Patch: abi.MergePatch, Object: []byte(`{"data":{"a":"b"}}`)}),
		abi.EffectApply:  on(abi.Effect{Kind: abi.EffectApply, Object: object}),
		abi.EffectDelete: on(abi.Effect{Kind: abi.EffectDelete, Precondition: abi.PreconditionUID}),
		abi.EffectEvict: {Kind: abi.EffectEvict, Resource: "v1/pods", Namespace: "shop", Name: name, UID: "u",
			Precondition: abi.PreconditionUID},
		abi.EffectDeleteCollection: {Kind: abi.EffectDeleteCollection, Resource: "v1/configmaps", Namespace: "shop"},
		abi.EffectEvent: on(abi.Effect{Kind: abi.EffectEvent,
			Event: &abi.EventData{Type: "Normal", Reason: "Tried", Message: "of the group"}}),
		abi.EffectGet:    on(abi.Effect{Kind: abi.EffectGet}),
		abi.EffectList:   {Kind: abi.EffectList, Resource: "v1/configmaps", Namespace: "shop", Ask: &abi.Ask{}},
		abi.EffectReview: {Kind: abi.EffectReview, Resource: review, Object: object},
		abi.EffectView:   ask,
		abi.EffectGroup:  {Kind: abi.EffectGroup, Mode: abi.Parallel, Members: []abi.Effect{ask, ask}},
		abi.EffectWake:   {Kind: abi.EffectWake, Wake: &abi.Wake{Key: abi.KeyRef{Namespace: "shop", Name: name}}},
		abi.EffectDiscover: {Kind: abi.EffectDiscover,
			Discover: &abi.Discover{APIVersion: "example.org/v1", Kind: "Thing"}},
		abi.EffectRead: {Kind: abi.EffectRead, Resource: "metrics.k8s.io/v1beta1/pods",
			Path: "/apis/metrics.k8s.io/v1beta1/namespaces/shop/pods"},
		abi.EffectPublish: {Kind: abi.EffectPublish, Object: []byte(name), Terms: []string{name}},
		abi.EffectFacts:   {Kind: abi.EffectFacts, Namespace: "shop", Terms: []string{name}},
		abi.EffectZone:    {Kind: abi.EffectZone, Zone: &abi.Zone{Name: "Europe/Rome", At: 1_464_134_400}},
		abi.EffectSign: {Kind: abi.EffectSign, Resource: "certificates.k8s.io/v1/certificatesigningrequests", Name: name, UID: "u",
			Version: "1", Sign: &abi.Sign{Kind: abi.SignCertificate}},
	}
}

// Members of a group run beside each other, whatever they are: what they share of their sync bears it. That shows under
// the race detector alone, but for what the asks deliver.
func TestEveryKindOfMemberBesideEachOther(t *testing.T) {
	kinds := effectKinds(t)
	for kind, name := range kinds {
		if _, ok := memberOf(0)[kind]; !ok {
			t.Errorf("%s has no case in this test: add one to memberOf", name)
		}
	}

	const rounds = 24
	group := abi.Effect{Kind: abi.EffectGroup, Mode: abi.Independent}
	for i := range rounds {
		all := memberOf(i)
		for _, kind := range slices.Sorted(maps.Keys(all)) {
			group.Members = append(group.Members, all[kind])
		}
	}

	around := world{}
	for i := range 4 {
		around.put(t, "shop", "map-"+strconv.Itoa(i))
	}
	target := newAskingTarget(t, guest(func(_ *abi.SyncRequest,
		perform func(...abi.Effect) (*abi.PerformResponse, error)) *abi.SyncResponse {
		all := abi.Effect{Kind: abi.EffectView, Ask: &abi.Ask{View: 1}} // else there is nothing to compare updates with
		if _, err := perform(all); err != nil {
			return &abi.SyncResponse{Error: err.Error()}
		}
		p, err := perform(group)
		if err != nil {
			return &abi.SyncResponse{Error: err.Error()}
		}
		for i, o := range p.Outcomes[0].Members {
			e := &group.Members[i]
			if e.Kind == abi.EffectView && (o.View == nil || len(o.View.Objects) != 1) {
				t.Errorf("asked for %s: %+v", e.Ask.Names, o)
			}
		}
		return &abi.SyncResponse{Effects: []abi.Effect{group}}
	}))

	s := &Syncer{World: around, States: &States{}}
	if err := s.Prepare(t.Context(), target, &Turn{Key: abi.KeyRef{Namespace: "shop", Name: "map-0"}}); err != nil {
		t.Fatal(err)
	}
	o := s.Sync(t.Context())
	if o.Result != OK || o.Writes < rounds {
		t.Errorf("%s, %d writes: %v", o.Result, o.Writes, o.Err)
	}
}

// An ask that failed is never an empty list: the host ends the call, whatever the guest makes of it, and nothing of an
// answer is written. It is an error of the key, and no fault of the plugin's.
func TestAFailedAskEndsTheCall(t *testing.T) {
	ask := abi.Effect{Kind: abi.EffectView, Ask: &abi.Ask{View: 1}}
	broken := abi.Effect{Kind: abi.EffectView, Ask: &abi.Ask{View: 1, Path: "spec.nodeName", Values: []string{"n"}}}
	group := func(mode abi.GroupMode) abi.Effect {
		return abi.Effect{Kind: abi.EffectGroup, Mode: mode, Members: []abi.Effect{ask, broken, ask}}
	}
	tooMany := slices.Repeat([]abi.Effect{ask}, 1001)

	for name, asked := range map[string][]abi.Effect{
		"alone": {broken}, "behind others": {ask, broken}, "in a sequence": {group(abi.Sequence)},
		"in a slow start": {group(abi.SlowStart)}, "in parallel": {group(abi.Parallel)},
		"where failures stop nobody": {group(abi.Independent)}, "one too many": tooMany,
	} {
		t.Run(name, func(t *testing.T) {
			target := newAskingTarget(t, guest(func(_ *abi.SyncRequest,
				perform func(...abi.Effect) (*abi.PerformResponse, error)) *abi.SyncResponse {
				_, _ = perform(asked...)
				// As one does that runs natively, which nobody can end.
				_, _ = perform(create("behind"))
				return &abi.SyncResponse{Effects: []abi.Effect{create("new")}, State: []byte("new")} // as if all were well
			}))
			around, states, k := world{}, &States{}, abi.KeyRef{Namespace: "shop", Name: "web"}
			around.put(t, "shop", "web")

			s := &Syncer{World: around, States: states}
			if err := s.Prepare(t.Context(), target, &Turn{Key: k}); err != nil {
				t.Fatal(err)
			}
			o := s.Sync(t.Context())
			if kept, _ := states.Get(k); o.Result != Error || o.Failed != nil || o.Accepted || o.Writes != 0 ||
				len(kept.Blob) != 0 {
				t.Errorf("%s, failed %v, accepted %v, %d writes, keeps %q", o.Result, o.Failed, o.Accepted, o.Writes, kept.Blob)
			}
			if o.Err == nil || !effects.AskFailed(o.Err) ||
				!strings.Contains(o.Err.Error(), `plugin "p": controller c: key shop/web: an ask failed`) {
				t.Errorf("the error is %v", o.Err)
			}
		})
	}
}
