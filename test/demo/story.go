package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/windlass-dev/windlass/test/workload"
)

// tellStory plays the life of a Deployment, one chapter after another.
func (p *platform) tellStory(ctx context.Context) error {
	web := workload.Web{Client: p.client, Namespace: "default", Name: "web"}
	converged := func(n int32, image string) func() (bool, string, error) {
		return func() (bool, string, error) { return web.Converged(ctx, n, image) }
	}

	var deleted string
	for _, c := range []struct {
		title string
		do    func() error
		until func() (bool, string, error)
	}{
		{"Creating a Deployment of 20 replicas and its Service.", func() error {
			return web.Create(ctx, 20)
		}, converged(20, "web:1")},
		{"Rolling it to a new image.", func() error { return web.Image(ctx, "web:2") }, converged(20, "web:2")},
		{"Scaling it to 30.", func() error { return web.Scale(ctx, 30) }, converged(30, "web:2")},
		{"Undoing the roll-out.", func() error { return web.Undo(ctx, "1") }, converged(30, "web:1")},
		{"Deleting a pod.", func() error {
			pods, err := web.Ready(ctx)
			if err != nil {
				return err
			}
			deleted = pods[0]
			return p.client.CoreV1().Pods(web.Namespace).Delete(ctx, deleted, metav1.DeleteOptions{})
		}, func() (bool, string, error) {
			pods, err := web.Ready(ctx)
			if err != nil || slices.Contains(pods, deleted) {
				return false, "its address is still in the slice", err
			}
			return web.Converged(ctx, 30, "web:1")
		}},
	} {
		printHeading("%s", c.title)
		p.before = p.figures(ctx)
		t := time.Now()
		if err := c.do(); err != nil {
			return err
		}

		state := ""
		err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, 90*time.Second, true,
			func(context.Context) (bool, error) {
				done, now, err := c.until()
				if now != state {
					state = now
					printNote("%6.2f s  %s", time.Since(t).Seconds(), now)
				}
				return done, err
			})
		if err != nil {
			return fmt.Errorf("%s: %w, after: %s", c.title, err, state)
		}

		p.printReport(ctx)
	}

	return nil
}
