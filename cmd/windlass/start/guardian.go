package start

import (
	"context"
	"errors"
	"fmt"
	"syscall"

	"k8s.io/klog/v2"

	"github.com/windlass-dev/windlass/cmd/windlass/answer"
	"github.com/windlass-dev/windlass/config"
	"github.com/windlass-dev/windlass/host/manager"
	"github.com/windlass-dev/windlass/host/process"
	"github.com/windlass-dev/windlass/host/process/guardian"
	"github.com/windlass-dev/windlass/host/process/guardian/will"
)

// guarded returns the guardian that stands behind this process, and what it is left. Where there should be one and
// isn't, the process becomes that, and the manager is another one; the error is why it couldn't.
func guarded(ctx context.Context, c *config.LeaderElection) (behind int, w *will.Will, err error) {
	behind, files, ok := guardian.Ward()
	if ok {
		w, err = will.Open(files)
		return behind, w, err
	}
	if !c.LeaderElect || !c.Guardian || ctx.Err() != nil { // a signal that has come already would be forgotten
		return 0, nil, nil
	}
	if files, err = will.New(); err == nil {
		err = guardian.Enter(files)
		will.Close(files)
	}
	if errors.Is(err, errors.ErrUnsupported) {
		err = nil
	}
	return 0, nil, err
}

// executeWill does what the manager has left whose guardian this process was, and ends with its exit code. invalid is
// what is wrong with the configuration by now.
func executeWill(c *config.Configuration, invalid error, ended syscall.WaitStatus, files guardian.Files) error {
	how := fmt.Sprint("exit code ", guardian.Code(ended))
	if ended.Signaled() {
		how = "signal: " + ended.Signal().String()
	}
	err := invalid
	if err == nil {
		err = process.StartLog(&c.Logging)
	}
	var e *will.Estate
	if err == nil {
		e, err = will.Read(files)
	}
	if err == nil {
		err = manager.Settle(c, e, how)
	}
	if err != nil {
		klog.ErrorS(err, "The manager ended without giving up its Leases, nor can its guardian: they expire", "ended", how)
	}
	return answer.Exit(guardian.Code(ended), nil)
}
