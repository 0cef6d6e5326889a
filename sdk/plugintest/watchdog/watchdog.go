// Package watchdog ends a test whose plugin doesn't: it names the function that loops.
package watchdog

import (
	"bytes"
	"flag"
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"time"
)

var limit = flag.Duration("synclimit", 30*time.Second, "how long a sync may run before its test fails; 0: for ever")

// LoopError is that a call doesn't end.
type LoopError struct {
	Limit time.Duration
	// Function loops, at Place; Stack is where it was called from, the innermost first.
	Function, Place string
	Stack           []string
}

func (e *LoopError) Error() string {
	text := fmt.Sprintf("it still runs after %v", e.Limit)
	if e.Function != "" {
		text += fmt.Sprintf(": an endless loop in %s at %s\n%s", e.Function, e.Place, strings.Join(e.Stack, "\n"))
	}

	return text + "\n(a sync that takes so long by right is given more time with go test -synclimit)"
}

// ticks make a limit. They aren't counted while the whole process stands still, in a debugger say.
const ticks = 100

// Run calls f in a goroutine of its own and waits for it, or returns a LoopError when the limit is over; the goroutine
// can't be ended and runs on then, until the process ends. f calls here in the goroutine that runs what may loop.
func Run(f func(here func())) error {
	var id string
	identified, done := make(chan string, 1), make(chan struct{})
	go func() {
		defer close(done)
		f(func() { identified <- current() })
	}()
	if *limit <= 0 {
		<-done
		return nil
	}

	tick := time.NewTicker(max(*limit/ticks, time.Millisecond))
	defer tick.Stop()
	for n := 0; n < ticks; {
		select {
		case <-done:
			return nil
		case id = <-identified:
		case <-tick.C:
			n++
		}
	}

	e := &LoopError{Limit: *limit}
	e.findLoop(id)

	return e
}

// current is the number of the goroutine that calls it, as stacks have it.
func current() string {
	b := make([]byte, 64)
	b = b[:runtime.Stack(b, false)]
	number, _, _ := strings.Cut(strings.TrimPrefix(string(b), "goroutine "), " ")

	return number
}

const sdk = "github.com/windlass-dev/windlass/sdk"

// frame is a call on a stack.
type frame struct{ function, place string }

// standard reports whether the function is of Go's own library; with go test -trimpath, that can't be told.
func (f frame) standard() bool {
	return goroot != "" && strings.HasPrefix(f.place, goroot)
}

// goroot is the folder of Go's own library, as stacks name its files.
var goroot = func() string {
	f := runtime.FuncForPC(reflect.ValueOf(strings.Repeat).Pointer())
	file, _ := f.FileLine(f.Entry())

	return strings.TrimSuffix(file, "strings/strings.go")
}()

const (
	samples = 20
	apart   = 5 * time.Millisecond
)

// findLoop looks at the goroutine's stack some times: what loops is the innermost function that is always there, called
// from the same line. Go's own library isn't to blame: a loop that spends its time there is named by who calls it.
func (e *LoopError) findLoop(id string) {
	common := pluginStack(id)
	for range samples - 1 {
		time.Sleep(apart)
		common = commonCalls(common, pluginStack(id))
	}
	if len(common) == 0 {
		return
	}

	own := len(common)
	for own > 1 && common[own-1].standard() {
		own--
	}
	common = common[:own]

	last := common[own-1]
	e.Function, e.Place = last.function, last.place
	for i := len(common) - 1; i >= 0; i-- {
		e.Stack = append(e.Stack, common[i].place+" "+common[i].function)
	}
}

// commonCalls returns the calls that two stacks, the outermost first, have in common.
func commonCalls(a, b []frame) []frame {
	for i := range min(len(a), len(b)) {
		if a[i].function != b[i].function {
			return a[:i]
		}
		if a[i].place != b[i].place {
			return a[:i+1]
		}
	}

	return a[:min(len(a), len(b))]
}

// pluginStack returns a goroutine's calls in the plugin, the outermost first, without those of the runtime.
func pluginStack(id string) (calls []frame) {
	b := make([]byte, 1<<20)
	b = b[:runtime.Stack(b, true)]
	for part := range bytes.SplitSeq(b, []byte("\n\n")) {
		head, rest, _ := strings.Cut(string(part), "\n")
		if !strings.HasPrefix(head, "goroutine "+id+" ") {
			continue
		}

		lines := strings.Split(rest, "\n")
		for i := 0; i+1 < len(lines); i += 2 {
			function := lines[i][:max(strings.LastIndexByte(lines[i], '('), 0)]
			if function == sdk+".Run" || strings.HasPrefix(function, sdk+"/plugintest") {
				break // what calls the plugin
			}
			if strings.HasPrefix(function, "runtime.") || function == "" {
				continue
			}
			place, _, _ := strings.Cut(strings.TrimSpace(lines[i+1]), " +0x")
			calls = append([]frame{{function, place}}, calls...)
		}
	}

	return calls
}
