package report

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/windlass-dev/windlass/test/cluster"
)

// Setting is where, when and how was measured.
type Setting struct {
	Time        time.Time
	Cores       int
	CPU         string
	Memory      int64 // bytes
	System      string
	Native      string
	Windlass    string // with its commit
	Go          string
	Pairs       int
	More        time.Duration `json:",omitempty"` // for which short scenarios went on with pairs
	Full        bool
	QPS         int
	Controllers []string
	Programs    string      // a hash of them: a commit alone doesn't tell what a changed work tree was built into
	Load        float64     // the machine's, before
	Continued   []time.Time `json:",omitempty"` // when it went on after it was interrupted
}

// Same reports whether figures of one setting may stand beside those of another.
func (s Setting) Same(as Setting) bool {
	s.Time, s.Load, s.Continued = as.Time, as.Load, as.Continued
	return reflect.DeepEqual(s, as)
}

// Here describes the machine and the programs.
func Here(ctx context.Context) (Setting, error) {
	s := Setting{Time: time.Now().UTC(), Cores: runtime.NumCPU(), Go: runtime.Version(),
		System: runtime.GOOS + "/" + runtime.GOARCH}
	s.CPU, _ = procField("/proc/cpuinfo", "model name")
	memory, err := procField("/proc/meminfo", "MemTotal")
	if err != nil {
		return s, err
	}

	kib, err := strconv.ParseInt(strings.TrimSuffix(memory, " kB"), 10, 64)
	if err != nil {
		return s, fmt.Errorf("/proc/meminfo: %w", err)
	}

	s.Memory = kib << 10
	if load, err := os.ReadFile("/proc/loadavg"); err == nil {
		first, _, _ := strings.Cut(string(load), " ")
		s.Load, _ = strconv.ParseFloat(first, 64)
	}

	out, err := exec.CommandContext(ctx, cluster.Binary(), "kube-controller-manager", "--", "--version").Output()
	if err != nil {
		return s, fmt.Errorf("%s: %w: run make devcluster", cluster.Binary(), err)
	}

	s.Native = strings.TrimPrefix(strings.TrimSpace(string(out)), "Kubernetes ")
	windlass := filepath.Join(filepath.Dir(cluster.Binary()), "windlass")
	if out, err = exec.CommandContext(ctx, windlass, "version").Output(); err != nil {
		return s, fmt.Errorf("%s: %w: run make build", windlass, err)
	}

	first, _, _ := strings.Cut(string(out), "\n")
	s.Windlass = strings.TrimSpace(strings.TrimPrefix(first, "windlass"))
	s.Programs, err = hashFiles(windlass, cluster.Binary())
	return s, err
}

// hashFiles returns a hash of files.
func hashFiles(files ...string) (string, error) {
	h := sha256.New()
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			return "", err
		}
		_, err = io.Copy(h, f)
		if err := errors.Join(err, f.Close()); err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// procField returns the first value of a name in a file of /proc.
func procField(path, name string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if n, v, ok := strings.Cut(lines.Text(), ":"); ok && strings.TrimSpace(n) == name {
			return strings.TrimSpace(v), nil
		}
	}
	return "", fmt.Errorf("%s has no %s", path, name)
}
