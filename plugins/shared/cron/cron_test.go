package cron_test

import (
	"testing"
	"time"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/zones"
	"github.com/windlass-dev/windlass/plugins/shared/cron"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
)

func find(name string, at metav1.Time) (*abi.ZonePeriod, error) {
	return zones.Find(&abi.Zone{Name: name, At: at.Unix()})
}

// Texts that can't be read are told of in robfig/cron's words, which users see in events. That random ones are, too, is
// shown beside it (differential/cronjob).
func TestErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":                       "empty spec string",
		"* * * *":                "expected exactly 5 fields, found 4: [* * * *]",
		"0 0 0 * * *":            "expected exactly 5 fields, found 6: [0 0 0 * * *]",
		"TZ=UTC ":                "expected exactly 5 fields, found 0: []",
		"TZ=0":                   "invalid schedule format: runtime error: slice bounds out of range [:-1]",
		"TZ=Nowhere 0 * * * *":   "provided bad location Nowhere: unknown time zone Nowhere",
		"CRON_TZ=../x 0 * * * *": "provided bad location ../x: time: invalid location name",
		"@yesterday":             "unrecognized descriptor: @yesterday",
		"@every":                 "unrecognized descriptor: @every",
		"@every 1":               `failed to parse duration @every 1: time: missing unit in duration "1"`,
		"x * * * *":              `failed to parse int from x: strconv.Atoi: parsing "x": invalid syntax`,
		"-1 * * * *":             `failed to parse int from : strconv.Atoi: parsing "": invalid syntax`,
		"*/-1 * * * *":           "negative number (-1) not allowed: -1",
		"9223372036854775808 ? ? ? ?": `failed to parse int from 9223372036854775808: ` +
			`strconv.Atoi: parsing "9223372036854775808": value out of range`,
		"99999999999999999999x * * * *": `failed to parse int from 99999999999999999999x: ` +
			`strconv.Atoi: parsing "99999999999999999999x": value out of range`,
		"3000000000 * * * *": "end of range (3000000000) above maximum (59): 3000000000",
		"1-2-3 * * * *":      "too many hyphens: 1-2-3",
		"1/2/3 * * * *":      "too many slashes: 1/2/3",
		"* * 0 * *":          "beginning of range (0) below minimum (1): 0",
		"* * * * 7":          "end of range (7) above maximum (6): 7",
		"* * * dec-jan *":    "beginning of range (12) beyond end of range (1): dec-jan",
		"*/0 * * * *":        "step of range should be a positive number: */0",
	} {
		if _, err := cron.Parse(text, find, 0); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

func TestNext(t *testing.T) {
	for _, x := range []struct{ text, after, want string }{
		{"0 * * * *", "2016-05-19T10:00:00Z", "2016-05-19T11:00:00Z"},
		{"0 * * * ?", "2016-05-19T09:59:59.5Z", "2016-05-19T10:00:00Z"},
		{"*/15 * * * *", "2016-05-19T10:01:00Z", "2016-05-19T10:15:00Z"},
		{"5/20 * * * *", "2016-05-19T10:26:00Z", "2016-05-19T10:45:00Z"},
		{"30 6-16/4 * * MON-fri", "2016-05-20T14:30:00Z", "2016-05-23T06:30:00Z"},
		{"0 0 31 * *", "2016-01-31T00:00:00Z", "2016-03-31T00:00:00Z"},
		{"0 0 29 2 *", "2016-02-29T00:00:00Z", "2020-02-29T00:00:00Z"},
		{"0 0 13 * 5", "2016-05-06T00:00:00Z", "2016-05-13T00:00:00Z"}, // the 13th, and each Friday
		{"0 0 */2 * 5", "2016-05-06T00:00:00Z", "2016-05-07T00:00:00Z"},
		{"0 0 */1 * 5", "2016-05-06T00:00:00Z", "2016-05-13T00:00:00Z"}, // a wildcard restricts nothing
		{"59 23 31 2 *", "2016-05-06T00:00:00Z", ""},
		{", * * * *", "2016-05-06T00:00:00Z", ""},
		{"@hourly", "2016-05-19T10:30:00Z", "2016-05-19T11:00:00Z"},
		{"@weekly", "2016-05-19T10:30:00Z", "2016-05-22T00:00:00Z"},
		{"@yearly", "2016-05-19T10:30:00Z", "2017-01-01T00:00:00Z"},
		{"@every 1h30m10.9s", "2016-05-19T10:00:00.7Z", "2016-05-19T11:30:10Z"},
		{"@every 1ns", "2016-05-19T10:00:00Z", "2016-05-19T10:00:01Z"},
		{"0 9 * * *", "2016-05-19T10:00:00Z", "2016-05-20T09:00:00Z"},
		{"TZ=Asia/Kathmandu 0 9 * * *", "2016-05-19T10:00:00Z", "2016-05-20T03:15:00Z"},
		// An hour that is skipped, one that comes twice, and a day without a midnight.
		{"TZ=Europe/Rome 30 2 * * *", "2016-03-26T12:00:00Z", "2016-03-28T00:30:00Z"},
		{"TZ=Europe/Rome 30 2 * * *", "2016-10-29T12:00:00Z", "2016-10-30T00:30:00Z"},
		{"TZ=Europe/Rome 30 2 * * *", "2016-10-30T00:30:00Z", "2016-10-30T01:30:00Z"},
		{"CRON_TZ=America/Sao_Paulo 0 0 * * *", "2018-11-03T12:00:00Z", "2018-11-05T02:00:00Z"},
	} {
		after, err := time.Parse(time.RFC3339, x.after)
		if err != nil {
			t.Fatal(err)
		}
		text := x.text
		if text[0] != 'T' && text[0] != 'C' {
			text = "TZ=UTC " + text
		}
		s, err := cron.Parse(text, find, after.Unix())
		if err != nil {
			t.Errorf("%s: %v", x.text, err)
			continue
		}

		got := ""
		if next := s.Next(metav1.UnixNano(after.UnixNano())); !next.IsZero() {
			got = time.Unix(0, next.UnixNano()).UTC().Format(time.RFC3339Nano)
		}
		if got != x.want || s.Err() != nil {
			t.Errorf("%s after %s: %s, want %s, %v", x.text, x.after, got, x.want, s.Err())
		}
	}
}

// A schedule whose zone can't be asked for any more says so.
func TestZoneIsGone(t *testing.T) {
	asked := 0
	s, err := cron.Parse("TZ=Europe/Rome 0 0 1 * *", func(name string, at metav1.Time) (*abi.ZonePeriod, error) {
		if asked++; asked > 1 {
			name = "Europe/Nowhere"
		}
		return find(name, at)
	}, 1_464_134_400)
	if err != nil || s.Err() != nil {
		t.Fatal(err, s.Err())
	}
	if next := s.Next(metav1.Unix(1_464_134_400, 0)); next.Unix() != 1_464_732_000 || s.Err() != nil || asked != 1 {
		t.Errorf("the first of June is at %d, %v; %d questions", next.Unix(), s.Err(), asked)
	}
	s.Next(metav1.Unix(1_480_000_000, 0))
	if s.Err() == nil || s.Err().Error() != "unknown time zone Europe/Nowhere" {
		t.Errorf("the error is %v", s.Err())
	}
}
