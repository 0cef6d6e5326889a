package syncer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/effects"
	"github.com/windlass-dev/windlass/host/printable"
	"github.com/windlass-dev/windlass/host/sandbox"
	"github.com/windlass-dev/windlass/host/tracing"
	"github.com/windlass-dev/windlass/host/views"
)

// Syncer syncs one key after another, with buffers of its own. It is used by one goroutine, and not copied.
type Syncer struct {
	World  views.World
	States *States // nil: keys keep nothing

	target   *Target
	turn     *Turn
	snapshot views.Snapshot
	uid      string // of the key's object
	exists   bool
	request  abi.SyncRequest
	size     int   // of the request
	unready  error // why there is no request

	began   time.Time
	session *effects.Session
	outcome Outcome
	exchange
}

// Target is what syncs run on: a controller in a version of its plugin, with its views and its rights.
type Target struct {
	Plugin string
	// Settings is the digest of the plugin's settings, which is part of each request.
	Settings string
	Manifest *abi.Controller
	Index    int32 // in the plugin's manifest
	// State says which versions understand the state that this one keeps: those with the same number.
	State  int32
	Module Module
	Plan   *views.Plan
	Writer *effects.Writer
	// Labels are those of the plugin's metrics whose values are in objects; nil: there are none.
	Labels *views.Labels
}

// Next returns after how long a key is synced again whose sync has asked for that after so long: 0 is not at all, and
// where the controller has but one key, after its period.
func (t *Target) Next(asked time.Duration) time.Duration {
	if k := t.Manifest.Key; k.Single && asked == 0 {
		return time.Duration(k.Period)
	}
	return asked
}

// Turn is one sync.
type Turn struct {
	Key     abi.KeyRef
	Now     time.Time // zero: when the snapshot has been taken, which Prepare puts here
	Attempt int32     // failures in a row before it
	// Timer is how long it is until the key's timer goes off; 0: it has none, or it has gone off.
	Timer time.Duration
	// Witnesses are told of the sync's messages.
	Witnesses []Witness
	// Metrics takes what an accepted answer counts; nil: nobody counts.
	Metrics Metrics
	// Log gets what the guest logs; nil: the module's own log does.
	Log func(level int32, text string)
	// Refuse, where set, is asked beside the checks of package effects; its error refuses all effects of the perform, or
	// of the answer.
	Refuse func([]abi.Effect) error
	// Permit, where set, is asked before effects are done, those of a perform and those of the answer. Its error ends the
	// sync, and none of them are done.
	Permit func([]abi.Effect) error
	// Accepted, where set, is called with an answer that has passed all checks, before anything of it is done.
	Accepted func(*abi.SyncResponse)
}

// Witness looks on while a key is synced. What it is given is guest memory: it copies what it keeps. A nil Witness must
// not be among a Turn's.
type Witness interface {
	// Request takes the call as the guest gets it.
	Request(b []byte)
	// Performed takes what the guest asked for in the middle of the sync and what it was told, or the error that ended
	// the sync.
	Performed(in, out []byte, err error)
	// Answered takes the guest's answer.
	Answered(b []byte)
}

// Metrics takes what syncs count for the plugin's own metrics.
type Metrics interface {
	// Answered takes what a key's accepted answer says. objects returns the values of a metric's labels that are in
	// objects ([views.Labels.Of]); not ok: this controller has nothing to say of that metric.
	Answered(key abi.KeyRef, updates []abi.MetricUpdate, objects func(metric, row int32) (values []string, ok bool))
	// Gone is called when an accepted sync has seen that the key's object is gone.
	Gone(key abi.KeyRef)
}

// The results of syncs, as metrics and recordings have them.
const (
	OK        = "ok"
	Error     = "error"     // it says so itself, or an effect failed
	Stale     = "stale"     // a store isn't current yet: the plugin wasn't called
	Deferred  = "deferred"  // the plugin's budget of deletes is used up
	Trap      = "trap"      // there is no answer
	Refused   = "refused"   // what it asked for, or the answer as a whole
	Performed = "performed" // there is no answer, and it had written before
	Panic     = "panic"     // the host's own code panicked
)

