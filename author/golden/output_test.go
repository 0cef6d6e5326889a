package golden_test

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/windlass-dev/windlass/author/golden"
	"github.com/windlass-dev/windlass/author/guest/guesttest"
	"github.com/windlass-dev/windlass/sdk"
	appsv1 "github.com/windlass-dev/windlass/sdk/api/apps/v1"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
)

// changes updates a set's status, creates a pod by its template, but for its node, and tells.
func changes() *sdk.Plugin {
	sets := sdk.Key(appsv1.ReplicaSets).Fields("metadata.labels", "spec.replicas", "spec.template", "status")
	return &sdk.Plugin{Name: "test", Controllers: []*sdk.Controller{{
		Name: "test-controller", Reads: sdk.Views{sets}, EventSource: "test",
		Writes: sdk.Writes{appsv1.ReplicaSets.Sub("status", "update"), corev1.Pods.Verbs("create")},
		Sync: func(c *sdk.Call) error {
			rs, _ := sets.Get(c)
			status := sdk.Clone(rs)
			status.Status.Replicas, status.Status.ReadyReplicas = 2, 0
			if err := c.Do(sdk.UpdateStatus(status)); err != nil {
				return err
			}
			status.Status.ReadyReplicas = 1

			pod := &corev1.Pod{Spec: sdk.Clone(rs).Spec.Template.Spec}
			pod.Namespace, pod.GenerateName = "default", "web-"
			pod.Spec.NodeName = "n1"
			c.Add(sdk.UpdateStatus(status), sdk.Create(pod), sdk.Event(rs, "Normal", "Made", "it is\nmade"))
			return nil
		},
	}}}
}

const changed = `case: one
key: default/web
now: "2030-01-01T00:00:00Z"
objects:
- apiVersion: apps/v1
  kind: ReplicaSet
  metadata: {namespace: default, name: web, labels: {app: web}}
  spec:
    replicas: 1
    template: {metadata: {labels: {app: web}}, spec: {hostname: h, subdomain: s, containers: [{name: main, image: "web:1", args: [a, b]}]}}
  status: {replicas: 1, readyReplicas: 1}
`

const changedTo = `want:
  effects:
  - do: perform update apps/v1/replicasets/status default/web
    set:
      status.replicas: 2
    unset: [status.readyReplicas]
  - do: update apps/v1/replicasets/status default/web
    set:
      status.readyReplicas: 1
    version: "2001"
  - do: create v1/pods default/
    like: apps/v1/replicasets default/web spec.template
    set:
      metadata: {generateName: web-, namespace: default}
      spec.nodeName: n1
  - do: event apps/v1/replicasets default/web
    event: |-
      Normal Made: it is
      made
`

const changedFormerly = `want:
  effects:
  - do: update apps/v1/replicasets/status default/web
    performed: true
    object:
      metadata: {labels: {app: web}, name: web, namespace: default, resourceVersion: "1", uid: uid-replicaset-web}
      spec:
        replicas: 1
        template: {metadata: {labels: {app: web}}, spec: {hostname: h, subdomain: s, containers: [{name: main, image: "web:1", args: [a, b]}]}}
      status: {replicas: 2}
  - do: update apps/v1/replicasets/status default/web
    object:
      metadata: {labels: {app: web}, name: web, namespace: default, resourceVersion: "2001", uid: uid-replicaset-web}
      spec:
        replicas: 1
        template: {metadata: {labels: {app: web}}, spec: {hostname: h, subdomain: s, containers: [{name: main, image: "web:1", args: [a, b]}]}}
      status: {replicas: 2, readyReplicas: 1}
  - do: create v1/pods default/
    object:
      metadata: {generateName: web-, namespace: default}
      spec: {hostname: h, subdomain: s, nodeName: n1, containers: [{name: main, image: "web:1", args: [a, b]}]}
  - do: event apps/v1/replicasets default/web
    object: {type: Normal, reason: Made, message: "it is\nmade"}
`

// An update says what it changes, a created object what it has otherwise than the template that it is like. A case that
// has them whole, as they were written before, holds as well, until it is updated.
func TestForms(t *testing.T) {
	for name, want := range map[string]string{"now": changedTo, "former": changedFormerly} {
		t.Run(name, func(t *testing.T) {
			file := writeFile(t, "topic.yaml", changed+want)
			one := func() *golden.Case {
				cases, err := golden.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				return cases[0]
			}
			c := one()
			out, _, err := c.Run(guesttest.Native(changes()), true)
			if err != nil {
				t.Fatal(err)
			}
			if holds, err := c.Holds(out); err != nil || !holds {
				wanted, _ := c.Wanted()
				t.Fatalf("%v (-want +got):\n%s", err, cmp.Diff(wanted, out))
			}

			if err := c.Update(out); err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(changed+changedTo, string(text)); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
			c = one()
			if out, _, err = c.Run(guesttest.Native(changes()), false); err != nil {
				t.Fatal(err)
			}
			if holds, err := c.Holds(out); err != nil || !holds {
				t.Errorf("on whole objects: %v, %v\n%s", holds, err, out)
			}
		})
	}

	// Neither holds for another change.
	for _, want := range []string{changedTo, changedFormerly} {
		other := strings.Replace(want, "replicas: 2", "replicas: 3", 1)
		cases, err := golden.ReadFile(writeFile(t, "topic.yaml", changed+other))
		if err != nil {
			t.Fatal(err)
		}
		out, _, err := cases[0].Run(guesttest.Native(changes()), true)
		if err != nil {
			t.Fatal(err)
		}
		if holds, err := cases[0].Holds(out); err != nil || holds {
			t.Errorf("%v, %v: it holds\n%s", holds, err, other)
		}
	}
}
