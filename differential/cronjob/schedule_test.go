package cronjob

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/kubernetes/pkg/util/parsers"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/differential/world"
	"github.com/windlass-dev/windlass/host/zones"
	"github.com/windlass-dev/windlass/plugins/shared/cron"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
)

// here is the zone of the process in this package's tests, which has what can go wrong with a zone.
const here = "America/New_York"

func init() {
	location, err := time.LoadLocation(here)
	if err != nil {
		panic(err)
	}
	time.Local = location
}

// TestSchedules holds package cron against robfig/cron, as upstream's controller calls it: on 20,000 random schedules
// from random moments, or on as many as SCHEDULES says.
func TestSchedules(t *testing.T) {
	t.Parallel()
	schedules := 20_000
	if text := os.Getenv("SCHEDULES"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatalf("SCHEDULES is %q: it must be a whole number", text)
		}
		schedules = n
	}

	database := &database{}
	refused, never, near := 0, 0, 0
	for seed := range schedules {
		r := world.NewRand(uint64(seed))
		text, at := scheduleText(r), moment(r)
		want, wantErr := parsers.ParseCronScheduleWithPanicRecovery(text)
		got, err := cron.Parse(text, database.find, at.Unix())
		if fmt.Sprint(err) != fmt.Sprint(wantErr) {
			t.Fatalf("schedule %d, %q: the error is\n%v\nwant\n%v", seed, text, err, wantErr)
		}
		if err != nil {
			refused++
			continue
		}

		for range 4 {
			next, ours := want.Next(at), got.Next(metav1.Unix(at.Unix(), int64(at.Nanosecond())))
			if got.Err() != nil || next.IsZero() != ours.IsZero() ||
				!next.IsZero() && (next.Unix() != ours.Unix() || next.Nanosecond() != ours.Nanosecond()) {
				t.Fatalf("schedule %d, %q after %v: the next time is %v, want %v, %v", seed, text, at,
					time.Unix(ours.Unix(), 0), next, got.Err())
			}
			if next.IsZero() {
				never++
				break
			}
			_, before := at.In(next.Location()).Zone()
			if _, after := next.Zone(); after != before {
				near++
			}
			at = next
		}
	}

	t.Logf("%d schedules: %d can't be read, %d never come, %d steps over a change of the local zone's offset", schedules,
		refused, never, near)
	if refused < schedules/10 || refused > schedules/2 || never < schedules/200 || near < schedules/100 {
		t.Errorf("of %d schedules %d can't be read, %d never come, %d steps were over a change of the offset: too few, or "+
			"too many", schedules, refused, never, near)
	}
}

// database answers what was asked before without looking into the machine's files again.
type database struct{ known map[string][]abi.ZonePeriod }

func (d *database) find(name string, at metav1.Time) (*abi.ZonePeriod, error) {
	for _, p := range d.known[name] {
		if p.Begin <= at.Unix() && (at.Unix() < p.End || p.End == math.MaxInt64) {
			return &p, nil
		}
	}
	p, err := zones.Find(&abi.Zone{Name: name, At: at.Unix()})
	if err == nil {
		if d.known == nil {
			d.known = map[string][]abi.ZonePeriod{}
		}
		d.known[name] = append(d.known[name], *p)
	}
	return p, err
}

// zoneNames are zones with offsets of all kinds: by the half hour, across the date line, twice a year, not at all, with
// no midnight on some days, and with daylight saving in winter.
var zoneNames = []string{here, here, "Europe/Rome", "America/Sao_Paulo", "Asia/Kathmandu", "Australia/Lord_Howe",
	"Pacific/Apia", "Africa/Casablanca", "Asia/Beirut", "Europe/Dublin", "America/Godthab", "UTC", "Etc/GMT+12", "Local",
	"Asia/Tehran"}

