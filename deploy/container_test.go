package deploy

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/windlass-dev/windlass/test/cluster"
)

// user is the image's: deploy/Dockerfile.
const user = 65532

// mount is a file or folder of the machine in a container; an empty From is a temporary file system.
type mount struct {
	From, To string
	Writable bool
}

// container is a process as a container runtime starts one: with mount and process namespaces of its own, a root that
// holds nothing but what is mounted and can't be written to, and without capabilities.
//
// There is no container runtime here, and none is needed for this: user namespaces, which take no rights. Its network
// is the machine's.
type container struct {
	Root   string
	Mounts []mount
	Args   []string
	Env    []string

	log   string
	cmd   *exec.Cmd
	ended chan struct{}
	err   error
	once  sync.Once
}

// containerVariable has the test's binary be what sets the container up and becomes its process.
const containerVariable = "WINDLASS_DEPLOY_TEST_CONTAINER"

func TestMain(m *testing.M) {
	if text := os.Getenv(containerVariable); text != "" {
		runtime.LockOSThread() // rights are a thread's
		err := becomeContainer(text)
		fmt.Fprintln(os.Stderr, "container:", err)
		os.Exit(99)
	}
	os.Exit(m.Run())
}

// start starts the container; it ends with the test at the latest.
func (c *container) start(t *testing.T) {
	t.Helper()
	if c.Root == "" {
		c.Root = t.TempDir()
	}

	// Where things are mounted is there before: the container's root can't be written to.
	system := []mount{{From: "proc", To: "/proc"}, {To: "/dev/shm"}}
	for _, device := range []string{"null", "zero", "full", "random", "urandom"} {
		system = append(system, mount{From: "/dev/" + device, To: "/dev/" + device, Writable: true})
	}
	c.Mounts = append(system, c.Mounts...)
	for _, m := range c.Mounts {
		makeMountPoint(t, filepath.Join(c.Root, m.To), m.From)
	}
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}

	c.log = filepath.Join(t.TempDir(), "container.log")
	log, err := os.Create(c.log)
	if err != nil {
		t.Fatal(err)
	}

	defer log.Close() // the process has its own
	c.cmd = exec.Command("/proc/self/exe")
	c.cmd.Env = []string{containerVariable + "=" + string(text)}
	c.cmd.Stdout, c.cmd.Stderr = log, log

	c.cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWIPC |
			syscall.CLONE_NEWUTS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: user, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: user, HostID: os.Getgid(), Size: 1}},
		AmbientCaps: []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_SYS_CHROOT},
	}

	if err := c.cmd.Start(); err != nil {
		t.Fatalf("%v: this takes user namespaces (sysctl user.max_user_namespaces)", err)
	}
	c.ended = make(chan struct{})

	go func() {
		c.err = c.cmd.Wait()
		close(c.ended)
	}()

	t.Cleanup(func() {
		c.kill()
		if t.Failed() {
			t.Logf("%s:\n%s", strings.Join(c.Args, " "), cluster.Tail(c.log))
		}
	})
}

// makeMountPoint makes the empty file or folder that something is mounted over.
func makeMountPoint(t *testing.T, at, from string) {
	t.Helper()
	info, err := os.Stat(from)
	if err != nil || info.IsDir() {
		if err := os.MkdirAll(at, 0o755); err != nil {
			t.Fatal(err)
		}
		return
	}
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(at, nil, 0o644); err != nil {
		t.Fatal(err)
	}
}

func (c *container) kill() {
	c.once.Do(func() { _ = c.cmd.Process.Kill() })
	<-c.ended
}

// stop does what a kubelet does at the end of a pod: SIGTERM, then some patience.
func (c *container) stop(t *testing.T, patience time.Duration) {
	t.Helper()
	if err := c.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case <-c.ended:
		if c.err != nil {
			t.Errorf("it ended with: %v", c.err)
		}
	case <-time.After(patience):
		t.Errorf("it hasn't ended %v after SIGTERM", patience)
	}
}

