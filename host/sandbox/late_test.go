package sandbox

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// lateGuest loads a guest whose native code is there late, with settings.
func lateGuest(t *testing.T, folder, settings string) *Module {
	t.Helper()
	m, err := Load(t.Context(), guestModule(t, guests[0]),
		Options{Name: "guest", Helpers: helpers, Code: os.DirFS(folder), Late: true, Settings: []byte(settings)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close(context.Background()) })
	return m
}

// A late module is compiled by its first call, once for all that come at the same time, and has its settings then.
func TestLate(t *testing.T) {
	folder := t.TempDir()
	if err := Compile(t.Context(), guestModule(t, guests[0]), DefaultMemoryLimit, folder); err != nil {
		t.Fatal(err)
	}
	m := lateGuest(t, folder, "settings")
	if m.compiled != nil || m.Precompiled() {
		t.Error("compiled before it is needed")
	}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if got, _, err := syncOnce(m, []byte("s")); err != nil || string(got) != "\x01\x02\x00settings" {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
	all.Wait()
	if !m.Precompiled() {
		t.Error("not run on the code that was there")
	}
	if err := m.Configure(t.Context(), []byte("others")); err != nil {
		t.Fatal(err)
	}
	if got, _, err := syncOnce(m, []byte("s")); err != nil || string(got) != "\x01\x02\x00others" {
		t.Errorf("%q, %v", got, err)
	}

	if manifest, err := lateGuest(t, folder, "").Manifest(t.Context()); err != nil ||
		string(manifest) != `{"name":"guest"}` {
		t.Errorf("manifest %q, %v", manifest, err)
	}
	first := lateGuest(t, folder, "settings")
	if err := first.Configure(t.Context(), []byte("others")); err != nil {
		t.Fatal(err)
	}
	if got, _, err := syncOnce(first, []byte("s")); err != nil || string(got) != "\x01\x02\x00others" {
		t.Errorf("configured before its first sync: %q, %v", got, err)
	}
	refused := lateGuest(t, folder, "!")
	for range 2 {
		if _, _, err := syncOnce(refused, []byte("s")); !asError(err, new(*SettingsError)) {
			t.Errorf("refused settings: %v", err)
		}
	}
	unused := lateGuest(t, folder, "")
	if err := unused.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if _, _, err := syncOnce(unused, []byte("s")); !errors.Is(err, ErrClosed) {
		t.Errorf("closed: %v", err)
	}
}

// What keeps a late module from being loaded is the error of each call until it is gone.
func TestLateTriesAgain(t *testing.T) {
	folder := t.TempDir()
	if err := Compile(t.Context(), guestModule(t, guests[0]), DefaultMemoryLimit, folder); err != nil {
		t.Fatal(err)
	}

	files, err := filepath.Glob(filepath.Join(folder, "hollow-*.wasm"))
	if err != nil || len(files) != 1 {
		t.Fatalf("left: %v, %v", files, err)
	}

	good, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}

	put := func(b []byte) {
		if err := os.WriteFile(files[0], b, 0o600); err != nil {
			t.Fatal(err)
		}
	}

	put([]byte("no module"))
	m := lateGuest(t, folder, "settings")
	for range 2 {
		if _, _, err := syncOnce(m, []byte("s")); err == nil ||
			!strings.HasPrefix(err.Error(), `plugin "guest": the module can't be loaded: compiling the rewritten module`) {
			t.Errorf("damaged: %v", err)
		}
	}

	put(good)
	if got, _, err := syncOnce(m, []byte("s")); err != nil || string(got) != "\x01\x02\x00settings" {
		t.Errorf("mended: %q, %v", got, err)
	}
}

// resting reports whether a module rests, and fails if it keeps instances when it does.
func resting(t *testing.T, m *Module) bool {
	t.Helper()
	m.presence.mu.Lock()
	defer m.presence.mu.Unlock()
	away := m.presence.away.Load()
	if idle, active := m.Instances(); away && (idle != 0 || active != 0) {
		t.Errorf("resting with %d idle instances and %d calls", idle, active)
	}
	return away
}

