// Package cron reads schedules, and finds their next times, as github.com/robfig/cron/v3 does with its standard parser,
// which upstream's CronJob controller stands on: to the letter of its errors, and across changes of a zone's offset.
package cron

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/sdk"
	"github.com/windlass-dev/windlass/sdk/decimal"
)

// Schedule is when something is due: at the minutes that its sets have, or in even steps.
type Schedule struct {
	minute, hour, day, month, weekday set
	step                              time.Duration // of @every; else 0
	zone                              *zone
}

// set has a bit for each value of a field, and wildcard where the text had one.
type set uint64

const wildcard set = 1 << 63

func (s set) has(n int) bool { return s&(1<<uint(n)) != 0 }

// field says which values a field may have, and the names of the first ones, from min on.
type field struct {
	min, max int64
	names    []string
}

var (
	minutes  = field{0, 59, nil}
	hours    = field{0, 23, nil}
	days     = field{1, 31, nil}
	months   = field{1, 12, []string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}}
	weekdays = field{0, 6, []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}}
)

// Parse reads a schedule: five fields, or a descriptor such as @hourly or "@every 90m", after TZ=zone or CRON_TZ=zone
// if it is in another zone than the process's. The time says at which moment the zone is looked for first.
func Parse(text string, zones Zones, now int64) (*Schedule, error) {
	if text == "" {
		return nil, sdk.Errors("empty spec string")
	}

	in := &zone{name: abi.LocalZone, find: zones}
	if strings.HasPrefix(text, "TZ=") || strings.HasPrefix(text, "CRON_TZ=") {
		end := strings.IndexByte(text, ' ')
		if end < 0 { // upstream recovers from a panic here, and tells of it
			return nil, sdk.Errors("invalid schedule format: runtime error: slice bounds out of range [:-1]")
		}
		in.name = text[strings.IndexByte(text, '=')+1 : end]
		if in.period(now); in.err != nil {
			return nil, sdk.Errors("provided bad location ", in.name, ": ", in.err.Error())
		}
		text = strings.TrimSpace(text[end:])
	}

	if strings.HasPrefix(text, "@") {
		return parseDescriptor(text, in)
	}

	fields := strings.Fields(text)
	if len(fields) != 5 {
		return nil, sdk.Errors("expected exactly 5 fields, found ", strconv.Itoa(len(fields)), ": [",
			strings.Join(fields, " "), "]")
	}
	return parseFields(fields, in)
}

func parseFields(fields []string, in *zone) (*Schedule, error) {
	s := &Schedule{zone: in}
	for i, x := range []struct {
		to *set
		of *field
	}{{&s.minute, &minutes}, {&s.hour, &hours}, {&s.day, &days}, {&s.month, &months}, {&s.weekday, &weekdays}} {
		var err error
		if *x.to, err = x.of.parse(fields[i]); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func parseDescriptor(text string, in *zone) (*Schedule, error) {
	fields := ""
	switch text {
	case "@yearly", "@annually":
		fields = "0 0 1 1 *"
	case "@monthly":
		fields = "0 0 1 * *"
	case "@weekly":
		fields = "0 0 * * 0"
	case "@daily", "@midnight":
		fields = "0 0 * * *"
	case "@hourly":
		fields = "0 * * * *"
	}
	if fields != "" {
		return parseFields(strings.Fields(fields), in)
	}

	step, ok := strings.CutPrefix(text, "@every ")
	if !ok {
		return nil, sdk.Errors("unrecognized descriptor: ", text)
	}
	d, err := time.ParseDuration(step)
	if err != nil {
		return nil, sdk.Errors("failed to parse duration ", text, ": ", err.Error())
	}
	d = max(d, time.Second)
	return &Schedule{step: d - d%time.Second, zone: in}, nil
}

// parse reads a field: ranges with commas between them.
func (f *field) parse(text string) (all set, err error) {
	for _, r := range strings.Split(text, ",") {
		if r == "" {
			continue
		}
		s, err := f.parseRange(r)
		if err != nil {
			return 0, err
		}
		all |= s
	}
	return all, nil
}

// parseRange reads *, ?, a value or two with a hyphen between them, and a step behind a slash. With a step a single
// value means all from there on.
func (f *field) parseRange(text string) (set, error) {
	parts := strings.Split(text, "/")
	ends := strings.Split(parts[0], "-")
	first, last, wild := f.min, f.max, wildcard

	if ends[0] != "*" && ends[0] != "?" {
		var err error
		if first, err = f.value(ends[0]); err != nil {
			return 0, err
		}
		last, wild = first, 0
		switch len(ends) {
		case 1:
		case 2:
			if last, err = f.value(ends[1]); err != nil {
				return 0, err
			}
		default:
			return 0, sdk.Errors("too many hyphens: ", text)
		}
	}

	step := int64(1)
	switch len(parts) {
	case 1:
	case 2:
		var err error
		if step, err = number(parts[1]); err != nil {
			return 0, err
		}
		if len(ends) == 1 {
			last = f.max
		}
		if step > 1 {
			wild = 0
		}
	default:
		return 0, sdk.Errors("too many slashes: ", text)
	}

	if err := f.check(first, last, step, text); err != nil {
		return 0, err
	}
	s := wild
	for n := uint64(first); n <= uint64(last); n += uint64(step) {
		s |= 1 << n
	}
	return s, nil
}

func (f *field) check(first, last, step int64, text string) error {
	n := func(n int64) string { return strconv.FormatInt(n, 10) }
	switch {
	case first < f.min:
		return sdk.Errors("beginning of range (", n(first), ") below minimum (", n(f.min), "): ", text)
	case last > f.max:
		return sdk.Errors("end of range (", n(last), ") above maximum (", n(f.max), "): ", text)
	case first > last:
		return sdk.Errors("beginning of range (", n(first), ") beyond end of range (", n(last), "): ", text)
	case step == 0:
		return sdk.Errors("step of range should be a positive number: ", text)
	}
	return nil
}

// value reads a name or a number.
func (f *field) value(text string) (int64, error) {
	lower := strings.ToLower(text)
	for i, name := range f.names {
		if name == lower {
			return f.min + int64(i), nil
		}
	}
	return number(text)
}

// number reads a number; the errors are those of strconv.Atoi where an int has 64 bits.
func number(text string) (int64, error) {
	n, ok := decimal.Parse(text)
	switch {
	case ok && n < 0:
		return 0, sdk.Errors("negative number (", strconv.FormatInt(n, 10), ") not allowed: ", text)
	case ok:
		return n, nil
	}
	return 0, sdk.Errors("failed to parse int from ", text, ": strconv.Atoi: parsing ", strconv.Quote(text), ": ",
		whyNoNumber(text))
}

// whyNoNumber says why a text isn't a number, as strconv does: it reads digits until it finds none, or more of them
// than a uint64 holds.
func whyNoNumber(text string) string {
	digits := text
	if text != "" && (text[0] == '+' || text[0] == '-') {
		digits = text[1:]
	}

	n := uint64(0)
	for i := range len(digits) {
		d := uint64(digits[i]) - '0'
		if d > 9 {
			return "invalid syntax"
		}
		if n > (math.MaxUint64-d)/10 {
			return "value out of range"
		}
		n = n*10 + d
	}
	if digits == "" {
		return "invalid syntax"
	}
	return "value out of range"
}
