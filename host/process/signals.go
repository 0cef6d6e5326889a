package process

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"

	"k8s.io/klog/v2"

	"github.com/windlass-dev/windlass/host/process/guardian"
)

// oneSignal is how soon after a signal the next one counts as the same, where there is a guardian: what is sent to all
// processes of a terminal or a unit comes from there once more.
const oneSignal = time.Second

// UntilSignalled returns a context that ends with the first SIGINT or SIGTERM; second is called at the next one.
func UntilSignalled(second func()) (context.Context, func()) {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	behind, _, guarded := guardian.Ward()
	go func() {
		s := <-signals
		klog.InfoS("Stopping", "signal", s.String())
		cancel()
		if guarded {
			go tellOfEnd(behind)
		}
		for first := time.Now(); ; {
			<-signals
			if !guarded || time.Since(first) > oneSignal {
				second()
				return
			}
		}
	}()
	return ctx, func() { signal.Stop(signals); cancel() }
}

// tellOfEnd logs that the signal came because the guardian has ended, if it did. The kernel sends it when the
// guardian's first thread has ended, and names the guardian as the parent until the last one has.
func tellOfEnd(process int) {
	for end := time.Now().Add(oneSignal); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if os.Getppid() != process {
			klog.InfoS("The guardian has ended, and the manager ends, too", "guardian", process)
			return
		}
	}
}
