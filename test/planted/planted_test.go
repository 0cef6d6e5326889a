package planted

import (
	"slices"
	"testing"

	"github.com/windlass-dev/windlass/sdk"
	"github.com/windlass-dev/windlass/sdk/plugintest"
	"github.com/windlass-dev/windlass/test/planted/attempt"
	"github.com/windlass-dev/windlass/test/planted/bylabel"
	"github.com/windlass-dev/windlass/test/planted/correct"
	"github.com/windlass-dev/windlass/test/planted/countsterminating"
	"github.com/windlass-dev/windlass/test/planted/createagain"
	"github.com/windlass-dev/windlass/test/planted/createblindly"
	"github.com/windlass-dev/windlass/test/planted/createswhiledeleting"
	"github.com/windlass-dev/windlass/test/planted/deleteblindly"
	"github.com/windlass-dev/windlass/test/planted/deletebyname"
	"github.com/windlass-dev/windlass/test/planted/eachtimeanevent"
	"github.com/windlass-dev/windlass/test/planted/explicitzero"
	"github.com/windlass-dev/windlass/test/planted/finalizerfirst"
	"github.com/windlass-dev/windlass/test/planted/finalizerstays"
	"github.com/windlass-dev/windlass/test/planted/foreignlabels"
	"github.com/windlass-dev/windlass/test/planted/hiddenstate"
	"github.com/windlass-dev/windlass/test/planted/keptcount"
	"github.com/windlass-dev/windlass/test/planted/liveread"
	"github.com/windlass-dev/windlass/test/planted/longname"
	"github.com/windlass-dev/windlass/test/planted/maporder"
	"github.com/windlass-dev/windlass/test/planted/nilpointer"
	"github.com/windlass-dev/windlass/test/planted/nofinalizer"
	"github.com/windlass-dev/windlass/test/planted/norequeue"
	"github.com/windlass-dev/windlass/test/planted/oldgeneration"
	"github.com/windlass-dev/windlass/test/planted/overwrites"
	"github.com/windlass-dev/windlass/test/planted/ownerless"
	"github.com/windlass-dev/windlass/test/planted/quietshards"
	"github.com/windlass-dev/windlass/test/planted/randomname"
	"github.com/windlass-dev/windlass/test/planted/restlessstatus"
	"github.com/windlass-dev/windlass/test/planted/stalechildren"
	"github.com/windlass-dev/windlass/test/planted/stalewish"
	"github.com/windlass-dev/windlass/test/planted/statusaswished"
	"github.com/windlass-dev/windlass/test/planted/statusbyupdate"
	"github.com/windlass-dev/windlass/test/planted/swallowederror"
	"github.com/windlass-dev/windlass/test/planted/undeclaredfield"
	"github.com/windlass-dev/windlass/test/planted/undeclaredview"
	"github.com/windlass-dev/windlass/test/planted/undeclaredwrite"
	"github.com/windlass-dev/windlass/test/planted/wallclock"
)

// options are those of an author who says nothing: the same for all.
var options = plugintest.Options{}

