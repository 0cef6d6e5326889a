package speed

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/plugins/builtin"
	"github.com/windlass-dev/windlass/test/cluster"
	"github.com/windlass-dev/windlass/test/windlass"
)

// idleMost is what a controller that has nothing to do may take of memory, in bytes.
const idleMost = 300 << 10

// A built-in controller that has nothing to do costs next to nothing, counted in what lives in Go's heap and in the
// stacks of goroutines: of pages a process takes more or less from run to run than ten such controllers do.
func TestIdleControllersCostLittle(t *testing.T) {
	all := map[string]string{} // plugins by their controllers
	for _, c := range builtin.Controllers() {
		// The one watches all resources, the other has a key every 20 s.
		if c.Name != "garbage-collector-controller" && c.Name != "pod-garbage-collector-controller" && c.PartOf == "" {
			all[c.Name] = c.Plugin.Folder
		}
	}

	c := cluster.Start(t, cluster.Options{})
	together, worked := restingMemory(t, c, "all", all)
	busy := map[string]string{}
	for name, plugin := range all {
		if slices.Contains(worked, plugin) {
			busy[name] = plugin
		}
	}
	idle := float64(len(all) - len(busy))
	if idle < 3 {
		t.Fatalf("only %v controllers have nothing to do on an empty cluster: the test tests nothing", idle)
	}

	without, _ := restingMemory(t, c, "busy", busy)
	each := (together - without) / idle
	t.Logf("%v controllers with nothing to do take %.0f KiB each", idle, each/1024)
	if each > idleMost {
		t.Errorf("%v controllers with nothing to do take %.0f KiB each, more than %d", idle, each/1024, idleMost>>10)
	}
}

// restingMemory returns what a process with these controllers takes when all its modules rest, in bytes, and the
// plugins whose modules were loaded until then. Its files are in a folder of that name.
func restingMemory(t *testing.T, c *cluster.Cluster, folder string, controllers map[string]string) (bytes float64,
	worked []string) {
	t.Helper()
	p := windlass.SpawnReplica(t, c, windlass.Replica{Name: folder,
		Fields: "leaderElection: {leaderElect: false}\nsandbox: {rest: 1s}\nlogging: {verbosity: 1}"},
		slices.Collect(maps.Keys(controllers))...)
	defer p.Stop(t)
	p.AwaitReady(t)

	var before map[string]bool
	cluster.Eventually(t, cluster.Patience, "all modules rest", func() (bool, string) {
		log := p.Log(t)
		loaded := loadedModules(log)
		rest := len(loaded) > 0 && !slices.Contains(slices.Collect(maps.Values(loaded)), true)
		settled := rest && maps.Equal(loaded, before)
		before = loaded
		return settled, log
	})
	return liveMemory(t, p), slices.Collect(maps.Keys(before))
}

// logged are the lines that tell of a module that is loaded, and of one that rests.
var logged = regexp.MustCompile(`"(Loaded plugin for a key|Loaded plugin|Plugin rests)[^"]*" plugin="(\w+)"(.*)`)

// loadedModules returns the plugins whose modules were loaded, and whether they are.
func loadedModules(log string) map[string]bool {
	loaded := map[string]bool{}
	for _, line := range logged.FindAllStringSubmatch(log, -1) {
		if what, plugin, more := line[1], line[2], line[3]; !strings.Contains(more, "late=true") {
			loaded[plugin] = what != "Plugin rests"
		}
	}
	return loaded
}

// liveMemory returns what lives in a process's heap, and its stacks, in bytes.
func liveMemory(t *testing.T, p *windlass.Process) float64 {
	t.Helper()
	for range 2 { // what has a finalizer lives on through the first collection
		p.Get(t, "/debug/pprof/heap?gc=1")
	}
	return p.Count(t, "go_memstats_heap_alloc_bytes") + p.Count(t, "go_memstats_stack_inuse_bytes")
}
