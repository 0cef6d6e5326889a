// Command mutations plants mistakes in our code, one at a time, and tells which of them the tests find that are meant
// to:
//
//	mutations [NAME...]
//
// A mutation is a file in hack/mutations/planted. One that survives shows where the tests are blind; each is meant to
// be found, so that the
// command fails when one isn't, and when a test fails without any. make mutations runs it.
package main

import (
	"cmp"
	"context"
	"fmt"
	"log"
	"os"
	"os/signal"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// folder is where mutations are.
const folder = "hack/mutations/planted"

// most is how long the tests of one mutation may take.
const most = 5 * time.Minute

func main() {
	log.SetFlags(0)
	log.SetPrefix("mutations: ")
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()

	if err := run(ctx, os.Args[1:]); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, names []string) error {
	root, err := os.Getwd()
	if err != nil {
		return err
	}
	all, err := loadMutations(folder)
	if err != nil {
		return err
	}
	if all, err = selectMutations(all, names); err != nil {
		return err
	}

	began := time.Now()
	r := &runner{root: root, timeout: most, passed: map[string]error{}}
	var results []result
	for _, m := range all {
		x := r.tryMutation(ctx, m)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		fmt.Printf("%-8s %4.0f s  %s: %s\n", x.verdict, x.took.Seconds(), m.Name, cmp.Or(x.by, m.Wrong))
		results = append(results, x)
	}
	return printReport(results, time.Since(began))
}

// selectMutations returns the mutations of these names, all of them where there are none.
func selectMutations(all []*Mutation, names []string) ([]*Mutation, error) {
	if len(names) == 0 {
		return all, nil
	}

	var chosen []*Mutation
	for _, name := range names {
		i := slices.IndexFunc(all, func(m *Mutation) bool { return m.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("there is no %s/%s%s", folder, name, ending)
		}
		chosen = append(chosen, all[i])
	}
	return chosen, nil
}

// printReport prints the table, and fails where a mutation wasn't found.
func printReport(results []result, took time.Duration) error {
	fmt.Println()
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "mutation\tin\ttests\tverdict\ttakes")
	var open []string
	for _, x := range results {
		tests := strings.TrimSpace(x.Module + " " + x.Test)
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%.0f s\n", x.Name, x.File, tests, x.verdict, x.took.Seconds())
		if x.verdict != found {
			open = append(open, x.Name)
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}

	fmt.Printf("\n%d of %d found, in %v\n", len(results)-len(open), len(results), took.Round(time.Second))
	if len(open) > 0 {
		return fmt.Errorf("not found: %s", strings.Join(open, ", "))
	}
	return nil
}
