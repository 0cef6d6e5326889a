package cronjob

import (
	"hash/fnv"
	"strconv"
	"strings"
	"time"

	"github.com/windlass-dev/windlass/sdk"
	batchv1 "github.com/windlass-dev/windlass/sdk/api/batch/v1"
)

// memory is what the controller's state has of a CronJob from one sync to the next.
//
// It tells a change of nothing but the schedule from all others: that is no reason to start what the new schedule has
// missed, but waits until something is due by it. After a start of the process nothing is remembered, and what was
// missed is started, as ever.
type memory struct {
	jobs     string // a digest, with the CronJob's UID
	schedule string // with its zone
}

// remember returns what there is to keep of a CronJob.
func remember(c *sdk.Call, cj *batchv1.CronJob) memory {
	h := fnv.New64a()
	h.Write([]byte(cj.UID))
	for _, j := range jobs.List(c) {
		h.Write([]byte("\n" + string(j.UID) + " " + string(endOf(j))))
	}
	return memory{strconv.FormatUint(h.Sum64(), 36), sdk.Deref(cj.Spec.TimeZone, "") + " " + cj.Spec.Schedule}
}

// keep keeps it for the next sync, which is after a time, or where that is nil when something happens.
func (m memory) keep(c *sdk.Call, wait *time.Duration) {
	timed := "0"
	if wait != nil {
		timed = "1"
		_ = c.After(*wait)
	}
	c.SetState([]byte(timed + " " + m.jobs + " " + m.schedule))
}

// recall returns what the last sync has kept, and how long it is until the time that it has asked for, 0 where that has
// come, nil where it has asked for none.
func recall(c *sdk.Call) (m memory, left *time.Duration, ok bool) {
	timed, rest, _ := strings.Cut(string(c.State()), " ")
	m.jobs, m.schedule, ok = strings.Cut(rest, " ")
	if timed != "0" {
		until := c.Timer()
		left = &until
	}
	return m, left, ok
}

// onlyRescheduled reports whether nothing has happened but a change of the schedule. Then the CronJob waits for the
// next time by the new one, or by the old one if that is sooner: for its timer, whatever has become of the clock.
func (r *run) onlyRescheduled(now memory) bool {
	before, left, ok := recall(r.c)
	if !ok || before.jobs != now.jobs || before.schedule == now.schedule ||
		r.c.Attempt() > 0 || left != nil && *left == 0 {
		return false
	}

	schedule, err := r.parseSchedule()
	if err != nil {
		r.warn("UnParseableCronJobSchedule", "unparseable schedule for cronjob: "+r.cronJob.Spec.Schedule)
		now.keep(r.c, left)
		return true
	}

	wait := r.untilNext(schedule)
	if wait <= 0 || schedule.Err() != nil {
		return false
	}
	if left != nil {
		wait = min(wait, *left)
	}
	now.keep(r.c, &wait)
	return true
}
