package running

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/windlass-dev/windlass/cmd/windlass/answer"
	"github.com/windlass-dev/windlass/host/state"
)

// orders are what top sorts by, with the key that chooses it.
var orders = []struct {
	name string
	key  byte
	less func(a, b *load) int // the greatest first
}{
	{"syncs", 's', func(a, b *load) int { return cmp.Compare(b.syncs, a.syncs) }},
	{"time", 't', func(a, b *load) int { return cmp.Compare(b.time, a.time) }},
	{"queue", 'u', func(a, b *load) int { return cmp.Compare(b.Queue, a.Queue) }},
	{"errors", 'e', func(a, b *load) int {
		return cmp.Or(cmp.Compare(b.failed, a.failed), cmp.Compare(b.Failing, a.Failing),
			cmp.Compare(b.Syncs.Failed, a.Syncs.Failed))
	}},
	{"name", 'n', func(*load, *load) int { return 0 }},
}

func topCommand() *cobra.Command {
	var sort string
	var interval time.Duration
	var once bool
	var from *server
	c := &cobra.Command{
		Use:   "top",
		Short: "Show what the controllers of a windlass are busy with, live",
		Example: `  windlass top
  windlass top --sort errors --interval 5s
  windlass top --once`,
		Long: `Show what the controllers of a windlass are busy with: syncs, failures and writes per second, the share of a processor that they take inside the sandbox, queues and stuck keys, and how much memory their plugins hold of what budget.memory allows.

It refreshes until q or Ctrl-C is pressed; s, t, u, e and n sort by syncs, time, queue, errors and name. Where stdout isn't a terminal it is shown once, measured over one interval.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			order := slices.IndexFunc(orders, func(o struct {
				name string
				key  byte
				less func(a, b *load) int
			}) bool {
				return o.name == sort
			})
			switch {
			case order < 0:
				return fmt.Errorf("--sort %q: must be syncs, time, queue, errors or name", sort)
			case interval < 100*time.Millisecond:
				return fmt.Errorf("--interval %v: must be at least 100ms", interval)
			}
			t := &top{from: from, order: order, interval: interval}
			if out, ok := cmd.OutOrStdout().(*os.File); ok && !once && term.IsTerminal(int(out.Fd())) {
				return t.showLive(cmd.Context(), os.Stdin, out)
			}
			return t.printOnce(cmd.Context(), cmd.OutOrStdout())
		},
	}
	c.Flags().StringVar(&sort, "sort", "syncs", "syncs, time, queue, errors or name")
	c.Flags().DurationVar(&interval, "interval", time.Second, "how often it is refreshed")
	c.Flags().BoolVar(&once, "once", false, "print it once and exit")
	from = serverFlags(c)
	return c
}

// top is what is shown, and of what.
type top struct {
	from     *server
	order    int
	interval time.Duration

	before, now *state.Status
	err         error // why there is no newer one
}

// load is what a controller did in the last interval, each second.
type load struct {
	*state.ControllerStatus
	syncs, failed, writes float64
	time                  float64 // in the sandbox, as a share of one processor
}

func (t *top) refresh(ctx context.Context) {
	bounded, cancel := context.WithTimeout(ctx, max(t.interval, 2*time.Second))
	defer cancel()
	s, err := t.from.fetchStatus(bounded)
	if t.err = err; err == nil {
		t.before, t.now = t.now, s
	}
}

// printOnce measures over one interval.
func (t *top) printOnce(ctx context.Context, w io.Writer) error {
	for range 2 {
		if t.refresh(ctx); t.err != nil {
			return t.err
		}
		if t.before == nil {
			select {
			case <-time.After(t.interval):
			case <-ctx.Done():
				return nil
			}
		}
	}
	for _, l := range t.screenLines() {
		if _, err := fmt.Fprintln(w, l); err != nil {
			return err
		}
	}
	return nil
}

// sortedLoads returns the controllers in order.
func (t *top) sortedLoads() []load {
	var all []load
	before := map[string]*state.ControllerStatus{}
	passed := 0.0
	if t.before != nil && t.before.Process.Started.Equal(t.now.Process.Started) {
		passed = t.now.Process.Now.Sub(t.before.Process.Now).Seconds()
		for i := range t.before.Controllers {
			before[t.before.Controllers[i].Name] = &t.before.Controllers[i]
		}
	}
	for i := range t.now.Controllers {
		c := &t.now.Controllers[i]
		l := load{ControllerStatus: c}
		if b := before[c.Name]; b != nil && passed > 0 {
			each := func(now, then int64) float64 { return max(float64(now-then), 0) / passed }
			l.syncs, l.failed, l.writes = each(c.Syncs.Total, b.Syncs.Total), each(c.Syncs.Failed, b.Syncs.Failed),
				each(sumVerbs(c.Writes.Verbs), sumVerbs(b.Writes.Verbs))
			l.time = max(c.Syncs.GuestSeconds-b.Syncs.GuestSeconds, 0) / passed
		}
		all = append(all, l)
	}
	slices.SortStableFunc(all, func(a, b load) int {
		return cmp.Or(orders[t.order].less(&a, &b),
			strings.Compare(a.Name, b.Name))
	})
	return all
}

func sumVerbs(verbs map[string]int64) (n int64) {
	for _, x := range verbs {
		n += x
	}
	return n
}

// screenLines returns the screen.
func (t *top) screenLines() []string {
	var b strings.Builder
	s := t.now
	all := t.sortedLoads()
	var syncs, writes, share float64
	for i := range all {
		syncs, writes, share = syncs+all[i].syncs, writes+all[i].writes, share+all[i].time
	}

	fmt.Fprintf(&b, "windlass on %s, process %d, up %s: %d controllers, %.1f syncs/s, %.1f writes/s, %.1f%% of a processor in sandboxes, plugins hold %s of %s\n",
		answer.Line(s.Process.Host, answer.LineMax), s.Process.PID, formatAge(s, s.Process.Started), len(all), syncs, writes,
		100*share, formatSize(s.Process.Memory.Held), formatSize(s.Process.Memory.Limit))
	for _, x := range s.Troubles {
		if x.Level == state.Bad {
			fmt.Fprintf(&b, "BROKEN %s: %s\n", answer.Line(x.About, answer.LineMax), answer.Line(x.What, 2*answer.LineMax))
		}
	}

	b.WriteString("\n")
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "SYNCS/S\tERRORS/S\tWRITES/S\tTIME\tP50\tP99\tQUEUE\tSYNCING\tSTUCK\tERRORS\tHELD\tBUDGET\tSTATE\t\t CONTROLLER")
	memory := map[string]state.Memory{}
	for i := range s.Plugins {
		memory[s.Plugins[i].Name] = s.Plugins[i].Memory
	}
	for i := range all {
		l := &all[i]
		m := memory[l.Plugin]
		fmt.Fprintf(w, "%.1f\t%.1f\t%.1f\t%.1f%%\t%s\t%s\t%d\t%d/%d\t%d\t%d\t%s\t%s\t%s\t\t %s\n", l.syncs, l.failed,
			l.writes,
			100*l.time, formatDuration(l.Syncs.P50), formatDuration(l.Syncs.P99),
			l.Queue, l.Syncing, l.Workers, l.Failing+l.Parked, l.Syncs.Failed, formatSize(m.Held), formatSize(m.Limit),
			l.State, l.Name)
	}
	_ = w.Flush()
	return strings.Split(strings.TrimRight(b.String(), "\n"), "\n")
}

// What a terminal is told.
const (
	screenOn  = "\x1b[?1049h\x1b[?25l\x1b[2J" // the other screen, without a cursor
	screenOff = "\x1b[?25h\x1b[?1049l"
	home      = "\x1b[H"
	clearLine = "\x1b[K"
	clearRest = "\x1b[J"
	inverse   = "\x1b[7m"
	plain     = "\x1b[0m"
)

// showLive refreshes a terminal until somebody has enough of it.
func (t *top) showLive(ctx context.Context, in, out *os.File) error {
	if t.refresh(ctx); t.err != nil {
		return t.err // while it can be read
	}
	keys := make(chan byte)
	if fd := int(in.Fd()); term.IsTerminal(fd) {
		before, err := term.MakeRaw(fd)
		if err != nil {
			return fmt.Errorf("can't use the terminal: %w: windlass top --once prints the table once", err)
		}
		defer func() { _ = term.Restore(fd, before) }()
		go func() {
			for b := make([]byte, 1); ; {
				if n, err := in.Read(b); err != nil || n == 0 {
					return // what is shown goes on
				}
				select {
				case keys <- b[0]:
				case <-ctx.Done():
					return
				}
			}
		}()
	}

	fmt.Fprint(out, screenOn)
	defer fmt.Fprint(out, screenOff)
	tick := time.NewTicker(t.interval)
	defer tick.Stop()
	for {
		width, height, err := term.GetSize(int(out.Fd()))
		if err != nil || width == 0 {
			width, height = 80, 24
		}
		if _, err := io.WriteString(out, t.renderScreen(width, height)); err != nil {
			return nil // the terminal is gone
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			t.refresh(ctx)
		case k := <-keys:
			if k == 'q' || k == 'Q' || k == 3 || k == 4 { // ^C, ^D
				return nil
			}
			for i := range orders {
				if orders[i].key == k {
					t.order = i
				}
			}
		}
	}
}

// renderScreen fits the lines into a terminal.
func (t *top) renderScreen(width, height int) string {
	last := "q quits; sorted by " + orders[t.order].name + ": s syncs, t time, u queue, e errors, n name"
	if t.err != nil {
		last = "no answer: " + answer.Line(t.err.Error(), 10*answer.LineMax)
	}
	var b strings.Builder
	b.WriteString(home)
	lines := t.screenLines()
	for i, l := range lines[:min(len(lines), max(height-1, 0))] {
		if i == len(lines)-len(t.now.Controllers)-1 {
			l = inverse + truncate(l, width) + plain
		} else {
			l = truncate(l, width)
		}
		b.WriteString(l + clearLine + "\r\n")
	}
	b.WriteString(clearRest + truncate(last, width))
	return b.String()
}

func truncate(s string, width int) string {
	if r := []rune(s); len(r) > width {
		return string(r[:width])
	}
	return s
}
