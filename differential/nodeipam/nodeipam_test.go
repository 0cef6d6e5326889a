package nodeipam

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/util/workqueue"
	upstream "k8s.io/kubernetes/pkg/controller/nodeipam/ipam"

	"github.com/windlass-dev/windlass/differential"
	"github.com/windlass-dev/windlass/differential/api"
	"github.com/windlass-dev/windlass/differential/native"
	"github.com/windlass-dev/windlass/differential/world"
	"github.com/windlass-dev/windlass/plugins/nodeipam"
)

// The type of its receiver has no name outside of its package.
//
//go:linkname process k8s.io/kubernetes/pkg/controller/nodeipam/ipam.(*rangeAllocator).processNextNodeWorkItem
func process(allocator unsafe.Pointer, ctx context.Context) bool

var nodes = corev1.SchemeGroupVersion.WithResource("nodes")

// heartbeat is how often kubelets update their nodes, and with that have upstream's look at those that wait.
const heartbeat = 10 * time.Second

// cluster is what the flags say of ranges.
type cluster struct {
	ranges, services []string
	masks            []int
}

var (
	// Four nodes can have a range, and there may be five.
	small = &cluster{ranges: []string{"10.10.0.0/28"}, masks: []int{30}}
	// Nodes and Services have ranges of both families.
	both = &cluster{ranges: []string{"10.10.0.0/26", "fd00:1234::/60"}, masks: []int{30, 64},
		services: []string{"10.10.0.16/29", "fd00:1234:0:3::/112"}}
)

func TestAsUpstream(t *testing.T) {
	t.Run("small", func(t *testing.T) { differential.Run(t, subject(small)) })
	t.Run("both", func(t *testing.T) { differential.Run(t, subject(both)) })
}

// Where caches are late or writes fail, which range a node gets is a matter of when: each has some, no two the same.
func TestLate(t *testing.T) {
	for name, of := range map[string]*cluster{"small": small, "both": both} {
		t.Run(name, func(t *testing.T) {
			s := subject(of)
			s.Prompt, s.Faults = false, []string{"patch nodes"}
			const chance = "how often it is tried is a matter of when"
			s.Unmeasured = map[string]string{}
			for _, m := range nodeipam.Plugin.Metrics {
				s.Unmeasured[m.Name] = chance
			}
			s.Sum, s.SumOf = func(c *api.Cluster) ([]string, error) { return ranges(c) }, nodes
			differential.Run(t, s)
		})
	}
}

// ranges says of each node how many ranges it has, and of those that overlap that they do.
func ranges(c *api.Cluster) (lines []string, err error) {
	all, err := c.List(nodes)
	if err != nil {
		return nil, err
	}
	given := map[string]netip.Prefix{}
	for _, o := range all {
		n := o.(*corev1.Node)
		lines = append(lines, fmt.Sprintf("node %s has %d ranges", n.Name, len(n.Spec.PodCIDRs)))
		for _, text := range n.Spec.PodCIDRs {
			r := netip.MustParsePrefix(text)
			for name, other := range given {
				if other.Overlaps(r) {
					lines = append(lines, fmt.Sprintf("nodes %s and %s: %v and %v overlap", name, n.Name, other, r))
				}
			}
			given[n.Name+" "+text] = r
		}
	}
	return lines, nil
}

func TestWakesAsUpstream(t *testing.T) {
	s := subject(small)
	s.Native = func(e *native.Env) (*native.Made, error) {
		c, err := small.allocator(e)
		return &native.Made{Controller: c, Process: func(context.Context) bool { return false }, Place: place}, err
	}
	s.Key = func(string) string { return "" }
	differential.Wakes(t, s)
}

// place puts a queue of names in the place of one of anything.
func place(at unsafe.Pointer, q *native.Queue[string]) {
	*(*workqueue.TypedRateLimitingInterface[any])(at) = &queue{q}
}

// queue is a queue of anything into which names are put.
type queue struct{ *native.Queue[string] }

func (q *queue) Add(item any)                           { q.Queue.Add(item.(string)) }
func (q *queue) Get() (any, bool)                       { return q.Queue.Get() }
func (q *queue) Done(item any)                          { q.Queue.Done(item.(string)) }
func (q *queue) Forget(item any)                        { q.Queue.Forget(item.(string)) }
func (q *queue) NumRequeues(item any) int               { return q.Queue.NumRequeues(item.(string)) }
func (q *queue) AddRateLimited(item any)                { q.Queue.AddRateLimited(item.(string)) }
func (q *queue) AddAfter(item any, after time.Duration) { q.Queue.AddAfter(item.(string), after) }