// A module that nobody calls lets go of what it holds, and has the same settings when the next call comes; not so one
// that is in a call.
func TestRests(t *testing.T) {
	folder := t.TempDir()
	if err := Compile(t.Context(), guestModule(t, guests[0]), DefaultMemoryLimit, folder); err != nil {
		t.Fatal(err)
	}

	for name, late := range map[string]bool{"loaded late": true, "loaded at once": false} {
		t.Run(name, func(t *testing.T) {
			moved := make(chan bool, 100)
			m, err := Load(t.Context(), guestModule(t, guests[0]), Options{Name: "guest", Helpers: helpers,
				Code: os.DirFS(folder), Late: late, Settings: []byte("first"), Rest: time.Millisecond,
				Moved: func(loaded bool, _ time.Duration) { moved <- loaded }})
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close(context.Background())
			if err := m.Configure(t.Context(), []byte("settings")); err != nil {
				t.Fatal(err)
			}
			for range 3 {
				for !resting(t, m) {
					<-moved // it may be of a rest that Configure has ended
				}
				if got, _, err := syncOnce(m, []byte("s")); err != nil || string(got) != "\x01\x02\x00settings" {
					t.Errorf("after a rest: %q, %v", got, err)
				}
			}
		})
	}

	t.Run("in a call", func(t *testing.T) {
		m := lateGuest(t, folder, "settings")
		m.options.Rest = time.Nanosecond
		if err := m.use(t.Context(), func() error {
			if m.rest(); m.presence.away.Load() {
				t.Error("let go of while it is in use")
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if m.rest(); !m.presence.away.Load() || m.compiled != nil || m.baseline.Load() != nil {
			t.Error("still loaded")
		}
	})

	t.Run("calls at the same time", func(t *testing.T) {
		m := lateGuest(t, folder, "settings")
		m.options.Rest = time.Nanosecond
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				for range 20 {
					if got, _, err := syncOnce(m, []byte("s")); err != nil || string(got) != "\x01\x02\x00settings" {
						t.Errorf("%q, %v", got, err)
					}
				}
			})
		}
		for range 50 {
			m.rest()
		}
		all.Wait()
	})
}

// What the child has compiled is let go of, too, and its code is at hand for the next call: no child compiles it again.
func TestCompiledInTheChildRests(t *testing.T) {
	m, err := Load(t.Context(), guestModule(t, guests[0]), Options{Name: "guest", Helpers: helpers, Untrusted: true,
		Rest: time.Nanosecond})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close(context.Background())
	if err := m.Configure(t.Context(), []byte("settings")); err != nil {
		t.Fatal(err)
	}
	oneChild.Lock() // another one would wait for that
	defer oneChild.Unlock()
	for range 3 {
		for m.rest(); !resting(t, m); m.rest() {
		}
		if got, _, err := syncOnce(m, []byte("s")); err != nil || string(got) != "\x01\x02\x00settings" {
			t.Errorf("after a rest: %q, %v", got, err)
		}
		if !m.Precompiled() {
			t.Error("compiled here")
		}
	}
}

// A use that panics, in loading the module, in its guest's call or in what reads the answer, holds nothing up: the next
// use finds its place, and Close ends.
func TestPanicsGiveThePlaceBack(t *testing.T) {
	folder := t.TempDir()
	if err := Compile(t.Context(), guestModule(t, guests[0]), DefaultMemoryLimit, folder); err != nil {
		t.Fatal(err)
	}
	m := lateGuest(t, folder, "settings")
	panics := func(what string, do func()) {
		t.Helper()
		defer func() {
			if recover() == nil {
				t.Errorf("%s: no panic", what)
			}
			if _, active := m.Instances(); active != 0 {
				t.Errorf("%s: %d uses go on", what, active)
			}
		}()
		do()
	}

	load := m.presence.load
	m.presence.load = func(context.Context) error { panic("loading") }
	panics("loading", func() { _, _, _ = syncOnce(m, []byte("s")) })
	panics("configuring", func() { _ = m.Configure(t.Context(), []byte("settings")) })
	panics("asking for the manifest", func() { _, _ = m.Manifest(t.Context()) })

	m.presence.load = load
	write := func(b []byte) { copy(b, "s") }
	panics("writing the message", func() {
		call := &Call{Size: 1, Write: func([]byte) { panic("writing") }}
		_, _ = m.Sync(t.Context(), call, func([]byte) error { return nil })
	})
	panics("reading the answer", func() {
		_, _ = m.Sync(t.Context(), &Call{Size: 1, Write: write}, func([]byte) error { panic("reading") })
	})

	if got, _, err := syncOnce(m, []byte("s")); err != nil || string(got) != "\x01\x02\x00settings" {
		t.Errorf("after the panics: %q, %v", got, err)
	}
	if err := m.Close(t.Context()); err != nil {
		t.Error(err)
	}
}