// moment is a time from 1900 to 2150, half of them within days of a change of an offset.
func moment(r *world.Rand) time.Time {
	begin := time.Date(1970, 1, 1, 0, 0, 0, 0, time.UTC)
	if r.One(10) {
		begin = time.Date(1900, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	t := begin.Add(time.Duration(r.IntN(180*365*24)) * time.Hour)
	if r.One(2) {
		location, err := time.LoadLocation(world.Of(r, zoneNames...))
		if err != nil {
			panic(err)
		}
		if _, end := t.In(location).ZoneBounds(); !end.IsZero() {
			t = end.Add(time.Duration(r.IntN(4*24*60)-3*24*60) * time.Minute)
		}
	}
	t = t.Add(time.Duration(r.IntN(3600)) * time.Second)
	if r.One(3) {
		t = t.Add(time.Duration(r.IntN(1_000_000_000)))
	}
	return t.Local()
}

// scheduleText is a schedule that somebody might write, some of them with a mistake.
func scheduleText(r *world.Rand) string {
	var text string
	switch {
	case r.One(8):
		text = world.Of(r, "@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly", "@reboot",
			"@every 1h", "@every 90s", "@every 1.5s", "@every 0s", "@every -1h", "@every 300h", "@every 2562047h",
			"@every 9999999h", "@every 1d", "@every ", "@every", "@Hourly", "@hourly ", "@")
	case r.One(40):
		text = world.Of(r, "0 0 30 2 *", "59 23 31 2,4,6,9,11 *", "0 , * * *", "* * * , *", "0 0 29 2 *", "0 0 29 2 1")
	default:
		text = strings.Join([]string{fieldText(r, 0, 59, nil), fieldText(r, 0, 23, nil), fieldText(r, 1, 31, nil),
			fieldText(r, 1, 12, monthNames), fieldText(r, 0, 6, dayNames)}, world.Of(r, " ", " ", " ", "  ", "\t", " \u00a0"))
	}

	if r.One(3) {
		text = world.Of(r, "TZ=", "TZ=", "CRON_TZ=") + world.Of(r, append(slices.Clone(zoneNames), "", "Nowhere", "../x",
			"\x00", "Europe", "local", "utc")...) + world.Of(r, " ", " ", " ", "  ", "") + text
	}
	for r.One(8) {
		text = spoil(r, text)
	}
	return text
}

var (
	monthNames = []string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}
	dayNames   = []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}
)

// fieldText is a field of ranges, now and then with a value that is out of them.
func fieldText(r *world.Rand, first, last int, names []string) string {
	value := func() string {
		if len(names) > 0 && r.One(3) {
			name := world.Of(r, names...)
			return world.Of(r, name, strings.ToUpper(name), strings.ToUpper(name[:1])+name[1:])
		}
		if r.One(60) {
			return world.Of(r, "-1", "60", "100", "+5", "007", "3000000000", "99999999999999999999", "1_0", "x", "")
		}
		return strconv.Itoa(first + r.IntN(last-first+1))
	}

	var ranges []string
	for range 1 + r.IntN(2)*r.IntN(3) {
		text := value()
		switch {
		case r.One(2):
			text = world.Of(r, "*", "*", "*", "?")
		case r.One(3):
			a, b := first+r.IntN(last-first+1), first+r.IntN(last-first+1)
			text = fmt.Sprintf("%d-%d", min(a, b), max(a, b))
			if r.One(20) {
				text = value() + "-" + value()
			}
		}
		if r.One(4) {
			text += "/" + strconv.Itoa(r.IntN(8)+1)
			if r.One(30) {
				text += world.Of(r, "0", "/2", "x", "9223372036854775807")
			}
		}
		ranges = append(ranges, text)
	}
	return strings.Join(ranges, ",")
}

// spoil takes a character out, puts one in, or doubles one.
func spoil(r *world.Rand, text string) string {
	runes := []rune(text)
	at := r.IntN(len(runes) + 1)
	switch {
	case at == len(runes) || r.One(3):
		return string(runes[:at]) + world.Of(r, " ", "*", ",", "-", "/", "0", "5", "TZ", "@", "?", "L", "\u0130", "é",
			"\xff", "\n", "=", "\u2028", "\x7f") + string(runes[at:])
	case r.One(2):
		return string(runes[:at]) + string(runes[at+1:])
	}
	return string(runes[:at+1]) + string(runes[at:])
}
