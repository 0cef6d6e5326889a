package cleaner

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/sdk"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	"github.com/windlass-dev/windlass/sdk/resource"
)

// However many namespaces have unused tokens, no sync asks more than it may, and the next one goes on behind it. Those
// in which something is too large to be looked at are left alone.
func TestLegacyTokensOfManyNamespaces(t *testing.T) {
	const namespaces, asksMax = 1234, 1000
	const used = "n-0300" // its token is used between two looks at it
	tokens := make([]abi.ObjectData, namespaces)
	for i := range tokens {
		s := &corev1.Secret{}
		s.Namespace, s.Name, s.UID = fmt.Sprintf("n-%04d", i), "token", "u"
		s.Annotations.Set(corev1.ServiceAccountNameKey, "robot")
		tokens[i].Data = resource.Append(nil, s)
	}
	tracked := &corev1.ConfigMap{}
	tracked.Namespace, tracked.Name = namespaceSystem, tracking
	tracked.Data.Set(since, "2020-01-01")
	account := &corev1.ServiceAccount{}
	account.Name = "robot"
	account.Secrets = []corev1.ObjectReference{{Name: "token"}}

	// by the view that is answered with the first objects alone: tokens, service accounts, pods
	large := map[int32]string{1: "n-0100", 2: "n-0200", 3: "n-1000"}
	marked, asks := map[string]int{}, 0
	answer := func(p *abi.PerformRequest) (*abi.PerformResponse, error) {
		e := &p.Effects[0]
		o := abi.Outcome{View: &abi.ViewData{}}
		switch {
		case e.Kind == abi.EffectGet:
			o = abi.Outcome{Object: abi.ObjectData{Data: resource.Append(nil, tracked)}}
		case e.Ask.View == 0:
			o.View.Objects = tokens
		case e.Ask.View == 1:
			i, err := strconv.Atoi(strings.TrimPrefix(e.Ask.Namespace, "n-"))
			if err != nil || len(e.Ask.Names) != 1 {
				t.Fatal(e.Ask)
			}
			o.View.Objects, o.View.Count = tokens[i:i+1], 1
			if e.Ask.Namespace == used {
				s := &corev1.Secret{}
				s.Namespace, s.Name, s.UID = used, "token", "u"
				s.Annotations.Set(corev1.ServiceAccountNameKey, "robot")
				s.Labels.Set(lastUsed, "2026-01-01")
				o.View.Objects = []abi.ObjectData{{Data: resource.Append(nil, s)}}
			}
		case e.Ask.View == 2:
			o.View.Objects, o.View.Count = []abi.ObjectData{{Data: resource.Append(nil, account)}}, 1
		}
		if e.Kind == abi.EffectView && e.Ask.View > 0 && large[e.Ask.View] == e.Ask.Namespace {
			o.View.Count++
		}
		if e.Kind == abi.EffectView {
			asks++
		}
		return &abi.PerformResponse{Outcomes: []abi.Outcome{o}}, nil
	}

	index := -1
	for i, c := range Plugin.Controllers {
		if c.Name == "legacy-serviceaccount-token-cleaner-controller" {
			index = i
		}
	}
	r := &abi.SyncRequest{Controller: int32(index), Views: make([]abi.ViewData, 4),
		Now: time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC).UnixNano()}
	for range namespaces {
		asks = 0
		a := sdk.Run(Plugin, r, &sdk.Settings{}, answer)
		if a.Error != "" || asks > asksMax {
			t.Fatalf("%d asks: %s", asks, a.Error)
		}
		for _, e := range a.Effects {
			marked[e.Namespace]++
		}
		if r.State = a.State; len(r.State) == 0 {
			break
		}
		if a.RequeueAfter == 0 {
			t.Fatal("it doesn't come back for the rest")
		}
	}
	left := append(slices.Collect(maps.Values(large)), used)
	for _, namespace := range left {
		if marked[namespace] > 0 {
			t.Errorf("a token was marked in %s, where not all was looked at, or it was used", namespace)
		}
	}
	if len(marked) != namespaces-len(left) {
		t.Errorf("the tokens of %d namespaces were marked", len(marked))
	}
}
