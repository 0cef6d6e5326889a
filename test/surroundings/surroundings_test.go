// Package surroundings has Windlass work where what is around it is hostile: webhooks that hang or answer nonsense, an
// etcd that is full, an API server that refuses everything or goes away. In each of them every controller does the
// work of its life script, with one worker. While it lasts other keys go on and what is wrong is told; after it
// everything is as it should be.
package surroundings

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/windlass-dev/windlass/config"
	"github.com/windlass-dev/windlass/plugins/builtin"
	"github.com/windlass-dev/windlass/test/cluster"
	"github.com/windlass-dev/windlass/test/life"
	"github.com/windlass-dev/windlass/test/metricsapi"
	"github.com/windlass-dev/windlass/test/windlass"
	"github.com/windlass-dev/windlass/test/workload"
)

func TestMain(m *testing.M) { life.Main(m) }

// Every controller does its work in each surrounding. In make test those of one sort come one after another while all
// are at work; make scale gives each a cluster of its own, and minutes.
//
// Native goes beside those that are around the API server: the others are in a proxy in front of the manager.
func TestSurroundings(t *testing.T) {
	sorts := map[string][]surrounding{
		"webhooks":   webhooks(),
		"API server": append([]surrounding{fullEtcd()}, apiServer()...),
		"objects":    {conversion(), tooLargeForEtcd(), awkwardObjects()},
	}
	for name, all := range sorts {
		if workload.Size(0, 1) == 0 {
			t.Run(name, func(t *testing.T) { endure(t, all) })
			continue
		}
		for _, s := range all {
			t.Run(s.name, func(t *testing.T) { endure(t, []surrounding{s}) })
		}
		if slices.ContainsFunc(all, func(s surrounding) bool { return s.common }) {
			t.Run(name+" beside native", func(t *testing.T) { compareTimes(t, all) })
		}
	}
}

// surrounding is one that is hostile for some time.
type surrounding struct {
	name string
	// begin begins it, and end ends it.
	begin func(t *testing.T, w *world) (end func(*testing.T))
	// late is whether it begins only when all scripts are at work.
	late bool
	// common is whether the native manager can be in it as well: it is around the API server, not between that and the
	// manager.
	common bool
	// spares is whether it leaves namespace calm alone, whose keys must go on while it lasts.
	spares bool
	// quiet is whether nobody counts how often it is met.
	quiet bool
	// stops is whether nobody can write anything, not only the manager.
	stops bool
	// told is what the status says of a key while it lasts, or a part of that; empty: nothing need be told.
	told string
	// toldLate is whether that is only after the half minute that a sync sends its writes again for.
	toldLate bool
	// unmade is the namespace in which events say that Deployments' ReplicaSets can't be made; empty: they can.
	unmade string
}

// world is a cluster with a manager in a surrounding.
type world struct {
	*testing.T
	cluster *cluster.Cluster
	stage   *life.Stage
	manager *windlass.Manager
	front   front
	hits    atomic.Int64 // how often the surrounding was met
}

// lasting is how long each surrounding lasts at least. What is refused for longer than 164 s is given up, as natively:
// the fifteenth time that a key is tried again.
func lasting() time.Duration { return time.Duration(workload.Size(6, 120)) * time.Second }

// calm is the namespace that surroundings spare; in restless there are Deployments that come while they last.
const (
	calm     = "calm"
	restless = "restless"
)

// places are for as many surroundings at a time: in each of them most only wait.
var places = make(chan struct{}, 3)

// endure plays every controller's piece of work while surroundings come and go, one after another.
func endure(t *testing.T, surroundings []surrounding) {
	t.Parallel()
	places <- struct{}{}
	defer func() { <-places }()
	lives, err := life.All("../../plugins")
	if err != nil {
		t.Fatal(err)
	}
	lives = life.Of("", lives)
	w := beginWorld(t, lives)
	defer w.expectNoneGivenUp()
	defer w.tellOfFailure()

	end := func(*testing.T) {}
	if !surroundings[0].late {
		end = surroundings[0].begin(t, w)
	}
	t.Run("work", func(t *testing.T) {
		for _, l := range lives {
			t.Run(l.Plugin, func(t *testing.T) {
				t.Parallel()
				w.stage.Play(t, &l.Work, l.Plugin+"-work")
			})
		}
		t.Run("meanwhile", func(t *testing.T) {
			t.Parallel()
			for i, s := range surroundings {
				if i > 0 || s.late {
					w.awaitWork(t, lives)
					w.hits.Store(0)
					end = s.begin(t, w)
				}
				t.Run(s.name, func(t *testing.T) { w.expectMeanwhile(t, &s, end) })
			}
		})
	})
	w.expectAfterwards()
}

