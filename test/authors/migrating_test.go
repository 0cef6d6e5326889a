package authors

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/windlass-dev/windlass/config"
	"github.com/windlass-dev/windlass/test/cluster"
)

// The controller that the pages about migrating show does the same written for client-go, for controller-runtime and
// for Windlass: the quotas of a namespace come, are mended, change and go.
func TestMigrating(t *testing.T) {
	c := cluster.Start(t, cluster.Options{})
	a := newAuthor(t, c, false)
	for _, form := range []string{"client-go", "controller-runtime"} {
		t.Run(form, func(t *testing.T) {
			program := filepath.Join(t.TempDir(), form)
			build := exec.CommandContext(t.Context(), "go", "build", "-o", program, ".")
			build.Dir = filepath.Join("../../examples/migrating", form)
			if out, err := build.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}

			p := exec.Command(program)
			p.Env = append(os.Environ(), "KUBECONFIG="+c.Kubeconfig)
			p.Stdout, p.Stderr = t.Output(), t.Output()
			if err := p.Start(); err != nil {
				t.Fatal(err)
			}

			ended := make(chan error, 1)
			go func() { ended <- p.Wait() }()
			defer func() {
				_ = p.Process.Signal(syscall.SIGTERM)
				select {
				case err := <-ended:
					if err != nil {
						t.Errorf("%s ended with %v", form, err)
					}
				case <-time.After(time.Minute):
					_ = p.Process.Kill()
					t.Errorf("%s doesn't end", form)
				}
			}()

			a.checkQuotas(t, form)
		})
	}

	a.runWindlass(func(k *config.Configuration) {
		k.ClientConnection.Kubeconfig, k.UseServiceAccountCredentials = c.Kubeconfig, false
	})
	folder := filepath.Join(a.home, "quota")
	if err := os.CopyFS(folder, os.DirFS("../../examples/migrating/windlass")); err != nil {
		t.Fatal(err)
	}
	a.runShell(folder, "windlass plugin sdk && go mod edit -replace github.com/windlass-dev/windlass=./.windlass && "+
		"windlass plugin build")
	a.loadPlugin("quota", filepath.Join(folder, "quota.wasm"))
	t.Run("windlass", func(t *testing.T) { a.checkQuotas(t, "windlass") })
}

// checkQuotas puts a namespace through what its quota has to follow.
func (a *author) checkQuotas(t *testing.T, form string) {
	t.Helper()
	name := "team-" + form
	quotas := a.client.CoreV1().ResourceQuotas(name)
	ns, err := a.client.CoreV1().Namespaces().Create(t.Context(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"example.com/size": "small"}}},
		metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}

	label := func(value string) {
		t.Helper()
		if _, err := a.client.CoreV1().Namespaces().Patch(t.Context(), name, types.MergePatchType,
			fmt.Appendf(nil, `{"metadata":{"labels":{"example.com/size":%s}}}`, value), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}

	expect := func(what, pods, memory string) {
		t.Helper()
		a.eventually(what, func() error {
			q, err := quotas.Get(t.Context(), "size", metav1.GetOptions{})
			if err != nil {
				return err
			}
			hard := q.Spec.Hard
			if got := hard.Pods().String() + " " + hard.Memory().String(); got != pods+" "+memory ||
				!metav1.IsControlledBy(q, ns) {
				return fmt.Errorf("%v, owners %v", hard, q.OwnerReferences)
			}
			return nil
		})
	}

	expect("a small namespace has its quota", "10", "0")
	q, err := quotas.Get(t.Context(), "size", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}

	q.Spec.Hard = corev1.ResourceList{corev1.ResourcePods: resource.MustParse("99"),
		corev1.ResourceMemory: resource.MustParse("1Gi")}
	if _, err := quotas.Update(t.Context(), q, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}

	expect("an edited quota is mended, and only what is the controller's", "10", "1Gi")
	label(`"large"`)
	expect("a large one has another", "100", "1Gi")
	label("null")

	a.eventually("one without a size has none", func() error {
		_, err := quotas.Get(t.Context(), "size", metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return errors.Join(errors.New("it is there"), err)
	})
}
