package simulator

import (
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/windlass-dev/windlass/host/record"
)

// isTestedWrite reports whether a write comes from a controller under test.
func (r *run) isTestedWrite() bool { return r.current != nil && r.current.slot.Tested }

// intercept does the faults.
func (r *run) intercept(w *write) error {
	if r.crashed {
		return &lostError{"the process has crashed"}
	}
	if !r.isTestedWrite() {
		return nil
	}

	n := len(r.writes) + 1
	r.busy++
	r.before = r.cluster.getObject(w.kind.Resource, w.namespace, w.name)
	quota := apierrors.NewForbidden(w.kind.groupResource(), w.name,
		errors.New("exceeded quota: simulated, requested: 1, used: 0, limited: 0"))
	switch s := r.scenario; {
	case s.Kind == NoChildren && w.verb == "create" && w.subresource == "":
		return quota
	case s.Write != n:
	case s.Kind == CrashBefore:
		r.writes = append(r.writes, w.String())
		r.crashed = true
		return &lostError{"the process crashes before it writes"}
	case s.Kind == Forbid:
		r.writes = append(r.writes, w.String())
		return quota
	case s.Kind == Conflict:
		// Somebody else changes the object just before.
		if o := r.cluster.getObject(w.kind.Resource, w.namespace, w.name); o != nil {
			changed := o.DeepCopy()
			annotate(changed, touched, "1")
			if _, err := r.cluster.replace(&write{by: others, verb: "update", kind: w.kind}, o, changed); err != nil {
				return err
			}
		}
	}
	return nil
}

// The marks that others leave on objects.
const (
	touched = "simulator.windlass.dev/touched"
	foreign = "simulator.windlass.dev/somebody-elses"
	stays   = "simulator.windlass.dev/stays"
)

func annotate(o *Object, name, value string) {
	a := o.GetAnnotations()
	if a == nil {
		a = map[string]string{}
	}
	a[name] = value
	o.SetAnnotations(a)
}

// noteWrite takes down what was written.
func (r *run) noteWrite(w *write, o *Object) error {
	if !r.isTestedWrite() {
		return nil
	}
	r.writes = append(r.writes, w.String())
	if r.step > 0 && r.step <= len(r.log) {
		r.log[r.step-1] += "; " + w.String()
	}

	if !r.inRest {
		r.changedLast = ""
	} else if r.changedLast == "" {
		r.changedLast = record.Diff(readable(r.before), readable(o))
	}

	if r.observe != nil {
		now := o
		if now == nil || w.verb == "delete" {
			now = r.cluster.getObject(w.kind.Resource, w.namespace, w.name)
		}
		r.observe(w, r.before, now)
	}

	r.overwrites(w, r.before, o)
	if w.subresource == "status" && o != nil {
		r.statused[o.GetUID()] = true
	}

	if w.verb == "create" && w.subresource == "" && o != nil {
		x := origin{step: r.step, at: r.current.String(), title: describeObject(o), resource: w.kind.Resource.String()}
		if rows := r.current.snapshot; rows != nil {
			if uid, ok := rows.KeyObject(); ok {
				x.owner = types.UID(uid)
			}
		}
		r.made[o.GetUID()] = x
	}

	if r.scenario.Kind == CrashAfter && r.scenario.Write == len(r.writes) {
		r.crashed = true
		return &lostError{"the process crashes after it has written"}
	}
	return nil
}