// tellOfFailure logs what the manager says of its controllers and keys, if the test has failed.
func (w *world) tellOfFailure() {
	if w.Failed() {
		w.Logf("status: %s\nkeys: %s", w.manager.Get(w.T, "/windlass/v1/status"), w.manager.Get(w.T, "/windlass/v1/keys"))
	}
}

// beginWorld starts a cluster and a manager with one worker for each controller.
func beginWorld(t *testing.T, lives []*life.Life) *world {
	t.Helper()
	w := &world{T: t, cluster: cluster.Start(t, cluster.Options{Nodes: 3, Audit: true})}
	w.manager = windlass.Start(t, w.cluster, windlass.Options{Controllers: builtin.Names(), Wrap: w.front.wrap,
		Configure: func(k *config.Configuration) {
			tightenFuel(k)
			k.Plugins = append(k.Plugins, life.Configured(lives, true)...)
			for _, b := range builtin.Plugins {
				p := k.Plugin(b.Folder)
				p.Workers = 1
				setPlugin(k, p)
			}
		}})

	w.stage = life.NewStage(t, w.cluster)
	w.stage.AnswersLost = true
	w.stage.Longer = 3 * lasting() // a back-off may have grown to as long again
	patiently(w.stage)
	w.stage.RestrainKubelets(t)
	w.stage.Metrics = metricsapi.Serve(t, w.cluster.RESTConfig())
	for _, namespace := range []string{calm, restless} {
		w.stage.Namespace(t, namespace)
		windlass.Account(t, w.stage.Client, namespace)
	}
	return w
}

// awaitWork returns when all scripts have the service accounts without which none of them can do anything.
func (w *world) awaitWork(t *testing.T, lives []*life.Life) {
	for _, l := range lives {
		windlass.Account(t, w.stage.Client, l.Plugin+"-work")
	}
}

// expectMeanwhile ends a surrounding when it has lasted for long enough, was met and told of, and others have gone on.
func (w *world) expectMeanwhile(t *testing.T, s *surrounding, end func(*testing.T)) {
	defer end(t)
	begun := time.Now()
	if !s.stops {
		w.workRestlessly(t, s)
	}
	const enough = 20 // however slow the machine is
	cluster.Eventually(t, time.Minute, s.name+": it is met", func() (bool, string) {
		return s.quiet || w.hits.Load() >= enough, fmt.Sprint(w.hits.Load(), " times")
	})

	if s.spares {
		for i := 0; i < 2 || time.Since(begun) < lasting(); i++ {
			propagation := metav1.DeletePropagationBackground
			if i%2 == 1 {
				propagation = metav1.DeletePropagationForeground
			}
			w.workCalmly(t, fmt.Sprint("calm-", i), propagation)
		}
	}
	if s.told != "" && (!s.toldLate || lasting() > time.Minute) {
		cluster.Eventually(t, time.Minute, s.name+": the status tells of it", func() (bool, string) {
			said := string(w.manager.Get(t, "/windlass/v1/keys"))
			return strings.Contains(said, s.told), said
		})
	}
	if s.unmade != "" {
		cluster.Eventually(t, time.Minute, s.name+": events tell of it", func() (bool, string) {
			l, err := w.stage.Client.CoreV1().Events(s.unmade).List(t.Context(), metav1.ListOptions{
				FieldSelector: "reason=ReplicaSetCreateError,involvedObject.kind=Deployment"})
			return err == nil && len(l.Items) > 0, fmt.Sprint(err)
		})
	}
	time.Sleep(time.Until(begun.Add(lasting()))) // how long it lasts is the point
}

