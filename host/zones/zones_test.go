package zones

import (
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/abi"
)

func at(text string) int64 {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		panic(err)
	}
	return t.Unix()
}

const (
	always = math.MinInt64
	never  = math.MaxInt64
)

func TestFind(t *testing.T) {
	for _, x := range []struct {
		zone string
		at   int64
		want abi.ZonePeriod
	}{
		{"", 0, abi.ZonePeriod{Begin: always, End: never}},
		{"UTC", at("2016-05-19T10:00:00Z"), abi.ZonePeriod{Begin: always, End: never}},
		{"Etc/GMT+12", 0, abi.ZonePeriod{Offset: -12 * 3600, Begin: always, End: never}},
		{"Europe/Rome", at("2016-05-19T10:00:00Z"),
			abi.ZonePeriod{Offset: 7200, Begin: at("2016-03-27T01:00:00Z"), End: at("2016-10-30T01:00:00Z")}},
		{"Europe/Rome", at("2016-10-30T00:59:59Z"),
			abi.ZonePeriod{Offset: 7200, Begin: at("2016-03-27T01:00:00Z"), End: at("2016-10-30T01:00:00Z")}},
		{"Europe/Rome", at("2016-10-30T01:00:00Z"),
			abi.ZonePeriod{Offset: 3600, Begin: at("2016-10-30T01:00:00Z"), End: at("2017-03-26T01:00:00Z")}},
		// By a rule that goes on after the last change in the table.
		{"America/New_York", at("2150-07-01T00:00:00Z"),
			abi.ZonePeriod{Offset: -4 * 3600, Begin: at("2150-03-08T07:00:00Z"), End: at("2150-11-01T06:00:00Z")}},
		// Half an hour of daylight saving, and a whole day that never was.
		{"Australia/Lord_Howe", at("2024-06-01T00:00:00Z"),
			abi.ZonePeriod{Offset: 37800, Begin: at("2024-04-06T15:00:00Z"), End: at("2024-10-05T15:30:00Z")}},
		{"Pacific/Apia", at("2011-12-30T10:00:00Z"),
			abi.ZonePeriod{Offset: 14 * 3600, Begin: at("2011-12-30T10:00:00Z"), End: at("2012-03-31T14:00:00Z")}},
		// The 366th day of a year that no table has.
		{"Europe/Rome", at("2040-12-31T10:00:00Z"),
			abi.ZonePeriod{Offset: 3600, Begin: at("2040-10-28T01:00:00Z"), End: at("2041-01-01T00:00:00Z")}},
	} {
		got, err := Find(&abi.Zone{Name: x.zone, At: x.at})
		if err != nil || *got != x.want {
			t.Errorf("%s at %d: %+v, %v, want %+v", x.zone, x.at, got, err, x.want)
		}
	}
}

// Local is the zone of the process.
func TestLocal(t *testing.T) {
	rome, err := time.LoadLocation("Europe/Rome")
	if err != nil {
		t.Fatal(err)
	}
	before := time.Local
	defer func() { time.Local = before }()

	time.Local = rome
	p, err := Find(&abi.Zone{Name: abi.LocalZone, At: at("2016-05-19T10:00:00Z")})
	if err != nil || p.Offset != 7200 {
		t.Errorf("got %+v, %v", p, err)
	}
}

// What isn't a zone is told of in the words that upstream's controllers put into events.
func TestUnknown(t *testing.T) {
	for _, name := range []string{"bad timezone", "Europe/Nowhere", "../etc/passwd", "/etc/passwd", "a\\b", "Europe",
		"zone.tab", "\x00", strings.Repeat("x", 1024)} {
		_, want := time.LoadLocation(name)
		_, err := Find(&abi.Zone{Name: name})
		var own *Error
		if want == nil || err == nil || err.Error() != want.Error() || !errors.As(err, &own) ||
			own.Reason() != UnknownTimeZone {
			t.Errorf("%q: %v, want %v", name, err, want)
		}
	}
}

