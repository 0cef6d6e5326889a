// Package rights holds the host to what it says of rights: the roles that it prints are enough, and what isn't granted
// isn't done.
package rights

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/windlass-dev/windlass/test/cluster"
	"github.com/windlass-dev/windlass/test/windlass"
)

// buildWindlass builds windlass.
func buildWindlass(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "windlass")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", path,
		"github.com/windlass-dev/windlass/cmd/windlass").CombinedOutput(); err != nil {
		t.Fatalf("building windlass: %v\n%s", err, out)
	}
	return path
}

// printed returns what windlass rbac prints.
func printed(t *testing.T, binary string, args ...string) []byte {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), binary, append([]string{"rbac"}, args...)...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("windlass rbac: %v: %s", err, &stderr)
	}
	return out
}

func writeConfig(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "windlass.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// awaitCondition waits until the condition gives no reason to wait any more.
func awaitCondition(t *testing.T, most time.Duration, condition func(context.Context) (reason string)) {
	t.Helper()
	last := ""
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, most, true,
		func(ctx context.Context) (bool, error) {
			last = condition(ctx)
			return last == "", nil
		})
	if err != nil {
		t.Fatalf("after %v: %s", most, last)
	}
}

// errorText returns why an error has one wait.
func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func namespace(t *testing.T, c *cluster.Cluster, name string) {
	t.Helper()
	core := c.Client().CoreV1()
	if _, err := core.Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}},
		metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	awaitCondition(t, time.Minute, func(ctx context.Context) string {
		_, err := core.ServiceAccounts(name).Create(ctx,
			&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default"}}, metav1.CreateOptions{})
		if apierrors.IsAlreadyExists(err) {
			return ""
		}
		return errorText(err)
	})
}

func template(app string) corev1.PodTemplateSpec {
	none := int64(0)
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": app}},
		Spec: corev1.PodSpec{TerminationGracePeriodSeconds: &none,
			Containers: []corev1.Container{{Name: "c", Image: "i"}}},
	}
}

func selector(app string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}
}

func replicaSet(t *testing.T, c *cluster.Cluster, ns, app string, replicas int32) {
	t.Helper()
	_, err := c.Client().AppsV1().ReplicaSets(ns).Create(t.Context(), &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Name: app, Labels: map[string]string{"app": app}},
		Spec:       appsv1.ReplicaSetSpec{Replicas: &replicas, Selector: selector(app), Template: template(app)},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

func countPods(t *testing.T, c *cluster.Cluster, ns, app string) int {
	t.Helper()
	l, err := c.Client().CoreV1().Pods(ns).List(t.Context(), metav1.ListOptions{LabelSelector: "app=" + app})
	if err != nil {
		t.Fatal(err)
	}
	return len(l.Items)
}

func awaitPods(t *testing.T, c *cluster.Cluster, ns, app string, want int) {
	t.Helper()
	awaitCondition(t, time.Minute, func(context.Context) string {
		if n := countPods(t, c, ns, app); n != want {
			return fmt.Sprintf("%s/%s has %d pods, not %d", ns, app, n, want)
		}
		return ""
	})
}

// fetchHealth returns what /healthz says.
func fetchHealth(t *testing.T, m *windlass.Manager) string {
	t.Helper()
	_, b := m.Do(t, http.MethodGet, "/healthz?verbose")
	return string(b)
}
