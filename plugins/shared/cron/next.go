package cron

import (
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
)

// yearsMost is how far ahead a next time is looked for.
const yearsMost = 5

// Err returns why the schedule's zone couldn't be asked for at some moment: then what Next has returned is worth
// nothing.
func (s *Schedule) Err() error { return s.zone.err }

// Next returns the first time after t at which something is due, in whole seconds. It is unset where there is none in
// five years: the 31st of February is never.
//
// It goes from field to field, the months first, each forward until it is in its set. Where one comes to its beginning
// again, the fields before it are looked at anew. Steps of a day end at midnight by the clock, those of an hour and of
// a minute are hours and minutes of time, so that a change of the offset is met as robfig/cron meets it: what is due in
// an hour that is skipped isn't, but for a day that has no midnight; what is due in one that comes twice is due twice.
func (s *Schedule) Next(t metav1.Time) metav1.Time {
	if s.step > 0 {
		return t.Truncate().Add(s.step)
	}

	c := clock{zone: s.zone}
	c.setUnix(t.Unix() + 1)
	last := c.year + yearsMost
	stepped := false // from then on the fields behind the one that is stepped are at their beginning
	for c.year <= last {
		if s.stepMonth(&c, &stepped) && s.stepDay(&c, &stepped) && s.stepHour(&c, &stepped) &&
			s.stepMinute(&c, &stepped) && stepSecond(&c, &stepped) {
			return metav1.Unix(c.unix, 0)
		}
	}
	return metav1.Time{}
}

// stepMonth moves the clock to the first month of the set; false: another year has begun. So it is with the others.
func (s *Schedule) stepMonth(c *clock, stepped *bool) bool {
	for !s.month.has(c.month) {
		if !*stepped {
			*stepped = true
			c.setDate(c.year, c.month, 1, 0)
		}
		c.setDate(c.year, c.month+1, c.day, c.second)
		if c.month == 1 {
			return false
		}
	}
	return true
}

func (s *Schedule) stepDay(c *clock, stepped *bool) bool {
	for !s.hasDay(c) {
		if !*stepped {
			*stepped = true
			c.setDate(c.year, c.month, c.day, 0)
		}
		c.setDate(c.year, c.month, c.day+1, c.second)

		// Where there is no midnight: to the hour before, or after, it.
		if h := c.hour(); h > 12 {
			c.add(int64(24-h) * 3600)
		} else if h > 0 {
			c.add(-int64(h) * 3600)
		}
		if c.day == 1 {
			return false
		}
	}
	return true
}

// hasDay reports whether something is due on the day: where both the day of the month and that of the week are
// restricted, either will do.
func (s *Schedule) hasDay(c *clock) bool {
	day, weekday := s.day.has(c.day), s.weekday.has(c.weekday)
	if (s.day|s.weekday)&wildcard != 0 {
		return day && weekday
	}
	return day || weekday
}

func (s *Schedule) stepHour(c *clock, stepped *bool) bool {
	for !s.hour.has(c.hour()) {
		if !*stepped {
			*stepped = true
			c.setDate(c.year, c.month, c.day, c.hour()*3600)
		}
		if c.add(3600); c.hour() == 0 {
			return false
		}
	}
	return true
}

func (s *Schedule) stepMinute(c *clock, stepped *bool) bool {
	for !s.minute.has(c.minute()) {
		if !*stepped {
			*stepped = true
			c.setUnix(floorDivide(c.unix, 60) * 60)
		}
		if c.add(60); c.minute() == 0 {
			return false
		}
	}
	return true
}

// stepSecond moves the clock to a whole minute, by its zone: some have had offsets with seconds.
func stepSecond(c *clock, stepped *bool) bool {
	for c.second%60 != 0 {
		*stepped = true
		if c.add(1); c.second%60 == 0 {
			return false
		}
	}
	return true
}
