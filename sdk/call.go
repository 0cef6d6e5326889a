package sdk

import (
	"time"

	"github.com/windlass-dev/windlass/abi"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
	"github.com/windlass-dev/windlass/sdk/resource"
)

// Call is one sync: the key, the snapshot, the settings, the state and the time in; the effects out.
type Call struct {
	request    *abi.SyncRequest
	settings   *Settings
	perform    func(*abi.PerformRequest) (*abi.PerformResponse, error)
	performs   int32 // so far
	controller *Controller
	decoded    []any // per view, a slice of its objects
	answer     abi.SyncResponse
	room       *[]byte // for the objects of effects that are performed, one call after the other; nil: each has its own
	err        error   // of a view that couldn't be read: the sync fails whatever it answers
}

// Name is the name of the key's object, or the group's value.
func (c *Call) Name() string { return c.request.Key.Name }

// Namespace is the namespace of the key's object.
func (c *Call) Namespace() string { return c.request.Key.Namespace }

// Now is the time of the call.
func (c *Call) Now() metav1.Time { return metav1.UnixNano(c.request.Now) }

// Attempt is how often the key has failed in a row before this call.
func (c *Call) Attempt() int { return int(c.request.Attempt) }

// State is what the key's last accepted sync kept.
func (c *Call) State() []byte { return c.request.State }

// Timer is how long it is until the time that an earlier sync of the key has asked for with [Call.After], 0 where none
// has, or where that time has come. It doesn't follow [Call.Now] where the clock is put on or back.
func (c *Call) Timer() time.Duration { return time.Duration(c.request.Timer) }

// SetState keeps b for the key's next syncs (see [Controller.State]); nil removes it. It has at most abi.StateMax bytes,
// or abi.WideStateMax where a key isn't an object.
func (c *Call) SetState(b []byte) { c.answer.State, c.answer.KeepState = b, false }

// After has the key synced again after d, whatever happens before. The earliest wish of a sync counts. It returns nil,
// to be returned.
//
// Ask for as long as it takes until there is something to do: a key whose syncs write nothing and ask for less than 100
// ms, again and again, is slowed down (docs/abi.md, requeue_after).
func (c *Call) After(d time.Duration) error {
	if d < time.Nanosecond {
		d = time.Nanosecond
	}
	if c.answer.RequeueAfter == 0 || int64(d) < c.answer.RequeueAfter {
		c.answer.RequeueAfter = int64(d)
	}
	return nil
}

// Add puts effects into the answer: the host does them in order after the sync, stops at the first that fails, and
// tries the key again.
func (c *Call) Add(effects ...Effect) {
	for i := range effects {
		c.answer.Effects = append(c.answer.Effects, effects[i].encode(nil))
	}
}

// Do performs one effect now. On success the effect's object is what the API server answered.
func (c *Call) Do(e Effect) error {
	_, err := c.DoAll(e)
	return err
}

// Moment is now, for [Metric.Since].
func (c *Call) Moment() Moment { return Moment(c.performs + 1) }

// DoAll performs effects now, in order, up to the first failure, which it returns. There is an outcome for each.
func (c *Call) DoAll(effects ...Effect) ([]abi.Outcome, error) {
	r := abi.PerformRequest{Effects: make([]abi.Effect, len(effects))}
	for i := range effects {
		r.Effects[i] = effects[i].encode(c.room)
	}
	c.performs++
	a, err := c.perform(&r)
	if c.room != nil {
		*c.room = (*c.room)[:0] // the host has read it
	}
	if err != nil {
		c.recordError(err)
		return make([]abi.Outcome, len(effects)), err
	}
	if len(a.Outcomes) != len(effects) {
		err := errorString("perform: the host gave another number of outcomes than there were effects")
		c.recordError(err)
		return make([]abi.Outcome, len(effects)), err
	}
	var first error
	for i := range effects {
		if err := effects[i].applyOutcome(&a.Outcomes[i]); err != nil && first == nil {
			first = err
		}
	}
	return a.Outcomes, first
}

// Get reads an object live, past the cache.
func Get[T any, P resource.Pointer[T]](c *Call, r resource.Of[T], namespace, name string) (P, error) {
	o := P(new(T))
	m := o.GetObjectMeta()
	m.Namespace, m.Name = namespace, name
	if err := c.Do(Live(o)); err != nil {
		return nil, err
	}
	return o, nil
}

// Create adds the creation of an object; it returns nil, to be returned.
func (c *Call) Create(o Object) error { c.Add(Create(o)); return nil }

// Update adds the update of an object by what differs from the one that the view gave; it returns nil, to be returned.
func (c *Call) Update(o Object) error { c.Add(Update(o)); return nil }

// UpdateStatus adds the update of an object's status; it returns nil, to be returned.
func (c *Call) UpdateStatus(o Object) error { c.Add(UpdateStatus(o)); return nil }

// Delete adds the deletion of an object; it returns nil, to be returned.
func (c *Call) Delete(o Object, options ...Option) error { c.Add(Delete(o, options...)); return nil }

// Event adds an event about an object.
func (c *Call) Event(o Object, eventType, reason, message string) {
	c.Add(Event(o, eventType, reason, message))
}

// viewIndex returns a view's place in the request. That of a view which the controller doesn't declare is -1, and the
// sync fails.
func (c *Call) viewIndex(s *viewSpec) int {
	i := c.controller.Reads.index(s)
	if i < 0 {
		c.recordError(Errors("controller ", c.controller.Name, ": view ", s.view.Name, " isn't in Reads: add it there"))
	}
	return i
}

// viewData returns what the request has of a view.
func (c *Call) viewData(s *viewSpec) *abi.ViewData {
	if i := c.viewIndex(s); i >= 0 {
		return &c.request.Views[i]
	}
	return &abi.ViewData{}
}

func (c *Call) performAsk(a *abi.Ask) *abi.ViewData {
	out, err := c.DoAll(Effect{Effect: &abi.Effect{Kind: abi.EffectView, Ask: a}})
	if err != nil {
		c.recordError(err)
		return &abi.ViewData{}
	}
	if out[0].View == nil {
		return &abi.ViewData{}
	}
	return out[0].View
}

func (c *Call) recordError(err error) {
	if c.err == nil {
		c.err = err
	}
}

// Run runs a controller's sync natively, for tests and twins in benchmarks.
func Run(p *Plugin, r *abi.SyncRequest, s *Settings,
	perform func(*abi.PerformRequest) (*abi.PerformResponse, error)) *abi.SyncResponse {
	return run(p, r, s, perform, nil)
}

func run(p *Plugin, r *abi.SyncRequest, s *Settings,
	perform func(*abi.PerformRequest) (*abi.PerformResponse, error), room *[]byte) *abi.SyncResponse {
	k := p.Controllers[r.Controller]
	c := &Call{request: r, settings: s, perform: perform, controller: k, decoded: make([]any, len(k.Reads)), room: room}
	c.answer.KeepState = true
	err := k.Sync(c)
	if c.err != nil {
		err = c.err
	}
	if err != nil {
		c.answer.Error = err.Error()
		if c.answer.Error == "" {
			c.answer.Error = "failed"
		}
	}
	return &c.answer
}
