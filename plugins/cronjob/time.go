package cronjob

import (
	"strings"
	"time"

	"github.com/windlass-dev/windlass/plugins/shared/cron"
	"github.com/windlass-dev/windlass/sdk"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
)

const (
	// missedMost is how many missed starts are nothing to warn of.
	missedMost = 100
	// margin is how much later than the next time the CronJob is looked at, for clocks aren't equal.
	margin = 100 * time.Millisecond
)

// parseSchedule reads the schedule, in the zone of the spec unless its text names one by itself. Where it is in no
// zone, or in one that isn't known, it is in the process's.
func (r *run) parseSchedule() (*cron.Schedule, error) {
	spec := &r.cronJob.Spec
	text := spec.Schedule
	if spec.TimeZone != nil && !strings.Contains(text, "TZ") && r.checkZone() == nil {
		text = "TZ=" + *spec.TimeZone + " " + text
	}
	return cron.Parse(text, r.c.Zone, r.c.Now().Unix())
}

// checkZone returns an error where the spec's zone can't be read: [sdk.UnknownTimeZone] where nobody knows it.
func (r *run) checkZone() error {
	_, err := cron.Format(r.c.Now(), sdk.Deref(r.cronJob.Spec.TimeZone, ""), r.c.Zone)
	return err
}

// missed is what was due and hasn't been started.
type missed struct {
	from    metav1.Time // what was due after this
	recent  metav1.Time // the last of it; unset: nothing was
	several bool        // something was, even where recent isn't found
	tooMany bool
}

// mostRecent finds what was due last, after the last start or else the CronJob's creation; with the deadline, not
// before it. The error says that the schedule comes to nothing, as on the 31st of February.
//
// How often it was due in between is estimated by the first two times, and the search for the last one begins one of
// their distance before it (mostRecentScheduleTime in pkg/controller/cronjob/utils.go). Where nothing is due that near
// to now, as in the night of a schedule for two hours of the day, it is searched for in all of the time.
func (r *run) mostRecent(schedule *cron.Schedule, withDeadline bool) (m missed, err error) {
	cj, now := r.cronJob, r.c.Now()
	m.from = cj.CreationTimestamp
	if last := cj.Status.LastScheduleTime; last != nil {
		m.from = *last
	}
	if seconds := cj.Spec.StartingDeadlineSeconds; withDeadline && seconds != nil {
		if deadline := now.Add(-time.Second * time.Duration(*seconds)); deadline.After(m.from) {
			m.from = deadline
		}
	}

	first := schedule.Next(m.from)
	second := schedule.Next(first)
	if now.Before(first) {
		return m, nil
	}
	if now.Before(second) {
		m.recent = first
		return m, nil
	}

	distance := int64(second.Sub(first) / time.Second)
	if distance < 1 || first.IsZero() {
		return m, sdk.Errors("time difference between two schedules is less than 1 second")
	}
	times := int64(now.Sub(first)/time.Second)/distance + 1
	m.several, m.tooMany = true, times > missedMost
	for t := schedule.Next(first.Add(time.Duration((times-2)*distance) * time.Second)); !t.IsZero() && !t.After(now) &&
		schedule.Err() == nil; t = schedule.Next(t) {
		m.recent = t
	}
	if m.recent.IsZero() && schedule.Err() == nil {
		m.recent = lastDue(schedule, second, now)
	}
	return m, nil
}

// lastDue finds what was due last until now, by halving the time after something that was due, and no later than now.
func lastDue(schedule *cron.Schedule, due, now metav1.Time) metav1.Time {
	for end := now; schedule.Err() == nil; {
		half := end.Sub(due) / 2 / time.Second * time.Second
		if half <= 0 {
			break
		}
		switch next := schedule.Next(due.Add(half)); {
		case next.IsZero() || next.After(now):
			end = due.Add(half)
		default:
			due = next
		}
	}

	// Less than two seconds are left between the two.
	for next := schedule.Next(due); !next.IsZero() && !next.After(now) && schedule.Err() == nil; {
		due, next = next, schedule.Next(next)
	}
	return due
}

// untilNext is how long it takes until something is due again.
func (r *run) untilNext(schedule *cron.Schedule) time.Duration {
	now := r.c.Now()
	m, err := r.mostRecent(schedule, false)
	after := m.recent
	switch {
	case err != nil || after.IsZero() && m.several:
		after = now
	case after.IsZero():
		after = m.from
	}
	return schedule.Next(after).Add(margin).Sub(now)
}
