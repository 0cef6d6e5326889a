package hostile

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write docs/hostile-modules.md anew")

const docs = "../../docs/hostile-modules.md"

// TestDocs: the page lists the corpus as the other tests have shown it to be.
func TestDocs(t *testing.T) {
	names := map[string]bool{}
	var summed []attack
	for _, h := range hoarders {
		summed = append(summed, h.attack)
	}
	for _, a := range slices.Concat(corpus, answers, unloaded, summed) {
		names[a.name] = true
	}
	var b strings.Builder
	fmt.Fprintf(&b, `# Hostile modules

%d modules that mean harm, from test/hostile, with where each is stopped and what the error says. This page is written by
`+"`make hostile`"+`, whose tests show that it is true, and print times and memory as well.

While each of them runs, no goroutine of the host waits for %v or longer, another plugin's syncs go on, and the host allocates less than %d MiB. "Harmless" is what
runs to its end and has no effect: each of its syncs answers the same, and nothing is left of the one before.

*Stopped at* says when: while the module is loaded, while its manifest is read, while it is given its settings
(configure), in a sync, or when the host looks at the effects that the sync asks for.

## In the sandbox

`, len(names), mostPause, mostMemory>>20)
	listAttacks(t, &b, corpus)
	b.WriteString(`
## On a cluster

These run in the manager beside the built-in controllers. Each failure is counted in windlass_syncs_total and logged with plugin, controller and key, and the key is held back;
no object of the namespace changes. The cluster has keys that sign, a bootstrap token and a service account's token in a Secret:
no part of them is in the log, in recordings, in what the manager serves (its status, its metrics) or in an event.
What says "` + "`in-the-open`" + `" had that Secret before it, and says all that it saw of it: a label, which its manifest has.

`)
	listAttacks(t, &b, slices.Concat(answers, unloaded))
	b.WriteString(`
## By what many syncs hold together

Each of their syncs keeps within all limits. They have a ` + "`budget.memory` of " + `10 to 100 MiB, no more than which is held, and the error says what the plugin holds and for what
(TestMemoryIsSummed).

`)
	listAttacks(t, &b, summed)
	fmt.Fprintf(&b, `
## Made by a generator

Of each class every seed makes another module. They run one after another in a manager of its own process, beside a
Deployment that is rolled out again and again, with an administrator's rights and a grant of one kind of config map
(TestVariants; `+"`make hostile VARIANTS=200 SEED=1`"+` runs others than `+"`make test`"+`). The process lives, and at no time has
more resident memory than twice what it had before plus the plugin's `+"`budget.memory`"+`. A roll-out takes at most %d times as
long as without the module, and /livez answers within %v or %d times its time. The API server's audit log has
no request of the plugin's that its grant doesn't cover, and none of the manager's that it doesn't send without it. No
log line, metric, state or recording has a Secret's value.

| class | what its modules are |
|---|---|
`, rolloutSlowdown, liveMax, liveSlowdown)
	for _, c := range classes {
		fmt.Fprintf(&b, "| %s | %s |\n", c.name, c.about)
	}
	if *update {
		if err := os.WriteFile(docs, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(docs)
	if err != nil {
		t.Fatal(err)
	}
	if string(have) != b.String() {
		t.Error("docs/hostile-modules.md isn't up to date: make hostile")
	}
}

func listAttacks(t *testing.T, b *strings.Builder, attacks []attack) {
	b.WriteString("| module | what it does | stopped at | error |\n|---|---|---|---|\n")
	for i := range attacks {
		a := &attacks[i]
		stage, says := a.stage, ""
		if a.result != "" && a.result != "ok" {
			stage += ", counted as " + a.result
		}
		if a.says != "" {
			says = "`… " + a.says + " …`"
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s |\n", a.name, a.description(t), stage, says)
	}
}
