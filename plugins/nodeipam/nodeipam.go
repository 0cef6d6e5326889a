// Package nodeipam gives each node a range of addresses for its pods, of one family or of both.
//
// The cluster's ranges are cut into blocks. A node that has none gets the next that is free, so that one that was given
// back isn't used again at once. What is free is found out anew each time, from all nodes there are and from the ranges
// of Services; all nodes that wait get their blocks together.
package nodeipam

import (
	"strconv"
	"time"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/abi/wire"
	"github.com/windlass-dev/windlass/sdk"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
)

// nodes is asked for in each sync that gives ranges. Nothing that kubelets tell of their nodes wakes the key.
var nodes = sdk.Select(nodeKind).Fields("metadata.deletionTimestamp", "spec.podCIDRs").Lazy().
	QuietOn(abi.QuietOwn).Batch(100 * time.Millisecond)

var (
	ofCluster = clusterCIDR.Label("clusterCIDR")

	allocations = sdk.Counter("node_ipam_controller_cidrset_cidrs_allocations_total",
		"[ALPHA] Counter measuring total number of CIDR allocations.", ofCluster)
	releases = sdk.Counter("node_ipam_controller_cidrset_cidrs_releases_total",
		"[ALPHA] Counter measuring total number of CIDR releases.", ofCluster)
	maxCIDRs = sdk.Gauge("node_ipam_controller_cirdset_max_cidrs", // as upstream has it
		"[ALPHA] Maximum number of CIDRs that can be allocated.", ofCluster)
	usage = sdk.Gauge("node_ipam_controller_cidrset_usage_cidrs",
		"[ALPHA] Gauge measuring percentage of allocated CIDRs.", ofCluster)
	tries = sdk.Histogram("node_ipam_controller_cidrset_allocation_tries_per_request",
		"[ALPHA] Number of endpoints added on each Service sync", []float64{1, 5, 25, 125, 625}, ofCluster)
)

// Plugin is the nodeipam module (pkg/controller/nodeipam).
var Plugin = &sdk.Plugin{
	Name:        "nodeipam",
	Version:     "1.0.0",
	Description: "Gives each node ranges of addresses for its pods.",
	Settings:    []*sdk.Setting{allocate, clusterCIDR, serviceCIDR, maskSize, maskSize4, maskSize6, allocatorType},
	Metrics:     []*sdk.Metric{allocations, releases, maxCIDRs, usage, tries},
	Check:       check,
	Controllers: []*sdk.Controller{{
		Name:           "node-ipam-controller",
		Alias:          "nodeipam",
		Queue:          "cidrallocator_node",
		ServiceAccount: "node-controller",
		EventSource:    "cidrAllocator",
		Reads:          sdk.Views{nodes},
		Writes:         sdk.Writes{nodeKind.Verbs("patch")},
		By:             sdk.KeyedBy{Single: true},
		State:          true,
		Sync:           sync,
	}},
}

const (
	// most is how many nodes are given ranges in one sync.
	most = 2000
	// attempts is how often a node is tried to be told its ranges at once.
	attempts = 3
)

// sync has nodes that have no ranges get some. Its state is where the search for the next one begins, and what was
// used, for the metrics. Without a state another manager may have been at work until now: then no node may be unknown
// of, for its ranges would be given to others.
func sync(c *sdk.Call) error {
	if allocate.Get(c) != "true" {
		return nil // nor are nodes asked for
	}
	pools, err := poolsOf(c.Settings())
	if err != nil {
		return err
	}
	before, known := readState(c.State(), pools)
	waiting, err := occupy(nodes.Ask(c, abi.Ask{Fresh: !known}), pools)
	for i, p := range pools {
		p.settle()
		if !known {
			before = append(before, kept{})
		}
		p.cursor = before[i].cursor
	}

	if more := len(waiting) - most; more > 0 {
		waiting = waiting[:most]
		if err == nil {
			err = c.After(1)
		}
	}
	if e := give(c, waiting, pools, before); e != nil {
		err = e
	}
	c.SetState(appendState(nil, pools))
	return err
}

