package effects

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	registrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/test/cluster"
	"github.com/windlass-dev/windlass/test/webhook"
)

// timeouts returns with which timeout= each request for config maps came to the proxy.
func (f *faults) timeouts() (all []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, r := range f.seen {
		all = append(all, r.URL.Query().Get("timeout"))
	}
	return all
}

// A patch that demands neither a version nor a UID outlasts the Lease, too, and so does an apply, from the second
// attempt on: it demands the UID of the object that is there.
func TestOnClusterBlindPatchOutlastsLease(t *testing.T) {
	merge := abi.Effect{Kind: abi.EffectPatch, Patch: abi.MergePatch, Object: []byte(`{"data":{"a":"2"}}`)}
	apply := abi.Effect{Kind: abi.EffectApply, Object: []byte(
		`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"patched"},"data":{"a":"2"}}`)}
	for name, e := range map[string]abi.Effect{"a merge patch": merge, "an apply": apply} {
		t.Run(name, func(t *testing.T) { expectOutlasts(t, e) })
	}
}

func expectOutlasts(t *testing.T, e abi.Effect) {
	t.Helper()
	w := newWorld(t, abi.Controller{Writes: allowAll(configMaps)}, func(o *Options) {
		o.Lease = func(context.Context) (time.Duration, error) { return time.Second, nil }
		o.Outlast = func(ctx context.Context) context.Context { return ctx }
	})
	made, err := w.kube.CoreV1().ConfigMaps(w.ns).Create(t.Context(), configMap("patched", "1"), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	webhook.Start(t, w.kube, webhook.Webhook{Name: "slow-" + w.ns, Namespace: w.ns, Operation: registrationv1.Update,
		Resource: "configmaps", Answer: webhook.After(3 * time.Second)})
	cluster.Eventually(t, time.Minute, "the webhook is asked", func() (bool, any) {
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		_, err := w.kube.CoreV1().ConfigMaps(w.ns).Patch(ctx, made.Name, types.MergePatchType, []byte(`{"data":{"b":"1"}}`),
			metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
		return ctx.Err() != nil, err
	})

	patch := func() abi.Outcome {
		w.proxy.loseRequests(0, 0)
		e.Resource, e.Namespace, e.Name = "v1/configmaps", w.ns, made.Name
		all, err := w.beginSession().Perform(t.Context(), []abi.Effect{e})
		if err != nil {
			t.Fatal(err)
		}
		return all[0]
	}
	if o := patch(); o.Code != abi.CodeFailed || fmt.Sprint(w.proxy.timeouts()) != "[1s]" {
		t.Errorf("at first: %+v, timeouts %s", o, w.proxy.timeouts())
	}
	if o := patch(); o.Code != abi.CodeOK || w.configMaps()[0].Data["a"] != "2" {
		t.Errorf("the next one: %+v, timeouts %s, %+v", o, w.proxy.timeouts(), w.configMaps())
	}
}

// awaitWebhook waits until the API server asks the webhook, which holds a create up.
func (w *world) awaitWebhook() {
	w.t.Helper()
	cluster.Eventually(w.t, time.Minute, "the webhook is asked", func() (bool, any) {
		ctx, cancel := context.WithTimeout(w.t.Context(), 300*time.Millisecond)
		defer cancel()
		c := configMap("", "1")
		c.GenerateName = "try-"
		_, err := w.kube.CoreV1().ConfigMaps(w.ns).Create(ctx, c,
			metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err != nil, fmt.Sprint(err)
	})
}

// A webhook that hangs ends a try: nothing is sent again, and nothing is unsettled.
func TestOnClusterHungWebhook(t *testing.T) {
	w := newWorld(t, abi.Controller{Writes: allowAll(configMaps)}, nil)
	webhook.Start(t, w.kube, webhook.Webhook{Name: "hung-" + w.ns, Namespace: w.ns, Operation: registrationv1.Create,
		Resource: "configmaps", Timeout: time.Second, Answer: webhook.Hang})
	w.awaitWebhook()

	w.proxy.loseRequests(0, 0)
	outcomes, err := w.beginSession().Perform(t.Context(), []abi.Effect{*w.create(ownedMap("made-", "1"))})
	if err != nil || !strings.Contains(outcomes[0].Message, "failed calling webhook") || w.proxy.requests() != 1 {
		t.Errorf("%d requests: %+v %v", w.proxy.requests(), outcomes, err)
	}
	if got := w.writer.UnsettledKeys(); len(got) != 0 {
		t.Errorf("unsettled: %v", got)
	}
}

// A write that takes longer than the Lease leaves goes again with the time that the API server allows, where it can't
// be done twice. The next ones there have that time at once, until one is quick.
func TestOnClusterWriteOutlastsLease(t *testing.T) {
	outlasted := 0
	w := newWorld(t, abi.Controller{Writes: allowAll(configMaps)}, func(o *Options) {
		o.Lease = func(context.Context) (time.Duration, error) { return time.Second, nil }
		o.Outlast = func(ctx context.Context) context.Context { outlasted++; return ctx }
	})
	remove := webhook.Start(t, w.kube, webhook.Webhook{Name: "slow-" + w.ns, Namespace: w.ns,
		Operation: registrationv1.Create, Resource: "configmaps", Answer: webhook.After(3 * time.Second)})
	w.awaitWebhook()

	w.proxy.loseRequests(0, 0)
	w.requireOK(w.beginSession().Perform(t.Context(), []abi.Effect{*w.create(ownedMap("made-", "1"))}))
	if got := fmt.Sprint(w.proxy.timeouts()); got != "[1s 34s]" || outlasted != 1 || len(w.configMaps()) != 1 {
		t.Errorf("timeouts %s, %d marked, %d objects", got, outlasted, len(w.configMaps()))
	}

	create := func() string {
		w.proxy.loseRequests(0, 0)
		all, err := w.beginSession().Perform(t.Context(), []abi.Effect{*w.create(ownedMap("made-", "1"))})
		if err != nil || all[0].Code != abi.CodeOK {
			return fmt.Sprint(all, err) // as while the API server hasn't heard yet that the webhook is gone
		}
		return fmt.Sprint(w.proxy.timeouts())
	}
	if got := create(); got != "[34s]" {
		t.Errorf("the next one: timeouts %s", got)
	}
	remove()
	const last = "the first quick one is the last that may outlast the Lease"
	cluster.Eventually(t, time.Minute, last, func() (bool, string) {
		got := create()
		return got == "[1s]", got
	})
}

// The deletion of a collection that takes longer than the Lease leaves fails from then on as where there is no such
// verb; each object's own deletion outlasts the Lease.
func TestOnClusterSlowCollection(t *testing.T) {
	w := newWorld(t, abi.Controller{Writes: allowAll(configMaps)}, func(o *Options) {
		o.Lease = func(context.Context) (time.Duration, error) { return time.Second, nil }
		o.Outlast = func(ctx context.Context) context.Context { return ctx }
	})
	made, err := w.kube.CoreV1().ConfigMaps(w.ns).Create(t.Context(), configMap("slow", "1"), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	webhook.Start(t, w.kube, webhook.Webhook{Name: "slow-" + w.ns, Namespace: w.ns, Operation: registrationv1.Delete,
		Resource: "configmaps", Answer: webhook.After(3 * time.Second)})
	cluster.Eventually(t, time.Minute, "the webhook is asked", func() (bool, any) {
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		err := w.kube.CoreV1().ConfigMaps(w.ns).Delete(ctx, made.Name,
			metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}})
		return ctx.Err() != nil, err
	})

	collection := abi.Effect{Kind: abi.EffectDeleteCollection, Resource: "v1/configmaps", Namespace: w.ns}
	w.proxy.loseRequests(0, 0)
	if o := w.performOne(collection); o.Code != abi.CodeFailed || fmt.Sprint(w.proxy.timeouts()) != "[1s]" {
		t.Errorf("at first: %+v, timeouts %s", o, w.proxy.timeouts())
	}
	w.requireFailure(collection, "MethodNotAllowed")
	w.performOK(abi.Effect{Kind: abi.EffectDelete, Resource: "v1/configmaps", Namespace: w.ns, Name: made.Name,
		UID: string(made.UID)})
	if all := w.configMaps(); len(all) != 0 {
		t.Errorf("there are still %v", all)
	}
}
