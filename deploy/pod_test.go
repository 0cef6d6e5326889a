package deploy

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/windlass-dev/windlass/test/cluster"
)

// pod is a process that has what a kubelet would give it: the container's arguments, environment, volumes and token,
// out of the API server. There is no kubelet in a devcluster.
type pod struct {
	*container
	cluster *cluster.Cluster
	spec    corev1.PodSpec
	ns      string
	volumes map[string]string // folders of the machine
}

const tokenFolder = "/var/run/secrets/kubernetes.io/serviceaccount"

// runPod starts the pod's container. hostPaths are the folders of the node, by what the pod calls them.
func runPod(t *testing.T, c *cluster.Cluster, ns string, spec corev1.PodSpec, hostPaths map[string]string) *pod {
	t.Helper()
	if len(spec.Containers) != 1 {
		t.Fatalf("%d containers", len(spec.Containers))
	}

	k := spec.Containers[0]
	p := &pod{container: &container{Root: t.TempDir()}, cluster: c, spec: spec, ns: ns, volumes: map[string]string{}}
	p.Mounts = append(p.Mounts, imageFiles(t, p.Root)...)
	p.Args = append(k.Command, k.Args...)
	if len(k.Command) == 0 {
		p.Args = append(entrypoint(t), k.Args...)
	}

	for _, e := range k.Env {
		p.Env = append(p.Env, e.Name+"="+e.Value)
	}
	if a := spec.AutomountServiceAccountToken; spec.ServiceAccountName != "" && (a == nil || *a) {
		p.Mounts = append(p.Mounts, mount{From: p.tokenFolder(t), To: tokenFolder})
		u, err := url.Parse(c.RESTConfig().Host)
		if err != nil {
			t.Fatal(err)
		}
		p.Env = append(p.Env, "KUBERNETES_SERVICE_HOST="+u.Hostname(), "KUBERNETES_SERVICE_PORT="+u.Port())
	}
	for _, v := range spec.Volumes {
		p.volumes[v.Name] = p.volumeFolder(t, v, hostPaths)
	}

	for _, m := range k.VolumeMounts {
		from, ok := p.volumes[m.Name]
		if !ok {
			t.Fatalf("there is no volume %s", m.Name)
		}
		if m.SubPath != "" {
			t.Errorf("%s is mounted by subPath: it would never change", m.MountPath)
		}
		p.Mounts = append(p.Mounts, mount{From: from, To: m.MountPath, Writable: !m.ReadOnly && from != ""})
	}
	p.start(t)
	return p
}

