package manager

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/fsnotify/fsnotify"
	"k8s.io/klog/v2"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/config"
	"github.com/windlass-dev/windlass/host/controller"
	"github.com/windlass-dev/windlass/host/plugins"
	"github.com/windlass-dev/windlass/host/process"
	"github.com/windlass-dev/windlass/host/signing/keyring"
)

// lookAgain is how often the configuration and the plugins are compared with what runs, whether or not a file's change
// was noticed: a file system may not tell of all, and settings may be files anywhere. What is compared is their
// content.
const lookAgain = 10 * time.Second

// settled is for how long nothing must change before files are read, for copying takes a moment; if changes don't
// cease, they are read after lookAgain.
const settled = 200 * time.Millisecond

// watchChanges applies what changes while the manager runs, until ctx ends.
func (m *manager) watchChanges(ctx context.Context) {
	watcher, err := m.newWatcher()
	var changes <-chan fsnotify.Event
	if err != nil {
		klog.ErrorS(err, "Files can't be watched: polling them instead", "period", lookAgain)
	} else {
		defer watcher.Close()
		changes = watcher.Events
	}

	follow := func() {
		if watcher == nil {
			return
		}
		folder := m.applied.Load().config.PluginFolder
		// Folders, not files: an editor and a mounted ConfigMap replace a file by another one.
		folders := []string{folder}
		for _, f := range m.options.Files {
			folders = append(folders, filepath.Dir(f))
		}
		for _, f := range folders {
			if f != "" && !slices.Contains(watcher.WatchList(), f) {
				_ = watcher.Add(f) // what can't be watched is looked at
			}
		}
	}

	follow()
	edits := newEdits(m.options.Files, m.options.Load)
	timer := time.NewTimer(lookAgain)
	defer timer.Stop()
	for {
		var latest time.Time // when what has changed is read at the latest; zero: nothing has
		asked := false
		for waiting := true; waiting; {
			select {
			case <-ctx.Done():
				return
			case e := <-changes:
				if edits.isFile(e.Name) {
					edits.notice(e.Op, time.Now())
				}
				if edits.isFile(e.Name) || m.isModule(e.Name) {
					if latest.IsZero() {
						latest = time.Now().Add(lookAgain)
					}
					timer.Reset(min(settled, time.Until(latest)))
				}
				continue
			case <-m.options.Reload:
				klog.InfoS("Reloading the configuration")
				m.chooser.retry()
				asked = true
			case <-m.again:
			case <-m.chooser.source.Changed():
			case <-m.chooser.shadows.Changed():
			case <-timer.C:
			}
			waiting = false
		}
		again := m.reload(ctx, edits, asked)
		follow()
		timer.Reset(cmp.Or(again, lookAgain))
	}
}

// lookSoon has the configuration be compared with what runs once more: something has come of it.
func (m *manager) lookSoon() {
	select {
	case m.again <- struct{}{}:
	default:
	}
}

// isModule reports whether a file is one of the plugin folder's modules.
func (m *manager) isModule(name string) bool {
	folder := m.applied.Load().config.PluginFolder
	return folder != "" && filepath.Dir(name) == filepath.Clean(folder) && filepath.Ext(name) == ".wasm"
}

// reload makes what runs what the configuration and the sources say, as far as that is certain: after again, if it
// isn't 0, the configuration is to be looked at once more. After an error what runs goes on running.
func (m *manager) reload(ctx context.Context, e *edits, asked bool) (again time.Duration) {
	k := m.applied.Load().config
	var rejected error // the sources are looked at all the same
	if e.load != nil {
		next, wait, err := e.read(k, time.Now(), asked)
		if err != nil {
			rejected = fmt.Errorf("configuration rejected, keeping the running one: %w", err)
		} else {
			k, again = next, wait
		}
	}
	err := errors.Join(rejected, m.applyConfiguration(ctx, k), m.keyring.Refresh())
	if err != nil || again == 0 { // before it is applied as a whole nothing is well
		m.refusal.note(err)
	}
	return again
}

// configureKeys reads the keys that are signed with, if there are any. No core file is to have these, or the bootstrap
// tokens that are signed with. more is whether there is a key for what there was none for.
func (m *manager) configureKeys(k *config.Configuration) (more bool, err error) {
	if k.SignsInfo() || k.Signing != (config.Signing{Duration: k.Signing.Duration}) {
		if err := process.KeepOutOfCores(); err != nil {
			klog.ErrorS(err, "A core file of this process would hold the keys that it signs with: allow it none (ulimit -c 0)")
		}
	}
	before := m.keyring.Keys()
	if err := m.keyring.Configure(k); err != nil {
		return false, err
	}
	return slices.ContainsFunc(m.keyring.Keys(), func(now keyring.Key) bool {
		return !slices.ContainsFunc(before, func(was keyring.Key) bool { return was.Signs == now.Signs })
	}), nil
}