// planted are the mistakes, each with the checks of which one at least must tell of it.
var planted = []struct {
	name   string
	plugin *sdk.Plugin
	checks []plugintest.Check
}{
	{"createagain", createagain.Plugin, []plugintest.Check{plugintest.Crash}},
	{"createblindly", createblindly.Plugin, []plugintest.Check{plugintest.Resync, plugintest.Settles, plugintest.Order}},
	{"statusaswished", statusaswished.Plugin, []plugintest.Check{plugintest.Status}},
	{"ownerless", ownerless.Plugin, []plugintest.Check{plugintest.Leftover}},
	{"stalechildren", stalechildren.Plugin, []plugintest.Check{plugintest.Order}},
	{"stalewish", stalewish.Plugin, []plugintest.Check{plugintest.Order}},
	{"undeclaredfield", undeclaredfield.Plugin, []plugintest.Check{plugintest.Fields}},
	{"undeclaredview", undeclaredview.Plugin, []plugintest.Check{plugintest.Undeclared, plugintest.Panics}},
	{"undeclaredwrite", undeclaredwrite.Plugin, []plugintest.Check{plugintest.Undeclared}},
	{"hiddenstate", hiddenstate.Plugin, []plugintest.Check{plugintest.Determinism}},
	{"deleteblindly", deleteblindly.Plugin, []plugintest.Check{plugintest.Precondition}},
	{"deletebyname", deletebyname.Plugin, []plugintest.Check{plugintest.Precondition}},
	{"overwrites", overwrites.Plugin, []plugintest.Check{plugintest.Precondition}},
	{"wallclock", wallclock.Plugin, []plugintest.Check{plugintest.Clock}},
	{"restlessstatus", restlessstatus.Plugin, []plugintest.Check{plugintest.Settles}},
	{"finalizerfirst", finalizerfirst.Plugin, []plugintest.Check{plugintest.Crash}},
	{"finalizerstays", finalizerstays.Plugin, []plugintest.Check{plugintest.Finalizer}},
	{"nofinalizer", nofinalizer.Plugin, []plugintest.Check{plugintest.Leftover}},
	{"foreignlabels", foreignlabels.Plugin, []plugintest.Check{plugintest.Foreign}},
	{"maporder", maporder.Plugin, []plugintest.Check{plugintest.Determinism}},
	{"randomname", randomname.Plugin, []plugintest.Check{plugintest.Determinism}},
	{"longname", longname.Plugin, []plugintest.Check{plugintest.Fails}},
	{"norequeue", norequeue.Plugin, []plugintest.Check{plugintest.Resync}},
	{"swallowederror", swallowederror.Plugin, []plugintest.Check{plugintest.Refused}},
	{"oldgeneration", oldgeneration.Plugin, []plugintest.Check{plugintest.Generation}},
	{"bylabel", bylabel.Plugin, []plugintest.Check{plugintest.Bystander}},
	{"countsterminating", countsterminating.Plugin, []plugintest.Check{plugintest.Terminating}},
	{"quietshards", quietshards.Plugin, []plugintest.Check{plugintest.Resync}},
	{"liveread", liveread.Plugin, []plugintest.Check{plugintest.Resync}},
	{"attempt", attempt.Plugin, []plugintest.Check{plugintest.Refused}},
	{"eachtimeanevent", eachtimeanevent.Plugin, []plugintest.Check{plugintest.Resync}},
	{"createswhiledeleting", createswhiledeleting.Plugin, []plugintest.Check{plugintest.Terminating}},
	{"keptcount", keptcount.Plugin, []plugintest.Check{plugintest.Crash}},
	{"explicitzero", explicitzero.Plugin, []plugintest.Check{plugintest.Foreign}},
	{"statusbyupdate", statusbyupdate.Plugin, []plugintest.Check{plugintest.Resync, plugintest.Settles}},
	{"nilpointer", nilpointer.Plugin, []plugintest.Check{plugintest.Panics}},
}

func TestEachMistakeIsFound(t *testing.T) {
	for _, x := range planted {
		t.Run(x.name, func(t *testing.T) {
			r, err := plugintest.Find(t, x.plugin, options)
			if err != nil {
				t.Fatal(err)
			}
			found := slices.IndexFunc(r.Findings, func(f plugintest.Finding) bool { return slices.Contains(x.checks, f.Check) })
			for i, f := range r.Findings {
				t.Logf("%s in the run %q, step %d, %s: %s", f.Check, f.Scenario, f.Step, f.At, f.Message)
				if i == found && (f.Step == 0 || f.Message == "") {
					t.Errorf("finding %s doesn't tell its step and what is wrong", f.Check)
				}
			}
			if found < 0 {
				t.Errorf("after %d runs none of %q is found", r.Runs, x.checks)
			}
		})
	}
}

func TestNothingIsFoundInTheCorrectOne(t *testing.T) {
	plugintest.Run(t, correct.Plugin, options)
}