// tokenFolder returns a folder with what a pod finds in its token's.
func (p *pod) tokenFolder(t *testing.T) string {
	t.Helper()
	token, err := p.cluster.Client().CoreV1().ServiceAccounts(p.ns).CreateToken(t.Context(), p.spec.ServiceAccountName,
		&authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ca, err := os.ReadFile(p.cluster.CAFile)
	if err != nil {
		t.Fatal(err)
	}
	return project(t, t.TempDir(), map[string][]byte{"token": []byte(token.Status.Token), "ca.crt": ca,
		"namespace": []byte(p.ns)})
}

// volumeFolder returns a folder with the volume's contents, empty for a temporary one.
func (p *pod) volumeFolder(t *testing.T, v corev1.Volume, hostPaths map[string]string) string {
	t.Helper()
	switch {
	case v.EmptyDir != nil:
		return ""
	case v.ConfigMap != nil:
		return project(t, t.TempDir(), p.configMap(t, v.ConfigMap.Name))
	case v.Secret != nil:
		s, err := p.cluster.Client().CoreV1().Secrets(p.ns).Get(t.Context(), v.Secret.SecretName, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return project(t, t.TempDir(), s.Data)
	case v.HostPath != nil:
		if from := hostPaths[v.HostPath.Path]; from != "" {
			return from
		}
		t.Fatalf("the node has no %s", v.HostPath.Path)
	}
	t.Fatalf("volume %s is of a kind that this kubelet doesn't know", v.Name)
	return ""
}

func (p *pod) configMap(t *testing.T, name string) map[string][]byte {
	t.Helper()
	c, err := p.cluster.Client().CoreV1().ConfigMaps(p.ns).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for name, text := range c.Data {
		files[name] = []byte(text)
	}
	for name, b := range c.BinaryData {
		files[name] = b
	}
	return files
}

// updateConfigMaps brings the pod's ConfigMaps up to date, as a kubelet does within a minute or two.
func (p *pod) updateConfigMaps(t *testing.T) {
	t.Helper()
	for _, v := range p.spec.Volumes {
		if v.ConfigMap != nil {
			project(t, p.volumes[v.Name], p.configMap(t, v.ConfigMap.Name))
		}
	}
}

// project writes files as a kubelet does, so that all change at once: links to ..data, which is a link to a folder.
func project(t *testing.T, folder string, files map[string][]byte) string {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	versions, err := filepath.Glob(filepath.Join(folder, "..20*"))
	must(err)
	version := fmt.Sprintf("..20%d", len(versions))
	must(os.Mkdir(filepath.Join(folder, version), 0o755))
	for name, b := range files {
		must(os.WriteFile(filepath.Join(folder, version, name), b, 0o644))
	}
	must(os.Symlink(version, filepath.Join(folder, "..data_tmp")))
	must(os.Rename(filepath.Join(folder, "..data_tmp"), filepath.Join(folder, "..data")))
	for name := range files {
		if link := filepath.Join(folder, name); !pathExists(link) {
			must(os.Symlink(filepath.Join("..data", name), link))
		}
	}
	return folder
}

func pathExists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// runProbe does what the kubelet does for a probe, and returns what is wrong. The pod's address is the machine's
// loopback.
func (p *pod) runProbe(ctx context.Context, probe *corev1.Probe) error {
	host := probe.HTTPGet.Host
	if host == "" {
		host = "127.0.0.1"
	}
	port := probe.HTTPGet.Port.IntValue()
	for _, c := range p.spec.Containers[0].Ports {
		if c.Name == probe.HTTPGet.Port.StrVal {
			port = int(c.ContainerPort)
		}
	}
	code, body, err := httpGet(ctx, strings.ToLower(string(probe.HTTPGet.Scheme))+"://"+net.JoinHostPort(host,
		fmt.Sprint(port))+probe.HTTPGet.Path, "")
	if err == nil && code != http.StatusOK {
		err = fmt.Errorf("%s: %d: %s", probe.HTTPGet.Path, code, body)
	}
	return err
}

// awaitReady waits as the kubelet does: for the startup probe, then for the readiness probe.
func (p *pod) awaitReady(t *testing.T) {
	t.Helper()
	k := p.spec.Containers[0]
	for what, probe := range map[string]*corev1.Probe{"startup": k.StartupProbe, "liveness": k.LivenessProbe,
		"readiness": k.ReadinessProbe} {
		if probe == nil {
			continue
		}
		cluster.Eventually(t, time.Minute, what+" probe", func() (bool, any) {
			select {
			case <-p.ended:
				t.Fatalf("it ended: %v:\n%s", p.err, cluster.Tail(p.log))
			default:
			}
			err := p.runProbe(t.Context(), probe)
			return err == nil, err
		})
	}
}

// httpGet sends a GET with a token, or without one. Whose certificate it is doesn't matter to a kubelet.
func httpGet(ctx context.Context, url, token string) (int, string, error) {
	client := http.Client{Timeout: 10 * time.Second,
		Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, "", err
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := client.Do(r)
	if err != nil {
		return 0, "", err
	}
	defer answer.Body.Close()
	b, err := io.ReadAll(answer.Body)
	return answer.StatusCode, string(b), err
}