// workRestlessly makes Deployments that have their pods when all is over: however far the scripts are, there is work
// that meets the surrounding.
func (w *world) workRestlessly(t *testing.T, s *surrounding) {
	name := strings.ToLower(strings.NewReplacer(" ", "-", "/", "-").Replace(s.name))
	for i := range 5 {
		_, err := w.stage.Client.AppsV1().Deployments(restless).Create(t.Context(), deployment(fmt.Sprint(name, "-", i)),
			metav1.CreateOptions{})
		must(t, err)
	}
}

func deployment(name string) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: appsv1.DeploymentSpec{
		Replicas: new(int32(2)), Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "main"}}}}}}
}

// workCalmly has a Deployment come and go where nothing is hostile. It returns how long it took to get its pods, and to
// lose them.
func (w *world) workCalmly(
	t *testing.T, name string, propagation metav1.DeletionPropagation,
) (made, gone time.Duration) {
	begun := time.Now()
	deployments := w.stage.Client.AppsV1().Deployments(calm)
	if _, err := deployments.Create(t.Context(), deployment(name), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}

	pods := func() (n int, err error) {
		l, err := w.stage.Client.CoreV1().Pods(calm).List(t.Context(), metav1.ListOptions{LabelSelector: "app=" + name})
		if err != nil {
			return 0, err
		}
		return len(l.Items), nil
	}
	cluster.Poll(t, often, time.Minute, name+" has its pods meanwhile", func() (bool, string) {
		n, err := pods()
		return n == 2 && err == nil, fmt.Sprint(n, " pods, ", err)
	})
	made, begun = time.Since(begun), time.Now()

	err := deployments.Delete(t.Context(), name, metav1.DeleteOptions{PropagationPolicy: &propagation})
	if err != nil && !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
	cluster.Poll(t, often, time.Minute, name+" is gone meanwhile", func() (bool, string) {
		n, err := pods()
		return n == 0 && err == nil, fmt.Sprint(n, " pods, ", err)
	})
	return made, time.Since(begun)
}

// often is how often it is looked whether calm work is done: its times are compared.
const often = 20 * time.Millisecond

// expectAfterwards checks that all work is done in the end, and that the manager is well.
func (w *world) expectAfterwards() {
	w.Helper()
	cluster.Eventually(w.T, 3*time.Minute, "the Deployments that came meanwhile have their pods", func() (bool, string) {
		l, err := w.stage.Client.AppsV1().Deployments(restless).List(w.Context(), metav1.ListOptions{})
		if err != nil {
			return false, err.Error()
		}
		for i := range l.Items {
			if d := &l.Items[i]; d.Status.ReadyReplicas != 2 || d.Status.Replicas != 2 {
				return false, fmt.Sprintf("%s: %+v", d.Name, d.Status)
			}
		}
		return true, ""
	})
	cluster.Eventually(w.T, time.Minute, "nothing is wrong any more", func() (bool, string) {
		for _, c := range w.manager.Status(w.T).Controllers {
			if c.State != "Running" || c.Slowest != nil {
				return false, fmt.Sprintf("%s is %s: %s %+v", c.Name, c.State, c.Message, c.Slowest)
			}
		}
		return true, ""
	})
	w.expectWell(w.T)
}

// expectWell checks that no controller has stopped.
func (w *world) expectWell(t *testing.T) {
	t.Helper()
	for _, c := range w.manager.Status(t).Controllers {
		if c.State == "Quarantined" {
			t.Errorf("%s is quarantined: %s", c.Name, c.Message)
		}
	}
	if code, b := w.manager.Do(t, "GET", "/healthz"); code != 200 {
		t.Errorf("/healthz: %d\n%s", code, b)
	}
}

// setPlugin puts a plugin's entry into a configuration.
func setPlugin(k *config.Configuration, p config.Plugin) {
	for i := range k.Plugins {
		if k.Plugins[i].Name == p.Name {
			k.Plugins[i] = p
			return
		}
	}
	k.Plugins = append(k.Plugins, p)
}
