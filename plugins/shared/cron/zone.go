package cron

import (
	"math"
	"strconv"

	"github.com/windlass-dev/windlass/abi"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
)

// Zones finds the period of a zone that a moment lies in, as sdk.Call.Zone does.
type Zones = func(name string, at metav1.Time) (*abi.ZonePeriod, error)

// zone is a time zone, with those of its periods that have been asked for.
type zone struct {
	name  string
	find  Zones
	known []abi.ZonePeriod
	err   error // of the first question that failed
}

// period returns the zone's period that the moment lies in, in seconds since 1970. UTC has one, of which nobody needs
// to be asked.
func (z *zone) period(at int64) abi.ZonePeriod {
	for i := range z.known {
		if p := z.known[i]; p.Begin <= at && (at < p.End || p.End == math.MaxInt64) {
			return p
		}
	}

	all := &abi.ZonePeriod{Begin: math.MinInt64, End: math.MaxInt64}
	if z.name != "" && z.name != "UTC" && z.err == nil {
		p, err := z.find(z.name, metav1.Unix(at, 0))
		if err == nil {
			all = p
		}
		z.err = err
	}
	z.known = append(z.known, *all)
	return *all
}

// clock is a moment with what a clock and a calendar of a zone show then.
type clock struct {
	zone             *zone
	unix             int64 // seconds since 1970
	year, month, day int
	second           int // of the day
	weekday          int // from Sunday
}

const secondsOfDay = 24 * 60 * 60

func (c *clock) hour() int   { return c.second / 3600 }
func (c *clock) minute() int { return c.second / 60 % 60 }

// setUnix sets the clock to a moment.
func (c *clock) setUnix(unix int64) {
	c.unix = unix
	local := unix + int64(c.zone.period(unix).Offset)
	days := floorDivide(local, secondsOfDay)
	c.second = int(local - days*secondsOfDay)
	c.weekday = int((days%7 + 7 + 4) % 7) // 1970 began on a Thursday
	c.year, c.month, c.day = dateOf(days)
}

func (c *clock) add(seconds int64) { c.setUnix(c.unix + seconds) }

// setDate sets the clock to when it shows this date and time; a month or a day beyond the last one is one of the next
// year or month. Of two such moments, and where there is none, it takes the one that Go's time.Date takes.
func (c *clock) setDate(year, month, dayOfMonth, second int) {
	unix := (daysBefore(year+(month-1)/12, (month-1)%12+1)+int64(dayOfMonth-1))*secondsOfDay + int64(second)
	p := c.zone.period(unix)
	if utc := unix - int64(p.Offset); p.Offset != 0 && (utc < p.Begin || utc >= p.End) {
		p = c.zone.period(utc)
	}
	c.setUnix(unix - int64(p.Offset))
}

// Format returns the moment as time.RFC3339 prints it in a zone, such as 2016-05-19T12:00:00+02:00.
func Format(at metav1.Time, name string, zones Zones) (string, error) {
	c := clock{zone: &zone{name: name, find: zones}}
	c.setUnix(at.Unix())
	offset := c.zone.period(c.unix).Offset / 60
	if c.zone.err != nil {
		return "", c.zone.err
	}

	b := appendPadded(nil, c.year, 4)
	b = appendPadded(append(b, '-'), c.month, 2)
	b = appendPadded(append(b, '-'), c.day, 2)
	b = appendPadded(append(b, 'T'), c.hour(), 2)
	b = appendPadded(append(b, ':'), c.minute(), 2)
	b = appendPadded(append(b, ':'), c.second%60, 2)
	switch {
	case c.zone.period(c.unix).Offset == 0:
		return string(append(b, 'Z')), nil
	case offset < 0:
		b, offset = append(b, '-'), -offset
	default:
		b = append(b, '+')
	}
	b = appendPadded(b, int(offset/60), 2)
	return string(appendPadded(append(b, ':'), int(offset%60), 2)), nil
}

// appendPadded appends a number with zeros before it.
func appendPadded(b []byte, n, width int) []byte {
	text := strconv.Itoa(n)
	for range width - len(text) {
		b = append(b, '0')
	}
	return append(b, text...)
}

func floorDivide(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// An era is 400 years, after which the calendar repeats itself. A year of these functions begins with March, so that a
// leap day is the last one of a year.
const daysOfEra = 146097

// daysBefore returns the number of days from 1970 to the first of a month.
func daysBefore(year, month int) int64 {
	y, m := int64(year), int64(month+9)%12 // March is 0
	if month < 3 {
		y--
	}
	era := floorDivide(y, 400)
	y -= era * 400
	return era*daysOfEra + y*365 + y/4 - y/100 + (153*m+2)/5 - 719468 // those to March of the year 0
}

// dateOf returns the date so many days after 1970 began.
func dateOf(days int64) (year, month, dayOfMonth int) {
	days += 719468
	era := floorDivide(days, daysOfEra)
	d := days - era*daysOfEra
	y := (d - d/1460 + d/36524 - d/146096) / 365
	d -= y*365 + y/4 - y/100
	m := (5*d + 2) / 153

	year, month, dayOfMonth = int(y+era*400), int(m+3), int(d-(153*m+2)/5+1)
	if month > 12 {
		year, month = year+1, month-12
	}
	return year, month, dayOfMonth
}
