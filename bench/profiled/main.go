// Command profiled is windlass run with a server for profiles, for bench -profile.
package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"runtime"
	"runtime/pprof"
	"syscall"

	"github.com/spf13/pflag"
	"k8s.io/klog/v2"

	"github.com/windlass-dev/windlass/config"
	"github.com/windlass-dev/windlass/host/manager"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "profiled:", err)
		os.Exit(1)
	}
}

// run takes the flags of windlass run, and --profiles for the address.
func run(ctx context.Context, args []string) error {
	defer klog.Flush()
	flags := pflag.NewFlagSet("profiled", pflag.ContinueOnError)
	address := flags.String("profiles", "127.0.0.1:0", "where profiles are served")
	config.AddFlags(flags)
	if err := flags.Parse(args); err != nil {
		return err
	}
	c, err := config.FromFlags(flags)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", *address)
	if err != nil {
		return err
	}
	defer l.Close()
	go func() { _ = http.Serve(l, profiles()) }()
	return manager.Run(ctx, c, manager.Options{})
}

// profiles serves /start and /stop of a profile of the processor, and /heap. Unlike net/http/pprof's it doesn't have to
// be told beforehand how long it takes.
func profiles() http.Handler {
	mux := http.NewServeMux()
	var file *os.File
	mux.HandleFunc("POST /start", func(w http.ResponseWriter, r *http.Request) {
		f, err := os.Create(r.FormValue("to"))
		if err == nil {
			file, err = f, pprof.StartCPUProfile(f)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusConflict)
		}
	})

	mux.HandleFunc("POST /stop", func(w http.ResponseWriter, _ *http.Request) {
		pprof.StopCPUProfile()
		if err := file.Close(); err != nil {
			http.Error(w, err.Error(), http.StatusConflict)
		}
	})

	mux.HandleFunc("POST /heap", func(w http.ResponseWriter, r *http.Request) {
		runtime.GC()
		f, err := os.Create(r.FormValue("to"))
		if err == nil {
			err = pprof.WriteHeapProfile(f)
			f.Close()
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusConflict)
		}
	})

	return mux
}