// occupy takes down which blocks nodes have, and returns the nodes that wait for some. The error is of the first node
// that has what it can't have by the settings.
func occupy(all []*node, pools []*pool) (waiting []*node, err error) {
	for _, n := range all {
		if len(n.Spec.PodCIDRs) == 0 && n.DeletionTimestamp == nil {
			waiting = append(waiting, n)
		}
		for i, text := range n.Spec.PodCIDRs {
			r, ok := parseRange(text)
			own := false
			for j, p := range pools {
				if ok && p.occupy(r) && i == j {
					own = true
				}
			}
			if !own && err == nil {
				err = errorOf(n, text, "is in no range of cluster-cidr at that place: change cluster-cidr, or make the node anew")
			}
		}
	}
	return waiting, err
}

// grant is what a node is given, of each pool a block.
type grant struct {
	node   *node
	blocks []uint64
}

// give has nodes get ranges and counts what has changed. A node for which none are left is told of that, as one that
// could not be told its ranges.
func give(c *sdk.Call, waiting []*node, pools []*pool, before []kept) (err error) {
	var grants []grant
	for _, n := range waiting {
		if p := firstExhausted(pools); p != nil {
			c.Event(n, corev1.EventTypeNormal, "CIDRNotAvailable", "Node "+n.Name+" status is now: CIDRNotAvailable")
			err = sdk.Errors("nodeipam: node ", n.Name, ": no range is left of ", p.label, ", of ",
				strconv.FormatUint(p.size, 10), ": delete nodes, or run more than one cluster")
			continue
		}
		g := grant{node: n}
		for _, p := range pools {
			number, skipped := p.next()
			tries.Add(c, float64(skipped), p.label)
			g.blocks = append(g.blocks, number)
		}
		grants = append(grants, g)
	}

	failed, e := write(c, grants, pools)
	if e != nil {
		err = e
	}
	for i, p := range pools {
		common := p.used.common(before[i].used)
		allocated, released := p.used.blocks()-common, before[i].used.blocks()-common
		for j, g := range grants {
			if allocated++; failed[j] {
				released++
				continue
			}
			p.used = append(p.used, span{g.blocks[i], g.blocks[i]})
		}
		p.settle()
		p.measure(c, allocated, released)
	}
	return err
}

func (p *pool) measure(c *sdk.Call, allocated, released uint64) {
	maxCIDRs.Add(c, float64(p.size), p.label)
	usage.Add(c, float64(p.count)/float64(p.size), p.label)
	if allocated > 0 {
		allocations.Add(c, float64(allocated), p.label)
	}
	if released > 0 {
		releases.Add(c, float64(released), p.label)
	}
}

func firstExhausted(pools []*pool) *pool {
	for _, p := range pools {
		if p.exhausted() {
			return p
		}
	}
	return nil
}

// write has nodes be told their ranges, all at once, and returns which of them could not be told. The API server
// refuses to change the ranges of a node that has some, and the UID keeps them from a node that was made anew.
func write(c *sdk.Call, grants []grant, pools []*pool) (failed []bool, err error) {
	failed = make([]bool, len(grants))
	left := make([]int, len(grants))
	for i := range left {
		left[i] = i
	}
	for try := 0; try < attempts && len(left) > 0; try++ {
		var patches []sdk.Effect
		for _, i := range left {
			patches = append(patches, grants[i].patch(pools))
		}
		var outcomes []abi.Outcome
		if outcomes, err = c.DoAll(sdk.Independent(patches...)); err != nil {
			break
		}
		var again []int
		for k, i := range left {
			o := &outcomes[0].Members[k]
			if o.Code == abi.CodeOK {
				continue
			}
			again = append(again, i)
			if err == nil {
				err = &sdk.Error{Reason: o.Reason, Message: "nodeipam: node " + grants[i].node.Name + ": " + o.Message}
			}
		}
		left = again
	}

	for _, i := range left {
		failed[i] = true
		n := grants[i].node
		c.Event(n, corev1.EventTypeNormal, "CIDRAssignmentFailed", "Node "+n.Name+" status is now: CIDRAssignmentFailed")
	}
	return failed, err
}

func (g *grant) patch(pools []*pool) sdk.Effect {
	b := []byte(`{"spec":{"podCIDR":`)
	b = wire.AppendQuoted(b, pools[0].block(g.blocks[0]).String())
	for i, p := range pools {
		if i == 0 {
			b = append(b, `,"podCIDRs":[`...)
		} else {
			b = append(b, ',')
		}
		b = wire.AppendQuoted(b, p.block(g.blocks[i]).String())
	}
	e := sdk.Patch(g.node, abi.StrategicPatch, append(b, "]}}"...), sdk.Tolerate(abi.TolerateNotFound))
	e.Precondition = abi.PreconditionUID
	return e
}
