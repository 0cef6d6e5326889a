package cronjob

import (
	"hash/fnv"
	"strconv"
	"strings"
	"time"

	"github.com/windlass-dev/windlass/sdk"
	batchv1 "github.com/windlass-dev/windlass/sdk/api/batch/v1"
	"github.com/windlass-dev/windlass/sdk/decimal"
)

// memory is what the controller's state has of a CronJob: what it looked like in the last sync, and when it is to be
// looked at again.
//
// It tells a change of nothing but the schedule from all others: that is no reason to start what the new schedule has
// missed, but waits until something is due by it. After a start of the process nothing is remembered, and what was
// missed is started, as ever.
type memory struct {
	schedule string // the CronJob's UID, zone and schedule
	jobs     string // a digest
	due      int64  // nanoseconds since 1970; 0: not before something happens
}

// remember returns what there is to keep of a CronJob.
func remember(c *sdk.Call, cj *batchv1.CronJob) memory {
	h := fnv.New64a()
	for _, j := range jobs.List(c) {
		h.Write([]byte(string(j.UID) + " " + string(endOf(j)) + "\n"))
	}
	zone := ""
	if cj.Spec.TimeZone != nil {
		zone = " " + *cj.Spec.TimeZone
	}
	return memory{schedule: string(cj.UID) + zone + "\n" + cj.Spec.Schedule, jobs: strconv.FormatUint(h.Sum64(), 36)}
}

// recall returns what the last sync has kept.
func recall(c *sdk.Call) (m memory, ok bool) {
	due, rest, _ := strings.Cut(string(c.State()), " ")
	m.jobs, m.schedule, ok = strings.Cut(rest, " ")
	m.due, _ = decimal.Parse(due)
	return m, ok
}

// keep keeps it for the next sync.
func (m memory) keep(c *sdk.Call) {
	c.SetState([]byte(strconv.FormatInt(m.due, 10) + " " + m.jobs + " " + m.schedule))
}

// wake has the CronJob looked at again after d, and keeps that.
func (m memory) wake(c *sdk.Call, d time.Duration) {
	m.due = c.Now().Add(max(d, 1)).UnixNano()
	m.keep(c)
	_ = c.After(d)
}

// onlyRescheduled reports whether nothing has happened but a change of the schedule. Then the CronJob waits for the
// next time by the new one, or by the old one if that is sooner.
func (r *run) onlyRescheduled(now memory) bool {
	c := r.c
	before, ok := recall(c)
	if !ok || before.schedule == now.schedule || before.jobs != now.jobs || c.Attempt() > 0 ||
		!sameUID(before.schedule, now.schedule) || before.due != 0 && before.due <= c.Now().UnixNano() {
		return false
	}

	schedule, err := r.parseSchedule()
	if err != nil {
		r.warn("UnParseableCronJobSchedule", "unparseable schedule for cronjob: "+r.cronJob.Spec.Schedule)
		now.due = before.due
		now.keep(c)
		if before.due != 0 {
			_ = c.After(time.Duration(before.due - c.Now().UnixNano()))
		}
		return true
	}

	d := r.untilNext(schedule)
	if d <= 0 || schedule.Err() != nil {
		return false
	}
	if before.due != 0 {
		d = min(d, time.Duration(before.due-c.Now().UnixNano()))
	}
	now.wake(c, d)
	return true
}

func sameUID(a, b string) bool {
	cut := func(s string) string { return s[:strings.IndexAny(s+"\n", " \n")] }
	return cut(a) == cut(b)
}
