package manager

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/windlass-dev/windlass/config"
	"github.com/windlass-dev/windlass/host/state"
)

const head = "apiVersion: " + config.APIVersion + "\nkind: " + config.Kind + "\n"

// editedFile is a configuration's file that people edit, and what is applied of it at times that the test chooses.
type editedFile struct {
	*testing.T
	edits
	file    string
	now     time.Time
	current *config.Configuration
}

func newEditedFile(t *testing.T, text string) *editedFile {
	d := &editedFile{T: t, file: filepath.Join(t.TempDir(), "windlass.yaml"), now: time.Unix(1_800_000_000, 0)}
	d.files = []string{d.file}
	d.load = func() (*config.Configuration, error) { return config.Load(d.file) }
	d.writeInPlace(text)
	d.applied = d.sum()
	d.look(0, false)
	return d
}

// writeInPlace writes the file as a shell does, rename as somebody does who knows how.
func (d *editedFile) writeInPlace(text string) {
	d.Helper()
	if err := os.WriteFile(d.file, []byte(head+text), 0o600); err != nil {
		d.Fatal(err)
	}
	d.notice(fsnotify.Write, d.now)
}

func (d *editedFile) rename(text string) {
	d.Helper()
	if err := os.WriteFile(d.file+".new", []byte(head+text), 0o600); err != nil {
		d.Fatal(err)
	}
	if err := os.Rename(d.file+".new", d.file); err != nil {
		d.Fatal(err)
	}
	d.notice(fsnotify.Create, d.now)
}

// look lets time pass, and applies what may be.
func (d *editedFile) look(after time.Duration, asked bool) (again time.Duration, err error) {
	d.Helper()
	d.now = d.now.Add(after)
	k, again, err := d.read(d.current, d.now, asked)
	if err == nil {
		d.current = k
	}
	return again, err
}

// expect checks whose grant is applied, and how many workers.
func (d *editedFile) expect(what string, granted bool, workers int32) {
	d.Helper()
	p := d.current.Plugin("p")
	if (p.Grant != nil) != granted || d.current.Plugin("q").Workers != workers {
		d.Errorf("%s: %+v", what, d.current.Plugins)
	}
}

const (
	grantedText   = "plugins:\n- {name: q, workers: 1}\n- {name: p, grant: []}\n"
	ungrantedText = "plugins:\n- {name: q, workers: 2}\n- {name: p}\n"
	halfOfIt      = "plugins:\n- {name: q, workers: 2}\n"
	wholeOfIt     = "plugins:\n- {name: q, workers: 2}\n- {name: p, grant: []}\n"
)

// A file that is written in two halves gives a plugin no rights in between, however it is looked at.
func TestTwoHalves(t *testing.T) {
	for name, first := range map[string]string{"without the plugin": halfOfIt, "without plugins": "",
		"no YAML": "plugins: ["} {
		t.Run(name, func(t *testing.T) {
			d := newEditedFile(t, grantedText)
			d.writeInPlace(first)
			for _, after := range []time.Duration{settled, time.Second, 500 * time.Millisecond} {
				again, err := d.look(after, false)
				if d.expect("half of it", true, 1); again <= 0 || again > quiet || err != nil {
					t.Errorf("looks again after %v, %v", again, err)
				}
			}
			d.writeInPlace(wholeOfIt)
			d.look(settled, false)
			d.expect("it has just been written", true, 1)
			if again, _ := d.look(quiet, false); again != 0 {
				t.Errorf("looks again after %v", again)
			}
			d.expect("all of it", true, 2)
		})
	}
}

