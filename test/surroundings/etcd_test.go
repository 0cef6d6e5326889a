package surroundings

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/windlass-dev/windlass/test/life"
)

const full = "database space exceeded"

// Of etcd's AlarmRequest (go.etcd.io/etcd/api/v3/etcdserverpb/rpc.proto).
const (
	activate   = 1
	deactivate = 2
	noSpace    = 1
)

// An etcd whose quota is used up refuses all writes, until somebody disarms it.
func fullEtcd() surrounding {
	begin := func(t *testing.T, w *world) func(*testing.T) {
		// It refuses everybody's writes; only the manager's are counted.
		stop := w.front.begin(w, func(f *front, r *http.Request) (*http.Response, error) { return f.next(r) })
		w.alarm(t, activate)
		return func(t *testing.T) {
			w.alarm(t, deactivate)
			stop(t)
		}
	}
	return surrounding{name: "full etcd", told: full, late: true, stops: true, begin: begin}
}

// alarm raises etcd's alarm that its quota is used up, or takes it back. This is a call of gRPC: a message of two
// numbers, in a frame.
func (w *world) alarm(t *testing.T, action byte) {
	t.Helper()
	url, err := os.ReadFile(filepath.Join(w.cluster.Dir, "etcd.url"))
	must(t, err)
	message := []byte{1 << 3, action, 3 << 3, noSpace}
	frame := append([]byte{0, 0, 0, 0, byte(len(message))}, message...)
	q, err := http.NewRequestWithContext(t.Context(), http.MethodPost, string(url)+"/etcdserverpb.Maintenance/Alarm",
		bytes.NewReader(frame))
	must(t, err)
	q.Header.Set("Content-Type", "application/grpc")
	q.Header.Set("TE", "trailers")

	over := &http.Transport{Protocols: new(http.Protocols)}
	over.Protocols.SetUnencryptedHTTP2(true)
	defer over.CloseIdleConnections()
	r, err := over.RoundTrip(q)
	must(t, err)
	defer r.Body.Close()
	_, err = io.Copy(io.Discard, r.Body)
	must(t, err)
	if status := cmp.Or(r.Trailer.Get("Grpc-Status"), r.Header.Get("Grpc-Status")); status != "0" {
		t.Fatalf("etcd: status %s: %s%s", status, r.Trailer.Get("Grpc-Message"), r.Header.Get("Grpc-Message"))
	}
}

// patiently has who plays the scripts send again what a full etcd has refused.
func patiently(stage *life.Stage) {
	config := stage.Cluster.RESTConfig()
	config.WarningHandler = rest.NoWarnings{} // Endpoints are deprecated
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return patient{next} })
	stage.Client, stage.Dynamic = kubernetes.NewForConfigOrDie(config), dynamic.NewForConfigOrDie(config)
}

type patient struct{ next http.RoundTripper }

// RoundTrip sends a request until etcd has room for it. The API server says so in refusals of more than one kind: a
// Service that finds no address for the same reason is Invalid.
func (p patient) RoundTrip(r *http.Request) (*http.Response, error) {
	for {
		a, err := p.next.RoundTrip(r)
		if err != nil || a.StatusCode < http.StatusBadRequest {
			return a, err
		}
		b, err := io.ReadAll(a.Body)
		a.Body.Close()
		if err != nil || !bytes.Contains(b, []byte(full)) {
			a.Body = io.NopCloser(bytes.NewReader(b))
			return a, err
		}

		select {
		case <-time.After(100 * time.Millisecond):
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
		if r.Body != nil {
			if r.GetBody == nil {
				return nil, errors.New("the body can't be sent again")
			}
			if r.Body, err = r.GetBody(); err != nil {
				return nil, err
			}
		}
	}
}

// Deployments that etcd has just taken, and whose ReplicaSets are too large for it.
func tooLargeForEtcd() surrounding {
	return surrounding{name: "too large for etcd", spares: true, quiet: true, common: true, told: "too large", unmade: "large",
		begin: func(t *testing.T, w *world) func(*testing.T) {
			const namespace, many = "large", 7
			w.stage.Namespace(t, namespace)
			deployments := w.stage.Client.AppsV1().Deployments(namespace)
			create := func(name string, size int) error {
				_, err := deployments.Create(w.Context(), oversized(name, size), metav1.CreateOptions{})
				return err
			}

			least, most := 1_400_000, 1_600_000
			for most-least > 60 {
				size := (least + most) / 2
				if create("probe", size) != nil {
					most = size
					continue
				}
				least = size
				must(t, deployments.Delete(w.Context(), "probe", metav1.DeleteOptions{}))
			}
			for i := range many {
				must(t, create(fmt.Sprint("large-", i), least-4))
			}
			return func(*testing.T) {}
		}}
}

// oversized is a Deployment with so much in an environment variable; it has no pods while it is looked for.
func oversized(name string, size int) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: appsv1.DeploymentSpec{
		Replicas: new(int32(1)), Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "main",
				Env: []corev1.EnvVar{{Name: "BIG", Value: strings.Repeat("x", size)}}}}}}}}
}