// Outcome is how a sync ended.
type Outcome struct {
	Result string
	// Err is why the sync failed, nil if it didn't. A deferred one has failed, too, but nobody is to blame.
	Err error
	// Failed is why there is no answer, or why it was refused as a whole: nothing of it was done. Else it is nil, also
	// where the host has ended the call because an ask failed, for which the plugin isn't to blame.
	Failed error
	// Answer is the plugin's, nil where there is none; it lasts until the Syncer's next sync.
	Answer *abi.SyncResponse
	// Asked is after how long an accepted answer wants the key to be synced again; 0: not at all. See [Target.Next].
	Asked time.Duration
	// Young is why a stale sync's snapshot couldn't be taken yet.
	Young *views.Young
	// Accepted says that the answer has passed all checks: what it asked for was begun.
	Accepted bool

	Writes       int           // sent, failed ones included
	ServerFailed bool          // a request failed because of the API server: see effects.Session
	Deferred     time.Duration // until the plugin's budget has deletes again
	Effects      int           // asked for, by performs and by the answer

	SnapshotBytes int // the request
	OutcomeBytes  int // what its performs were answered with
	Stats         sandbox.Stats
}

// Done reports whether the key needs no other attempt: the sync went well, or failed because its namespace is being
// deleted.
func (o *Outcome) Done() bool { return o.Err == nil || effects.NamespaceTerminating(o.Err) }

// Snapshot is that of the sync which was prepared last.
func (s *Syncer) Snapshot() *views.Snapshot { return &s.snapshot }

// Prepare takes a key's snapshot, and makes the request of it. Its error is that of [Syncer.Sync], too, for who goes
// on.
func (s *Syncer) Prepare(ctx context.Context, t *Target, turn *Turn) error {
	s.began = time.Now()
	s.target, s.turn, s.size = t, turn, 0
	_, step := tracing.Start(ctx, "snapshot")
	err := t.Plan.Snapshot(s.World, turn.Key, &s.snapshot)
	step.End()
	if err != nil {
		s.unready = fmt.Errorf("plugin %s: snapshot of %s: %w", t.Plugin, turn.Key.String(), err)
		return s.unready
	}

	s.uid, s.exists = s.snapshot.KeyObject()
	if turn.Now.IsZero() {
		turn.Now = time.Now()
	}
	r := &s.request
	*r = abi.SyncRequest{
		Controller: t.Index, Key: turn.Key, Now: turn.Now.UnixNano(), Attempt: turn.Attempt,
		Settings: t.Settings, State: s.States.stateOf(t.State, turn.Key, s.uid), Views: r.Views[:0],
		Timer: int64(turn.Timer),
	}
	s.snapshot.Request(r)

	s.unready = nil
	if s.size = abi.SizeRequest(r); s.size > abi.MessageMax {
		s.unready = fmt.Errorf("plugin %s: the snapshot of %s is %d bytes, the limit is %d: its largest view is %s; read fewer fields or select fewer objects",
			t.Plugin, turn.Key.String(), s.size, abi.MessageMax, s.snapshot.Largest())
	}
	return s.unready
}

// Sync syncs the key that was prepared.
func (s *Syncer) Sync(ctx context.Context) Outcome {
	o := &s.outcome
	*o = Outcome{Result: OK, SnapshotBytes: s.size}
	if o.Err = s.unready; o.Err == nil {
		o.Err = s.runRecovered(ctx)
	}

	s.target, s.turn = nil, nil // or a syncer that has nothing to do would hold on to a version that isn't used any more
	o.Young = youngOf(o.Err)
	switch {
	case o.Deferred > 0:
		o.Result = Deferred
	case o.Young != nil:
		o.Result = Stale
	case o.Err != nil && o.Result == OK:
		o.Result = Error
	}
	return *o
}

// youngOf returns why a snapshot couldn't be taken yet, nil if that isn't why.
func youngOf(err error) *views.Young {
	if err == nil {
		return nil
	}
	var y *views.Young
	if errors.As(err, &y) {
		return y
	}
	return nil
}

// runSession begins a session of effects, and ends it.
func (s *Syncer) runSession(ctx context.Context) error {
	t, key := s.target, s.turn.Key
	s.session = t.Writer.Begin(key, &s.snapshot)
	defer func() {
		s.outcome.Writes, s.outcome.Deferred = s.session.Writes(), s.session.Deferred()
		s.outcome.ServerFailed = s.session.ServerFailed()
		if s.isObjectGone() {
			t.Writer.Forget(key) // what it published ends with the object
		}
		s.session.End()
		s.session = nil
	}()
	return s.callGuest(ctx)
}