// What gives a plugin rights waits for a second look at the same bytes; what takes them doesn't.
func TestWidensAtASecondLook(t *testing.T) {
	d := newEditedFile(t, grantedText)
	d.rename(ungrantedText)
	again, _ := d.look(settled, false)
	d.expect("all but the rights", true, 2)
	d.look(again, false)
	d.expect("the rights", false, 2)

	d.writeInPlace(grantedText)
	again, _ = d.look(settled, false)
	d.expect("the rights alone", true, 2)
	d.look(again, false)
	d.expect("all of it", true, 1)

	d.rename(ungrantedText)
	d.look(settled, false)
	d.rename(wholeOfIt)
	for range 2 {
		d.look(quiet, false)
		d.expect("it was taken back", true, 2)
	}

	d.writeInPlace(ungrantedText)
	d.look(settled, true)
	d.expect("somebody has asked for it", false, 2)

	d.rename(grantedText)
	if again, _ := d.look(settled, false); again != 0 {
		t.Errorf("looks again after %v", again)
	}
	d.expect("it was renamed", true, 1)
}

// What is wrong with a file is told at once if it was renamed into place, and once it is quiet otherwise.
func TestABadEdit(t *testing.T) {
	d := newEditedFile(t, grantedText)
	d.rename("plugins: 7\n")
	if _, err := d.look(settled, false); err == nil {
		t.Error("a renamed file isn't refused")
	}
	d.writeInPlace("plugins: 8\n")
	again, err := d.look(settled, false)
	if err != nil {
		t.Errorf("what is being written is refused: %v", err)
	}
	if _, err := d.look(again, false); err == nil {
		t.Error("a quiet file isn't refused")
	}
	d.expect("a bad edit", true, 1)
}

// The manager follows its file, whether it is renamed into place or written there.
func TestFileIsFollowed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	file := filepath.Join(t.TempDir(), "windlass.yaml")
	w.files = []string{file}
	write := func(to, text string) {
		if err := os.WriteFile(to, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	change := func(change func(*config.Configuration)) {
		reload := w.m
		w.m = nil // it isn't asked to look
		w.configure(nil, change)
		w.m = reload
	}

	write(file, "one")
	g := greeter(t, "greeter", "hello", "")
	w.place(g)
	w.begin()
	w.made("hello")
	change(func(k *config.Configuration) {
		k.Plugins = []config.Plugin{{Name: "greeter", Workers: 2, Grant: []config.Rule{}}}
	})
	write(file, "two")
	w.eventually("it is applied", func(s *state.Status) bool {
		return s.Controllers[0].State == "Idle" && s.Controllers[0].Workers == 2
	})

	change(func(k *config.Configuration) { k.Plugins = []config.Plugin{{Name: "greeter", Workers: 3}} })
	write(file+".new", "three")
	if err := os.Rename(file+".new", file); err != nil {
		t.Fatal(err)
	}
	w.eventually("it is applied", func(s *state.Status) bool {
		return s.Controllers[0].State == "Running" && s.Controllers[0].Workers == 3
	})
	if swaps := w.m.inspector.status(t.Context()).Swaps; slices.ContainsFunc(swaps,
		func(x state.Swap) bool { return strings.Contains(x.Result, "fail") }) {
		t.Errorf("%+v", swaps)
	}
}

// While the configuration can't be read, the plugin folder is looked at all the same: what is removed there stops.
func TestFolderBesideABadConfiguration(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	gone, stays := greeter(t, "gone", "gone", ""), greeter(t, "stays", "stays", "")
	w.place(gone)
	w.place(stays)
	w.begin()
	w.running("gone-0", "stays-0")

	w.configure(errors.New("no YAML"), func(*config.Configuration) {})
	if err := os.Remove(filepath.Join(w.folder, "gone.wasm")); err != nil {
		t.Fatal(err)
	}
	w.look()
	w.running("stays-0")
	w.eventually("the configuration is rejected", func(s *state.Status) bool {
		return strings.Contains(s.Refused, "no YAML")
	})
}

// What isn't a regular file would be waited for: it is never opened again.
func TestIrregularFiles(t *testing.T) {
	d := newEditedFile(t, grantedText)
	if err := os.Remove(d.file); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(d.file, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := d.look(settled, false); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("a named pipe: %v", err)
	}
	d.rename(wholeOfIt)
	d.look(settled, false)
	d.expect("the file is back", true, 2)

	piped := newEdits([]string{os.DevNull}, func() (*config.Configuration, error) { return nil, errors.New("read again") })
	if piped.load != nil || len(piped.files) > 0 {
		t.Error("what holds something once is read again")
	}
}
