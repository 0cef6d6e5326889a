package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/component-base/logs"
)

// clusterOptions says what cluster is wanted.
type clusterOptions struct {
	dir      string
	nodes    int
	port     int
	auditLog string
	// runtimeConfig is the API server's --runtime-config.
	runtimeConfig string
	// podRanges and liftTaints have devcluster do what node controllers would: give each node its pod ranges, and take
	// away the taint that says that it isn't ready.
	podRanges, liftTaints bool
}

const (
	// startTimeout is generous: on a loaded machine the start of 3 seconds may take ten times as long.
	startTimeout = 2 * time.Minute
	// stopTimeout bounds the API server's graceful shutdown, which waits for open watches.
	stopTimeout = 5 * time.Second
)

// run starts the parts in the order of their dependencies, and stops them in the opposite one when ctx ends or one of
// them fails.
func run(ctx context.Context, o clusterOptions) error {
	started := time.Now()
	if err := boundMemory(); err != nil {
		return err
	}
	logs.InitLogs()
	if err := os.MkdirAll(o.dir, 0o700); err != nil {
		return err
	}
	listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", o.port))
	if err != nil {
		return fmt.Errorf("listening for the API server: %w", err)
	}
	creds, err := loadOrCreate(o.dir, "https://"+listener.Addr().String())
	if err != nil {
		return fmt.Errorf("credentials in %s: %w", o.dir, err)
	}

	etcd, err := startEtcd(ctx, o.dir)
	if err != nil {
		return err
	}
	defer etcd.Close()
	if err := os.WriteFile(filepath.Join(o.dir, "etcd.url"), []byte(etcd.URL), 0o600); err != nil {
		return err
	}

	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	apiserver := startPart(ctx, fail, "kube-apiserver", func(ctx context.Context) error {
		return runAPIServer(ctx, o, listener, etcd.URL)
	})
	// Everything below is a client of the API server and stops before it: their contexts end with their group's.
	defer apiserver.stop()

	// Each part has a client of its own, so that an audit log tells them apart.
	admin, err := kubernetes.NewForConfig(unlimited(creds.restConfig(userAdmin)))
	if err != nil {
		return err
	}
	if err := awaitReady(ctx, admin); err != nil {
		return errors.Join(err, context.Cause(ctx))
	}
	slog.Info("kube-apiserver is ready", "after", time.Since(started).Round(time.Millisecond))

	scheduler := startPart(ctx, fail, "kube-scheduler", func(ctx context.Context) error {
		return runScheduler(ctx, filepath.Join(o.dir, "kube-scheduler.kubeconfig"))
	})
	defer scheduler.stop()

	if err := createNodes(ctx, admin, o); err != nil {
		return fmt.Errorf("nodes: %w", err)
	}
	if err := startKwok(ctx, unlimited(creds.restConfig(userKwok))); err != nil {
		return fmt.Errorf("kwok: %w", err)
	}
	fmt.Printf("ready after %v: %d nodes, kubeconfig %s\n",
		time.Since(started).Round(time.Millisecond), o.nodes, filepath.Join(o.dir, "kubeconfig"))

	<-ctx.Done()
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
		return cause
	}
	return nil
}

// part is a component running in a goroutine.
type part struct {
	cancel context.CancelFunc
	done   chan struct{}
}

// startPart runs f with a context that outlives ctx until stop is called: the order of stopping is run's. When f ends
// before that, fail is told.
func startPart(ctx context.Context, fail context.CancelCauseFunc, name string, f func(context.Context) error) *part {
	own, cancel := context.WithCancel(context.WithoutCancel(ctx))
	p := &part{cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(p.done)
		err := f(own)
		if own.Err() == nil {
			fail(fmt.Errorf("%s stopped: %w", name, err))
		}
	}()
	return p
}

func (p *part) stop() {
	p.cancel()
	select {
	case <-p.done:
	case <-time.After(stopTimeout):
	}
}

// awaitReady returns when the API server says that it is ready: its bootstrap roles, priority classes and service
// ranges are there then.
func awaitReady(ctx context.Context, client kubernetes.Interface) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		body, err := client.Discovery().RESTClient().Get().AbsPath("/readyz").Param("verbose", "").DoRaw(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for kube-apiserver: %w\n%s", err, body)
		case <-tick.C:
		}
	}
}

// unlimited lifts client-go's own rate limit, which is meant for clients that share a cluster with people.
func unlimited(c *rest.Config) *rest.Config {
	c.QPS = -1
	return c
}