// signs reports whether a plugin asks for signatures.
func (h *hosted) signs() bool {
	return slices.ContainsFunc(h.present.Manifest.Controllers, func(c abi.Controller) bool {
		return slices.ContainsFunc(c.Writes, func(w abi.Write) bool { return slices.Contains(w.Verbs, "sign") })
	})
}

// applyConfiguration adds, replaces and removes plugins and controllers.
func (m *manager) applyConfiguration(ctx context.Context, k *config.Configuration) error {
	m.changing.Lock()
	defer m.changing.Unlock()
	if m.closed || ctx.Err() != nil {
		return nil
	}

	chosen, err := m.chooser.choose(ctx, k, m.roster.found())
	if err != nil {
		return err
	}

	var errs []error
	if k, chosen, errs = m.keepFit(k, chosen); len(errs) > 0 && !m.begun {
		return errors.Join(errs...) // or a cold standby would end when it begins
	}

	if err := m.recordings.configure(&k.Recordings); err != nil {
		return err
	}
	signsMore, err := m.configureKeys(k)
	if err != nil {
		return err
	}
	if err := m.tracer.Configure(&k.Tracing); err != nil {
		return err
	}

	tellRestart(m.started, m.applied.Load().config, k)
	process.FollowLog(&m.applied.Load().config.Logging, &k.Logging)
	now := &applied{k, controllerList(k, chosen), pluginsOf(chosen)}
	m.applied.Store(now)
	m.memory.Set(k.Sandbox.TotalMemory.Value())
	errs = append(errs, m.inspector.serveAs(k))
	if !m.begun {
		return errors.Join(errs...) // a cold standby takes it when it begins
	}

	var names []string
	var known []*choice
	for _, c := range chosen {
		names = append(names, c.Name)
		if err := m.loader.identify(k, c); err != nil {
			errs = append(errs, err)
			continue
		}
		known = append(known, c)
	}

	changed := m.takeAway(ctx, now, chosen)
	for _, c := range known {
		h := m.roster.named(c.Name)
		if h == nil {
			if m.coming.add(c, time.Now()) {
				m.bring(k, c)
			}
			continue
		}
		done, err := h.reconcile(ctx, k, c)
		changed = changed || done
		errs = append(errs, err)
		if signsMore && h.signs() {
			h.wake(h.present) // what it has left unsigned is waiting
		}
	}

	m.coming.keep(names)
	if changed {
		m.metrics.Reloads.WithLabelValues("ok").Inc()
	}
	return errors.Join(errs...)
}

// takeAway has what runs do nothing more that the configuration doesn't allow it, before anything is loaded, which
// takes long: plugins and controllers that are turned off, or that another plugin has now, and what is granted no
// longer.
func (m *manager) takeAway(ctx context.Context, now *applied, chosen []*choice) (changed bool) {
	for _, h := range m.roster.all() {
		i := slices.IndexFunc(chosen, func(c *choice) bool { return c.Name == h.name })
		if i < 0 {
			h.remove()
			changed = true
			continue
		}
		h.leaveOthers(now)
	}
	for _, c := range chosen {
		if h := m.roster.named(c.Name); h != nil && c.core != "" && h.narrows(now.config, c) {
			changed = h.narrow(ctx, now.config, c) || changed
		}
	}
	return changed
}

// narrow has a plugin do nothing more that a choice of now may not. A built-in one goes on with the rights of now;
// another one writes nothing until a version runs that has them, for it has to be compiled.
func (h *hosted) narrow(ctx context.Context, k *config.Configuration, c *choice) (changed bool) {
	if h.present.Origin == plugins.OriginBuiltin {
		err := errUnfilled
		if c.Digest == h.present.Digest {
			changed, err = h.exchange(ctx, k, c, false)
		}
		if err != nil {
			changed, _ = h.adapt(ctx, k, c) // what is wrong is told when it is exchanged
		}
	}
	return h.revokeWider(k, c) || changed
}

// revokeWider has a plugin write nothing more if it may more than a choice of now may.
func (h *hosted) revokeWider(k *config.Configuration, c *choice) (revoked bool) {
	if !h.narrows(k, c) || h.present.revoked {
		return false
	}
	klog.InfoS("Plugin writes nothing until a version runs that has the rights of now", "plugin", h.name, "digest",
		shortDigest(h.present.Digest))
	h.revokeOthers(c.rights)
	return true
}

// leaveOthers ends those of a plugin's controllers that are off by a configuration, or another plugin's.
func (h *hosted) leaveOthers(now *applied) {
	keep := map[string]*controller.Version{}
	if c, _ := h.m.loader.rechoose(now, h.present.choice, h.m.roster); c != nil { // also where its settings are wrong
		for _, i := range c.controllers {
			name := c.Manifest.Controllers[i].Name
			keep[name] = h.present.versions[name]
		}
	}
	gone := h.slots.without(keep)
	for _, s := range gone {
		for _, g := range h.loadedOnes() {
			g.revokeOne(s.Name(), g == h.present)
		}
	}
	if len(gone) > 0 {
		h.m.leave(gone, func() {})
	}
}

