package wire_test

import (
	"testing"
	"time"

	"github.com/windlass-dev/windlass/abi/wire"
)

// Our calendar is the time package's, in every day from 1 to 9999 at some time of the day.
func TestTimeFormatsAsTheTimePackage(t *testing.T) {
	day := time.Date(1, 1, 1, 0, 0, 1, 0, time.UTC)
	for i := 0; day.Year() < 10000; i++ {
		m := wire.Unix(day.Unix(), 0)
		want := day.Format(time.RFC3339)
		if got := m.String(); got != want {
			t.Fatalf("%d formats as %s, want %s", day.Unix(), got, want)
		}
		back, err := wire.Parse(want)
		if err != nil || back != m {
			t.Fatalf("%s parses as %v, %v", want, back, err)
		}
		day = day.AddDate(0, 0, 1).Add(time.Duration(i%7) * 1117 * time.Second)
	}
}

func TestParseTime(t *testing.T) {
	for _, s := range []string{
		"2024-02-29T12:00:00Z", "2023-02-29T12:00:00Z", "2024-01-01T00:00:00.123456Z", "2024-01-01T00:00:00.123456789+01:30",
		"2024-01-01T00:00:00-07:00",
		"2024-13-01T00:00:00Z", "2024-01-32T00:00:00Z", "2024-01-01T24:00:00Z", "2024-01-01T00:60:00Z",
		"2024-01-01 00:00:00Z", "2024-01-01T00:00:00", "",
		"2024-01-01T00:00:00+0100", "2024-01-01T00:00:00.Z", "0000-01-01T00:00:00Z", "1900-02-29T00:00:00Z",
		"2000-02-29T00:00:00Z",
	} {
		want, wantErr := time.Parse(time.RFC3339, s)
		got, err := wire.Parse(s)
		if (err == nil) != (wantErr == nil) ||
			err == nil && (got.Unix() != want.Unix() || got.Nanosecond() != want.Nanosecond()) {
			t.Errorf("%q: %v, %v; the time package: %v, %v", s, got, err, want, wantErr)
		}
	}
}

func TestTimeArithmetic(t *testing.T) {
	var unset wire.Time
	start := wire.Unix(0, 0)
	if !unset.IsZero() || start.IsZero() || !(*wire.Time)(nil).IsZero() {
		t.Error("1970 must differ from unset")
	}
	for _, d := range []time.Duration{0, 1, -1, time.Second, -1500 * time.Millisecond, 36 * time.Hour, -1 << 40} {
		if got := start.Add(d).Sub(start); got != d {
			t.Errorf("%v added and taken away: %v", d, got)
		}
		if got, want := start.Add(d).UnixNano(), int64(d); got != want {
			t.Errorf("UnixNano after %v: %d", d, got)
		}
		if got := start.Add(d).Compare(start); got != map[bool]int{true: 1, false: -1}[d > 0] && d != 0 {
			t.Errorf("Compare after %v: %d", d, got)
		}
	}
	if got := wire.Unix(1<<40, 0).Sub(unset); got != 1<<63-1 {
		t.Errorf("a difference beyond a Duration: %v", got)
	}
	if wire.UnixNano(1_500_000_000).Truncate() != wire.Unix(1, 0) {
		t.Error("Truncate")
	}
}