// output is all that it has written.
func (c *container) output() string {
	b, _ := os.ReadFile(c.log)
	return string(b)
}

// becomeContainer sets the container up around this process, and has it become the container's. It returns only where
// that fails.
func becomeContainer(text string) error {
	var c container
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		return err
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("making mounts private: %w", err)
	}

	bind := func(from, to string, writable bool) error {
		if err := unix.Mount(from, to, "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("mounting %s at %s: %w", from, to, err)
		}
		if writable {
			return nil
		}
		var s unix.Statfs_t // what is locked in the outer namespace has to be asked for again
		if err := unix.Statfs(to, &s); err != nil {
			return err
		}
		locked := uintptr(s.Flags) & (unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC | unix.MS_NOATIME | unix.MS_NODIRATIME |
			unix.MS_RELATIME)
		if err := unix.Mount("", to, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY|locked, ""); err != nil {
			return fmt.Errorf("making %s read-only: %w", to, err)
		}
		return nil
	}

	if err := bind(c.Root, c.Root, false); err != nil {
		return err
	}
	for _, m := range slices.SortedFunc(slices.Values(c.Mounts), func(a, b mount) int {
		return strings.Compare(a.To, b.To)
	}) {
		to := filepath.Join(c.Root, m.To)
		var err error
		switch m.From {
		case "proc":
			err = unix.Mount("proc", to, "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "")
		case "":
			err = unix.Mount("tmpfs", to, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=1777")
		default:
			err = bind(m.From, to, m.Writable)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", m.To, err)
		}
	}

	if err := unix.Chroot(c.Root); err != nil {
		return fmt.Errorf("chroot: %w", err)
	}
	if err := os.Chdir("/"); err != nil {
		return err
	}

	// Nothing of its rights outlives the exec: they are ambient ones, and the user isn't root.
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("no_new_privs: %w", err)
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return fmt.Errorf("dropping capabilities: %w", err)
	}

	program := c.Args[0]
	if !strings.Contains(program, "/") {
		program = filepath.Join("/usr/local/bin", program) // of the PATH that images have by default
	}
	return syscall.Exec(program, c.Args, c.Env)
}

// confined checks that the process is as confined as it is taken for: a test of what needs little must not give much.
func (c *container) confined(t *testing.T) {
	t.Helper()
	proc := fmt.Sprintf("/proc/%d/", c.cmd.Process.Pid)
	status, mounts := readFile(t, proc+"status"), readFile(t, proc+"mountinfo")
	for _, want := range []string{"CapEff:\t0000000000000000", "CapPrm:\t0000000000000000", "NoNewPrivs:\t1"} {
		if !strings.Contains(status, want) {
			t.Errorf("the process isn't confined: no %q in\n%s", want, status)
		}
	}
	for line := range strings.Lines(mounts) {
		if f := strings.Fields(line); f[4] == "/" && !strings.HasPrefix(f[5], "ro") {
			t.Errorf("its root can be written to: %s", line)
		}
	}
	if !strings.Contains(mounts, " / ") {
		t.Errorf("it has no root:\n%s", mounts)
	}
}

// The binary needs nothing that isn't in the image: it starts from an empty, read-only root, by either of its names.
func TestImage(t *testing.T) {
	for _, x := range []struct {
		args []string
		want string
	}{
		{[]string{"/windlass", "version"}, "wazero"},
		{[]string{"kube-controller-manager", "--version"}, "Windlass"},
	} {
		c := &container{Root: t.TempDir(), Args: x.args, Mounts: []mount{{To: "/tmp"}}}
		c.Mounts = append(c.Mounts, imageFiles(t, c.Root)...)
		c.start(t)
		select {
		case <-c.ended:
		case <-time.After(30 * time.Second):
			t.Fatalf("%q hasn't ended after 30 s", x.args)
		}
		if c.err != nil || !strings.Contains(c.output(), x.want) {
			t.Errorf("%q: %v: no %q in\n%s", x.args, c.err, x.want, c.output())
		}
	}
}
