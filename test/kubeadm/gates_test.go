package kubeadm

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/windlass-dev/windlass/test/cluster"
	"github.com/windlass-dev/windlass/test/windlass"
)

// An older version's manifest may turn off what is locked now: with that version emulated both managers start, and do
// it.
func TestGatesOfAnOlderVersion(t *testing.T) {
	c := cluster.Start(t, cluster.Options{})
	args := []string{
		"--emulated-version=1.34", "--feature-gates=JobManagedBy=false",
		"--controllers=job-controller,serviceaccount-controller", "--leader-elect=false",
		"--kubeconfig=" + c.ManagerKubeconfig, "--authentication-kubeconfig=" + c.ManagerKubeconfig,
		"--authorization-kubeconfig=" + c.ManagerKubeconfig, "--client-ca-file=" + c.CAFile,
		"--use-service-account-credentials=true", "--bind-address=" + address(),
	}

	for _, m := range []struct {
		name    string
		command []string
	}{
		{"windlass", []string{windlass.Program(), "run"}},
		{"native", []string{cluster.Binary(), "kube-controller-manager", "--"}},
	} {
		run := startProcess(t, m.name, append(m.command, args...))
		awaitHealth(t, run)
		windlass.Account(t, c.Client(), namespace)
		theirs := managedByOthers(t, c, m.name)
		cluster.Eventually(t, time.Minute, m.name+" runs a job that names another controller", func() (bool, string) {
			run.running(t)
			l, err := c.Client().CoreV1().Pods(namespace).List(t.Context(),
				metav1.ListOptions{LabelSelector: batchv1.JobNameLabel + "=" + theirs})
			return err == nil && len(l.Items) == 1, fmt.Sprint(len(l.Items), " pods, ", err)
		})
		if told := run.matchesInLog(t, `changes nothing here" flag="([^"]+)"`); strings.Contains(strings.Join(told, " "),
			"JobManagedBy") {
			t.Errorf("%s tells that the gate changes nothing: %v", m.name, told)
		}
		run.signalAndWait(syscall.SIGTERM)
	}
}

// managedByOthers makes a job that somebody else looks after, and returns its name.
func managedByOthers(t *testing.T, c *cluster.Cluster, name string) string {
	t.Helper()
	by := "example.com/other"
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: batchv1.JobSpec{ManagedBy: &by, Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "main", Image: "main"}},
		}}}}
	_, err := c.Client().BatchV1().Jobs(namespace).Create(t.Context(), job, metav1.CreateOptions{})
	mustSucceed(t, err)
	return job.Name
}