// allocator makes upstream's, of a cluster without nodes.
func (x *cluster) allocator(e *native.Env) (upstream.CIDRAllocator, error) {
	p := upstream.CIDRAllocatorParams{NodeCIDRMaskSizes: x.masks}
	for _, text := range x.ranges {
		_, r, err := net.ParseCIDR(text)
		if err != nil {
			return nil, err
		}
		p.ClusterCIDRs = append(p.ClusterCIDRs, r)
	}
	for i, text := range x.services {
		_, r, err := net.ParseCIDR(text)
		if err != nil {
			return nil, err
		}
		*[]**net.IPNet{&p.ServiceCIDR, &p.SecondaryServiceCIDR}[i] = r
	}
	return upstream.NewCIDRRangeAllocator(e.Context, e.Client, e.Informers.Core().V1().Nodes(), p, nil)
}

func (x *cluster) settings() map[string]string {
	s := map[string]string{"allocate-node-cidrs": "true", "cluster-cidr": strings.Join(x.ranges, ","),
		"service-cluster-ip-range": strings.Join(x.services, ",")}
	for i, name := range []string{"node-cidr-mask-size-ipv4", "node-cidr-mask-size-ipv6"}[:len(x.masks)] {
		s[name] = fmt.Sprint(x.masks[i])
	}
	return s
}

// subject compares what both come to: ours has one key, which gives all nodes that wait their ranges in the order of
// their names. Upstream's has workers that take nodes in any order; here it is the same.
func subject(x *cluster) *differential.Subject {
	return &differential.Subject{
		Controller: "node-ipam-controller",
		Plugin:     nodeipam.Plugin,
		Settings:   x.settings(),
		Apart:      true,
		Prompt:     true,
		Native: func(e *native.Env) (*native.Made, error) {
			c, err := x.allocator(e)
			if err != nil {
				return nil, err
			}
			v := reflect.ValueOf(c)
			queue := native.Exposed(v.Elem().FieldByName("queue")).(workqueue.TypedRateLimitingInterface[any])
			listed, next := false, time.Now().Add(heartbeat)
			return &native.Made{Controller: c, End: queue.ShutDown, Work: func(ctx context.Context) bool {
				// What a lister has fails never.
				all, _ := e.Informers.Core().V1().Nodes().Lister().List(labels.Everything())
				if !time.Now().Before(next) {
					next = time.Now().Add(heartbeat)
					for _, n := range all {
						queue.Add(n.Name)
					}
				}
				if !listed { // as the constructor does with the nodes that there are
					listed = true
					for _, n := range all {
						if len(n.Spec.PodCIDRs) > 0 {
							_ = c.AllocateOrOccupyCIDR(ctx, n) // world has no node here whose ranges aren't the cluster's
						}
					}
				}
				names := inOrder(queue)
				for range names {
					process(v.UnsafePointer(), ctx)
				}
				return len(names) > 0
			}}, nil
		},
		Unmeasured: map[string]string{
			"node_ipam_controller_cidrset_usage_cidrs": "upstream's is the process's, and is set when something changes: a test of metrics in clusters shows it",
			"node_ipam_controller_cirdset_max_cidrs":   "upstream's is the process's: as above",
		},
		World: func(r *world.Rand) (all []runtime.Object) {
			for i := range r.IntN(5) {
				n := node(r, i)
				if r.One(3) {
					x.give(n, i)
				}
				all = append(all, n)
			}
			return all
		},
		Steps: 8,
		Deeds: []differential.Deed{
			differential.Appear(func(r *world.Rand) runtime.Object { return node(r, r.IntN(5)) }),
			differential.Appear(func(r *world.Rand) runtime.Object { return node(r, r.IntN(5)) }),
			differential.Vanish(nodes),
			differential.Vanish(nodes),
			differential.Delete(nodes),
			differential.Vary(nodes, "another state", func(r *world.Rand, n *corev1.Node) {
				n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady,
					Status: world.Of(r, corev1.ConditionTrue, corev1.ConditionFalse)}}
			}),
			differential.Vary(nodes, "the end", func(r *world.Rand, n *corev1.Node) { r.End(n) }),
		},
	}
}

// inOrder puts what waits in a queue in the order of names, and returns it.
func inOrder(queue workqueue.TypedRateLimitingInterface[any]) (names []string) {
	for queue.Len() > 0 {
		item, _ := queue.Get()
		names = append(names, item.(string))
		queue.Done(item)
	}
	slices.Sort(names)
	for _, name := range names {
		queue.Add(name)
	}
	return names
}

func node(r *world.Rand, i int) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("node-%d", i), UID: r.UID(),
		CreationTimestamp: r.Ago(3000)}}
	if r.One(6) {
		n.Finalizers = []string{"example.com/stay"}
	}
	return n
}

// give gives a node the block of each range that others get last.
func (x *cluster) give(n *corev1.Node, i int) {
	n.Spec.PodCIDRs = nil
	if i > 3 {
		return
	}
	n.Spec.PodCIDR = []string{"10.10.0.12/30", "10.10.0.8/30", "10.10.0.4/30", "10.10.0.0/30"}[i]
	n.Spec.PodCIDRs = []string{n.Spec.PodCIDR}
	if len(x.ranges) > 1 {
		n.Spec.PodCIDRs = append(n.Spec.PodCIDRs, fmt.Sprintf("fd00:1234:0:%x::/64", 9-i))
	}
}
