package customresources

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/windlass-dev/windlass/host/state"
	"github.com/windlass-dev/windlass/test/cluster"
	"github.com/windlass-dev/windlass/test/windlass"
)

var (
	thingsV2    = schema.GroupVersionResource{Group: "example.com", Version: "v2", Resource: "things"}
	apiServices = schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"}
	jobs        = schema.GroupVersionResource{Group: "batch", Version: "v1", Resource: "jobs"}
	recorded    = schema.GroupVersionResource{Version: "v1", Resource: "events"}
)

// terms is how often the manager is started while resources can't be listed.
const terms = 3

// Resources that can't be listed (one that can't be converted, one that is forbidden, and those of an API server that
// is down) hold up none but owners who let their dependents go, and what is of their own kinds: each time the manager
// is started. What has waited is done when they can be listed.
func TestUnlisted(t *testing.T) {
	t.Parallel()
	x := cluster.Start(t, cluster.Options{})
	c := &collected{t: t, client: dynamic.NewForConfigOrDie(x.RESTConfig())}
	c.defineThings("v1")
	owner := c.createObject(things, newObject("example.com/v1", "Thing", "owner", nil))
	ofV2 := owner.DeepCopy()
	ofV2.SetAPIVersion("example.com/v2")
	c.createObject(configMaps, newObject("v1", "ConfigMap", "of-v1", owner))
	c.createObject(configMaps, newObject("v1", "ConfigMap", "of-v2", ofV2))
	for term := range terms {
		apart := c.createObject(configMaps, newObject("v1", "ConfigMap", fmt.Sprint("apart-", term), nil))
		c.createObject(things, newObject("example.com/v1", "Thing", fmt.Sprint("unseen-", term), apart))
		c.createObject(configMaps, newObject("v1", "ConfigMap", fmt.Sprint("seen-", term), apart))
	}
	f := &forbidden{}
	f.is.Store(true)
	c.breakResources()

	var m *windlass.Manager
	defer func() {
		if t.Failed() {
			t.Logf("keys: %s", m.Get(t, "/windlass/v1/keys"))
		}
	}()
	unlisted := []string{"example.com/v2/things", "v1/limitranges", "down.example.com/v1/*"}
	for term := range terms {
		if term > 0 { // what the one before left, and what is asked for when nobody runs
			m.Stop(t)
			c.deleteFamilies(term)
		}
		m = windlass.Start(t, x, windlass.Options{Controllers: []string{collector, "ttl-after-finished-controller"},
			Wrap: f.wrap, Patience: 3 * time.Second})
		if term == 0 {
			c.deleteFamilies(term)
		}
		c.expectFamiliesGone(term)
		for before := range term + 1 {
			c.expectWaiting(before, "things.example.com, limitranges, down.example.com/v1/* can't be listed")
		}
		c.expectTold(m, unlisted)
	}

	c.redefine(map[string]any{"conversion": map[string]any{"strategy": "None", "webhook": nil}})
	c.expectTold(m, []string{"v1/limitranges", "down.example.com/v1/*"})
	c.expectWaiting(0, "limitranges, down.example.com/v1/* can't be listed")
	f.is.Store(false)
	c.expectTold(m, []string{"down.example.com/v1/*"})
	c.expectWaiting(0, ": down.example.com/v1/* can't be listed")
	if err := c.client.Resource(apiServices).Delete(t.Context(), "v1.down.example.com",
		metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	c.expectTold(m, nil)
	for term := range terms {
		c.awaitGone(configMaps, fmt.Sprint("apart-", term))
		c.expectLetGo(configMaps, fmt.Sprint("seen-", term))
		c.expectLetGo(things, fmt.Sprint("unseen-", term))
	}
	c.deleteObject(things, "owner", metav1.DeletePropagationForeground)
	c.awaitGone(configMaps, "of-v1")
	c.awaitGone(configMaps, "of-v2")
}

// forbidden has the API server forbid to list a resource while it is.
type forbidden struct{ is atomic.Bool }

func (f *forbidden) wrap(c *rest.Config) {
	c.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return trip(func(r *http.Request) (*http.Response, error) {
			if !f.is.Load() || r.URL.Path != "/api/v1/limitranges" {
				return next.RoundTrip(r)
			}
			const status = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403,` +
				`"message":"limitranges is forbidden: the test says so"}`
			return &http.Response{StatusCode: http.StatusForbidden, Status: "403 Forbidden", Request: r, ProtoMajor: 1,
				Header: http.Header{"Content-Type": {"application/json"}},
				Body:   io.NopCloser(bytes.NewReader([]byte(status)))}, nil
		})
	})
}

type trip func(*http.Request) (*http.Response, error)

func (f trip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// breakResources has things not be convertible, and an API server be down.
func (c *collected) breakResources() {
	c.t.Helper()
	c.redefine(map[string]any{"versions": versions("v1", "v2"),
		"conversion": map[string]any{"strategy": "Webhook", "webhook": map[string]any{
			"conversionReviewVersions": []any{"v1"}, "clientConfig": map[string]any{"url": "https://127.0.0.1:1/nobody"},
		}}})
	c.eventually("v2 is served and can't be converted to", func() (bool, string) {
		_, err := c.client.Resource(thingsV2).Namespace(namespace).List(c.t.Context(), metav1.ListOptions{})
		return err != nil && strings.Contains(err.Error(), "conversion webhook"), fmt.Sprint(err)
	})
	down := newObject("apiregistration.k8s.io/v1", "APIService", "v1.down.example.com", nil)
	down.Object["spec"] = map[string]any{
		"group": "down.example.com", "version": "v1", "groupPriorityMinimum": 100, "versionPriority": 100,
		"insecureSkipTLSVerify": true, "service": map[string]any{"namespace": "default", "name": "nobody"},
	}
	c.must(c.client.Resource(apiServices).Create(c.t.Context(), down, metav1.CreateOptions{}))
}

// deleteFamilies has a term's families be deleted in the background, in the foreground, by a Job's time to live, and
// let go.
func (c *collected) deleteFamilies(term int) {
	c.t.Helper()
	for name, policy := range map[string]metav1.DeletionPropagation{"back": metav1.DeletePropagationBackground,
		"fore": metav1.DeletePropagationForeground} {
		name = fmt.Sprint(name, "-", term)
		root := c.createObject(configMaps, newObject("v1", "ConfigMap", name, nil))
		child := newObject("v1", "ConfigMap", name+"-child", root)
		refs := child.GetOwnerReferences()
		refs[0].BlockOwnerDeletion = new(true)
		child.SetOwnerReferences(refs)
		child = c.createObject(configMaps, child)
		c.createObject(configMaps, newObject("v1", "ConfigMap", name+"-grandchild", child))
		c.deleteObject(configMaps, name, policy)
	}
	c.createFinishedJob(fmt.Sprint("job-", term))
	c.deleteObject(configMaps, fmt.Sprint("apart-", term), metav1.DeletePropagationOrphan)
}

// createFinishedJob makes a Job that has finished, and is to live no longer.
func (c *collected) createFinishedJob(name string) {
	c.t.Helper()
	job := newObject("batch/v1", "Job", name, nil)
	job.Object["spec"] = map[string]any{"ttlSecondsAfterFinished": 0, "template": map[string]any{"spec": map[string]any{
		"restartPolicy": "Never", "containers": []any{map[string]any{"name": "main", "image": "main:1"}},
	}}}
	job = c.createObject(jobs, job)
	at := job.GetCreationTimestamp().UTC().Format(time.RFC3339)
	var conditions []any
	for _, of := range []string{"SuccessCriteriaMet", "Complete"} {
		conditions = append(conditions, map[string]any{"type": of, "status": "True", "lastTransitionTime": at})
	}
	job.Object["status"] = map[string]any{"startTime": at, "completionTime": at, "succeeded": 1, "conditions": conditions,
		"terminating": 0, "uncountedTerminatedPods": map[string]any{}}
	c.must(c.client.Resource(jobs).Namespace(namespace).UpdateStatus(c.t.Context(), job, metav1.UpdateOptions{}))
	c.createObject(configMaps, newObject("v1", "ConfigMap", name+"-child", job))
}

func (c *collected) expectFamiliesGone(term int) {
	c.t.Helper()
	for _, name := range []string{"back", "fore"} {
		for _, of := range []string{"", "-child", "-grandchild"} {
			c.awaitGone(configMaps, fmt.Sprint(name, "-", term, of))
		}
	}
	c.awaitGone(jobs, fmt.Sprint("job-", term))
	c.awaitGone(configMaps, fmt.Sprintf("job-%d-child", term))
}

// expectWaiting waits until an event says why an owner waits that lets its dependents go, and checks that it does, and
// that nothing was taken for absent.
func (c *collected) expectWaiting(term int, why string) {
	c.t.Helper()
	name := fmt.Sprint("apart-", term)
	c.eventually(name+" has an event with "+why, func() (bool, string) {
		l, err := c.client.Resource(recorded).Namespace(namespace).List(c.t.Context(),
			metav1.ListOptions{FieldSelector: "involvedObject.name=" + name})
		found := ""
		for i := range l.Items {
			o := l.Items[i].Object
			source, _, _ := unstructured.NestedString(o, "source", "component")
			found += fmt.Sprintln(source, o["type"], o["reason"], o["message"])
		}
		return err == nil && strings.Contains(found, collector+" Warning OrphaningWaits ") && strings.Contains(found, why),
			fmt.Sprint(found, err)
	})

	apart := c.must(c.client.Resource(configMaps).Namespace(namespace).Get(c.t.Context(), name, metav1.GetOptions{}))
	if !slices.Equal(apart.GetFinalizers(), []string{"orphan"}) {
		c.t.Errorf("%s has the finalizers %v", name, apart.GetFinalizers())
	}
	for _, name := range []string{"of-v1", "of-v2", fmt.Sprint("seen-", term)} {
		o := c.must(c.client.Resource(configMaps).Namespace(namespace).Get(c.t.Context(), name, metav1.GetOptions{}))
		if o.GetDeletionTimestamp() != nil || len(o.GetOwnerReferences()) != 1 {
			c.t.Errorf("%s was touched: %v", name, o)
		}
	}
}

// expectTold waits until the status names these resources, and why they can't be listed.
func (c *collected) expectTold(m *windlass.Manager, unlisted []string) {
	c.t.Helper()
	why := map[string]string{"v1/limitranges": "the test says so", "example.com/v2/things": "conversion webhook",
		"down.example.com/v1/*": "stale GroupVersion"}
	c.eventually(fmt.Sprintf("the status names %q", unlisted), func() (bool, string) {
		s := m.Status(c.t)
		i := slices.IndexFunc(s.Controllers, func(x state.ControllerStatus) bool { return x.Name == collector })
		told := s.Controllers[i].Unlisted
		done := slices.EqualFunc(told, unlisted, func(u state.Unlisted, name string) bool {
			return u.Resource == name && strings.Contains(u.Why, why[name]) && !u.Since.IsZero() &&
				slices.ContainsFunc(s.Troubles, func(x state.Trouble) bool {
					return x.Level == state.Warning && x.About == collector && strings.Contains(x.What, "goes on without "+name+", ")
				})
		})
		return done, fmt.Sprintf("%+v\n%+v", told, s.Troubles)
	})
}

// expectLetGo checks that an object is there, and has no owner.
func (c *collected) expectLetGo(r schema.GroupVersionResource, name string) {
	c.t.Helper()
	o := c.must(c.client.Resource(r).Namespace(namespace).Get(c.t.Context(), name, metav1.GetOptions{}))
	if o.GetDeletionTimestamp() != nil || len(o.GetOwnerReferences()) > 0 {
		c.t.Errorf("%s wasn't let go: %v", name, o)
	}
}
