package servicecidr

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	upstream "k8s.io/kubernetes/pkg/controller/servicecidrs"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/author/guest"
	"github.com/windlass-dev/windlass/author/guest/guesttest"
	"github.com/windlass-dev/windlass/differential/api"
	"github.com/windlass-dev/windlass/differential/plugin"
	"github.com/windlass-dev/windlass/plugins/servicecidr"
)

// A ServiceCIDR that is being deleted keeps its finalizer while it isn't known whether a Service has an address of it:
// whichever of a sync's asks fails, it isn't taken for an empty list.
func TestFinalizerStaysWhenAnAskFails(t *testing.T) {
	for _, fails := range []int{0, 1, 2} {
		t.Run(fmt.Sprintf("ask %d fails", fails), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { testFailedAsk(t, fails) })
		})
	}
}

// testFailedAsk syncs a ServiceCIDR that may go, for none has an address of it: only an ask that fails keeps it.
func testFailedAsk(t *testing.T, fails int) {
	server, err := api.NewServer()
	if err != nil {
		t.Fatal(err)
	}
	c := server.NewCluster()
	deleted := metav1.NewTime(time.Now().Add(-time.Hour))
	if err := c.Add(&networkingv1.ServiceCIDR{
		ObjectMeta: metav1.ObjectMeta{
			Name: "range", UID: "u", DeletionTimestamp: &deleted, Finalizers: []string{upstream.ServiceCIDRProtectionFinalizer},
		},
		Spec: networkingv1.ServiceCIDRSpec{CIDRs: []string{"10.0.0.0/24"}},
	}); err != nil {
		t.Fatal(err)
	}

	g := &failing{Guest: guesttest.Native(servicecidr.Plugin), fails: fails}
	p, err := plugin.New(g, 0, &abi.Settings{}, c, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if err := p.Load(c); err != nil {
		t.Fatal(err)
	}
	r, err := p.Sync("range")
	if err != nil {
		t.Fatal(err)
	}

	all, err := c.List(cidrs)
	if err != nil {
		t.Fatal(err)
	}
	stays := len(all) == 1 && slices.Contains(all[0].(*networkingv1.ServiceCIDR).Finalizers,
		upstream.ServiceCIDRProtectionFinalizer)
	if fails == 0 && g.asks != 2 || g.asks < fails || r.Failed != (fails > 0) || stays != (fails > 0) {
		t.Errorf("after %d asks the sync failed: %t (%v), and the finalizer is there: %t", g.asks, r.Failed, r.Err, stays)
	}
}

// failing is a plugin one of whose asks, counted from 1, fails in the host; 0: none does.
type failing struct {
	guest.Guest
	fails, asks int
}

func (f *failing) Sync(request []byte, perform guest.Perform) ([]byte, guest.Stats, error) {
	return f.Guest.Sync(request, func(b []byte) ([]byte, error) {
		var p abi.PerformRequest
		if err := abi.DecodePerform(b, &p); err != nil {
			return nil, err
		}
		for i := range p.Effects {
			if a := p.Effects[i].Ask; a != nil {
				if f.asks++; f.asks == f.fails {
					a.Path = "nowhere" // which no view can be asked by
				}
			}
		}
		return perform(abi.AppendPerform(nil, &p))
	})
}