// isObjectGone reports whether the key's object is.
func (s *Syncer) isObjectGone() bool { return !s.exists && s.target.Plan.ObjectKeys() }

// callGuest calls the guest, checks its answer, and does what that wants.
func (s *Syncer) callGuest(ctx context.Context) error {
	o, key := &s.outcome, s.turn.Key
	if s.inSession == nil {
		s.inSession = s.performInSession
	}
	a, stats, err := s.Call(ctx, s.inSession)
	o.Stats, o.Answer, o.OutcomeBytes = stats, a, s.told
	if err != nil {
		if effects.AskFailed(err) || errors.Is(err, sandbox.ErrNotLoaded) {
			return err // it names the plugin
		}
		o.Result = Trap
		switch {
		case s.session.Writes() > 0 && s.session.Deferred() == 0:
			o.Result = Performed
		case errors.Is(err, errRefused) || effects.Refused(err):
			o.Result = Refused
		}
		o.Failed = err
		return err // it names the plugin
	}

	o.Effects += len(a.Effects)
	if err := s.checkAnswer(a, s.session.Check); err != nil {
		o.Result, o.Failed = Refused, err
		if effects.OverLimit(err) {
			o.Result = Trap // objects can bring that about: it is no refusal
		}
		return err
	}
	o.Accepted, o.Asked = true, time.Duration(a.RequeueAfter)
	s.countMetrics(a)
	if s.turn.Accepted != nil {
		s.turn.Accepted(a)
	}
	s.States.keepState(s.target.State, key, s.uid, s.isObjectGone(), a)

	err = s.permit(a.Effects)
	if err == nil {
		err = s.session.Finish(ctx, a.Effects)
	}
	if a.Error != "" {
		err = errors.Join(errors.New(printable.Line(a.Error, abi.LogMax)), err)
	}
	return err
}

// performInSession does what the guest performs.
func (s *Syncer) performInSession(ctx context.Context, _ []byte, p *abi.PerformRequest) ([]byte, error) {
	s.outcome.Effects += len(p.Effects)
	if err := s.refuse(p.Effects); err != nil {
		return nil, err
	}
	if err := s.permit(p.Effects); err != nil {
		return nil, err
	}
	ctx, step := tracing.Start(ctx, "perform")
	outcomes, err := s.session.Perform(ctx, p.Effects)
	step.End()
	if err != nil {
		return nil, err
	}
	return abi.AppendPerformed(nil, &abi.PerformResponse{Outcomes: outcomes}), nil
}

func (s *Syncer) refuse(all []abi.Effect) error {
	if s.turn.Refuse == nil {
		return nil
	}
	return s.turn.Refuse(all)
}

func (s *Syncer) permit(all []abi.Effect) error {
	if s.turn.Permit == nil {
		return nil
	}
	return s.turn.Permit(all)
}

// updatesMax bounds the updates of metrics in an answer, which the host adds up one by one.
const updatesMax = 10_000

// checkAnswer reports whether the answer may be accepted, before anything of it is; check looks at its effects.
func (s *Syncer) checkAnswer(a *abi.SyncResponse, check func([]abi.Effect) error) error {
	t, size, most := s.target, len(a.State), abi.WideStateMax
	if t.Plan.ObjectKeys() {
		most = abi.StateMax
	}
	switch {
	case len(a.Metrics) > updatesMax:
		return fmt.Errorf("plugin %s: the answer has %d updates of metrics, the limit is %d", t.Plugin, len(a.Metrics),
			updatesMax)
	case size > most:
		return fmt.Errorf("plugin %s: the answer keeps %d bytes of state, the limit is %d", t.Plugin, size, most)
	case !s.States.hasRoom(s.turn.Key, size):
		return fmt.Errorf("plugin %s: the answer keeps %d bytes of state, with which controller %s would keep more than %d: keep less, in fewer keys",
			t.Plugin, size, t.Manifest.Name, statesMax)
	case size > 0 && !t.Manifest.State:
		return fmt.Errorf("plugin %s: the answer keeps state, which controller %s doesn't declare: set State", t.Plugin,
			t.Manifest.Name)
	}
	if err := s.States.checkMemory(s.turn.Key, size); err != nil {
		return err
	}
	if err := s.refuse(a.Effects); err != nil {
		return err
	}
	return check(a.Effects) // its error names the plugin
}
