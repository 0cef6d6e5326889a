package start

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/cmd/windlass/answer/answertest"
)

// Under kube-controller-manager's name the program takes its flags without a command.
func TestUnderItsName(t *testing.T) {
	name := filepath.Join(t.TempDir(), "kube-controller-manager")
	if err := os.Symlink(os.Args[0], name); err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{
		"--version":                         "Windlass ",
		"--version=raw":                     "kubernetes  ",
		"--allocate-node-cidrs=true --fly":  "windlass: unknown flag: --fly: see windlass run --help",
		"--concurent-job-syncs=5":           "windlass: unknown flag: --concurent-job-syncs: did you mean --concurrent-job-syncs",
		"--concurrent_job_syncs=0":          "windlass: --concurrent-job-syncs: invalid value \"0\": must be at least 1",
		"--version=v2":                      "must be true, false, raw or a version of Kubernetes such as v1.37.0",
		"--help":                            "--concurrent-deployment-syncs",
		"--node-monitor-grace-period=soon":  `invalid argument "soon" for "--node-monitor-grace-period" flag`,
		"--version=v1.36.2 --kube-api-qps=": `invalid argument "" for "--kube-api-qps" flag`,
	} {
		c := exec.CommandContext(t.Context(), name, strings.Fields(args)...)
		c.Env = append(os.Environ(), "TEST_AS_WINDLASS=1")
		out, _ := c.CombinedOutput()
		if !strings.Contains(string(out), want) {
			t.Errorf("%s: no %q in:\n%s", args, want, out)
		}
	}
}

// The help of run is in groups: our own flags first, upstream's that change something with what they change, the others
// by name alone.
func TestGroupedHelp(t *testing.T) {
	cmd, stdout, stderr := answertest.Command(t, "run", "--help")
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, stderr)
	}
	last := 0
	for _, want := range []string{"Usage:\n  windlass run [flags]", "Examples:\n", "\nWindlass's own:\n",
		"--plugin-folder string", "\nGeneric:\n", "--controllers strings", "\nLeader election:\n",
		"\nControllers:\n", "--horizontal-pod-autoscaler-tolerance float", "accepted and change nothing, because\n",
		"the controllers that read them aren't built yet:\n      --"} {
		i := strings.Index(stdout.String()[last:], want)
		if i < 0 {
			t.Fatalf("no %q behind what went before in:\n%s", want, stdout)
		}
		last += i
	}
	lines := strings.Split(stdout.String(), "\n")
	if len(lines) > 300 { // each flag that does something has one
		t.Errorf("the help has %d lines", len(lines))
	}
	for _, l := range lines {
		if len(l) > 170 {
			t.Errorf("a line of %d columns: %s", len(l), l)
		}
	}
}