// keepFit has plugins whose configuration doesn't fit them go on as they were configured before, but with their present
// rights; one that doesn't run is left out. The errors are why.
func (m *manager) keepFit(k *config.Configuration, chosen []*choice) (_ *config.Configuration, fit []*choice,
	errs []error) {
	for _, c := range chosen {
		if c.unfit == nil {
			fit = append(fit, c)
			continue
		}
		errs = append(errs, c.unfit)
		if m.roster.named(c.Name) != nil {
			k = withRights(k, m.applied.Load().config.Plugin(c.Name))
			fit = append(fit, c)
		}
	}
	return k, fit, errs
}

// reconcile makes a plugin what the configuration says; false if it is so already.
func (h *hosted) reconcile(ctx context.Context, k *config.Configuration, c *choice) (bool, error) {
	h.noteBroken(c.Broken)
	h.tried.noteAsked(c)
	// nothing takes the place of what runs, not even what the file had before: that may have failed its trial
	if c.Broken != nil {
		running, err := h.m.loader.rechoose(h.m.applied.Load(), h.present.choice, h.m.roster)
		if err != nil {
			return false, err
		}
		c = running
	}

	for _, s := range h.slots.all() {
		s.SetWorkers(workers(k, s.Current().Manifest, c.Name))
	}
	changed, err := h.exchange(ctx, k, c, true)
	// while another module is being loaded, what runs keeps its settings: it is about to be replaced
	if n := h.next; err != nil || n != nil && !n.opening && !n.back {
		adapted, failed := h.adapt(ctx, k, c)
		changed = changed || adapted
		if err != nil {
			err = errors.Join(err, failed)
		}
	}
	if h.limits.setBounds(k.Plugin(c.Name), h.present) {
		h.wake(h.present)
	}
	return changed, errors.Join(err, h.applyShadow(ctx, k))
}

// adapt has the module that runs go on as it is configured now, if it can: another one was asked for, which can't run
// or waits for its caches. Whatever is wrong with its settings or limits, it goes on with those that it had, but with
// no other rights than those of now; and where not even that can be, it writes nothing more.
func (h *hosted) adapt(ctx context.Context, k *config.Configuration, c *choice) (changed bool, err error) {
	try := func(k *config.Configuration) {
		now := *h.m.applied.Load()
		now.config = k
		present, failed := h.m.loader.rechoose(&now, h.present.choice, h.m.roster)
		done := false
		if failed == nil {
			done, failed = h.exchange(ctx, k, present, false)
		}
		changed, err = changed || done, errors.Join(err, failed)
	}

	if c.Digest != h.present.Digest {
		try(k)
	}
	if h.present.rights != c.rights {
		try(withRights(k, h.present.settings))
	}
	h.revokeWider(k, c)
	return changed, err
}

// withRights is a configuration with a plugin as it was configured before, and its present rights.
func withRights(k *config.Configuration, p config.Plugin) *config.Configuration {
	now := k.Plugin(p.Name)
	p.Grant, p.Impersonate, p.ServiceAccount = now.Grant, now.Impersonate, now.ServiceAccount
	other := *k
	other.Plugins = append(slices.DeleteFunc(slices.Clone(k.Plugins),
		func(x config.Plugin) bool { return x.Name == p.Name }), p)
	return &other
}

// exchange brings a plugin's next generation, unless it runs already or waits for its caches; false: what ran runs on.
// One that may not wait leaves one that waits as it is.
func (h *hosted) exchange(ctx context.Context, k *config.Configuration, c *choice, mayWait bool) (bool, error) {
	same := h.present.fingerprint() == c.fingerprint() && !h.present.revoked && h.slots.haveAll(h.present.versions)
	tried := h.tried.get(c.fingerprint())
	if c.Digest != h.present.Digest { // one that has failed its trial may run all the same, for want of another one
		tried = cmp.Or(tried, h.tried.get(c.core))
	}
	if n := h.next; n != nil {
		switch {
		case n.fingerprint() == c.fingerprint(), mayWait && n.back && same:
			return false, nil
		case mayWait:
			h.dropNext()
		}
	}

	switch {
	case same:
		return false, nil
	case tried != nil:
		return false, fmt.Errorf("plugin %s: %s failed before and isn't loaded again until it changes: %w", c.Name, c.Plugin,
			tried)
	}
	switch slow := c.Origin != plugins.OriginBuiltin; { // it is compiled anew
	case slow && !mayWait && h.next != nil:
		return false, errUnfilled // what is to come takes the place of what runs
	case slow, c.Digest != h.present.Digest && mayWait:
		h.openBeside(k, c)
		return false, nil
	}
	changed, err := h.swap(ctx, k, c, mayWait)
	if err != nil && !errors.Is(err, errUnfilled) {
		h.noteFailed(c, err)
	}
	return changed, err
}