// inEmptyRoot has the test binary look for a zone where there is no database.
const inEmptyRoot = "WINDLASS_TEST_IN_EMPTY_ROOT"

// Where the machine has no zone database, as in our image, the built-in one is asked.
func TestWithoutDatabase(t *testing.T) {
	if os.Getenv(inEmptyRoot) != "" {
		if _, err := os.Stat("/usr"); err == nil {
			t.Fatal("this isn't an empty root")
		}
		p, err := Find(&abi.Zone{Name: "Europe/Rome", At: at("2016-05-19T10:00:00Z")})
		if err != nil || p.Offset != 7200 {
			t.Fatalf("got %+v, %v", p, err)
		}
		return
	}

	// this test once more, in a program that needs no libraries: under the race detector it does itself
	root := t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "test", "-c", "-o", filepath.Join(root, "test"), ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v:\n%s", err, out)
	}

	cmd := exec.CommandContext(t.Context(), "/test", "-test.run=^TestWithoutDatabase$")
	cmd.Dir, cmd.Env = "/", []string{inEmptyRoot + "=yes"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: root}
	if os.Geteuid() != 0 {
		cmd.SysProcAttr.Cloneflags = syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}}
	}
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "PASS") {
		t.Errorf("%v:\n%s", err, out)
	}
}

// At each moment of a period, and at none just outside, the zone has the period's offset.
func TestPeriodsAreTrue(t *testing.T) {
	names := []string{"Europe/Rome", "America/New_York", "Africa/Casablanca", "America/Sao_Paulo", "Asia/Tehran",
		"Australia/Lord_Howe", "Pacific/Apia", "Asia/Kathmandu", "Europe/Dublin", "America/Godthab", "UTC"}
	for seed := range uint64(20_000) {
		r := rand.New(rand.NewPCG(seed, 1))
		name := names[r.IntN(len(names))]
		location, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		offset := func(at int64) int {
			_, o := time.Unix(at, 0).In(location).Zone()
			return o
		}

		moment := at("1850-01-01T00:00:00Z") + r.Int64N(at("2250-01-01T00:00:00Z")-at("1850-01-01T00:00:00Z"))
		p, err := Find(&abi.Zone{Name: name, At: moment})
		if err != nil || moment < p.Begin || moment >= p.End {
			t.Fatalf("seed %d: %s at %d: %+v, %v", seed, name, moment, p, err)
		}
		inside := []int64{moment}
		if p.Begin != always {
			inside = append(inside, p.Begin)
		}
		if p.End != never {
			inside = append(inside, p.End-1)
		}
		if p.Begin != always && p.End != never {
			inside = append(inside, p.Begin+r.Int64N(p.End-p.Begin))
		}
		for _, x := range inside {
			if offset(x) != int(p.Offset) {
				t.Fatalf("seed %d: %s at %d has the offset %d, in %+v", seed, name, x, offset(x), p)
			}
		}
	}
}

// Whatever a guest asks, it is told of a period in which the moment lies, or that there is no such zone; and nothing
// that is kept of a zone is the guest's memory.
func FuzzFind_answers_whatever_a_guest_asks(f *testing.F) {
	f.Add("Europe/Rome", int64(1_464_134_400))
	f.Add("", int64(math.MinInt64))
	f.Add("Local", int64(math.MaxInt64))
	f.Add("America/New_York", int64(math.MaxInt64))
	f.Add("Asia/Tehran", int64(math.MinInt64))
	f.Add("../zoneinfo/UTC", int64(0))
	f.Add("posix/\x00UTC", int64(-1))
	f.Fuzz(func(t *testing.T, name string, at int64) {
		p, err := Find(&abi.Zone{Name: name, At: at})
		if err != nil {
			if p != nil || err.Error() == "" {
				t.Fatalf("%+v, %q", p, err)
			}
			return
		}
		if at < p.Begin || at > p.End || at == p.End && p.End != never || p.Offset <= -200_000 || p.Offset >= 200_000 {
			t.Fatalf("%q at %d: %+v", name, at, p)
		}
	})
}
