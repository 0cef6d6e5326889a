package process

import (
	"os"
	"syscall"
	"testing"
)

func TestSecondSignal(t *testing.T) {
	second := make(chan struct{})
	ctx, stop := UntilSignalled(func() { close(second) })
	defer stop()
	self := func() {
		if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
	}
	self()
	<-ctx.Done()
	select {
	case <-second:
		t.Fatal("the first signal counted as the second")
	default:
	}
	self()
	<-second
}
