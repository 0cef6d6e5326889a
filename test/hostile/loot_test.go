package hostile

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/windlass-dev/windlass/test/cluster"
	"github.com/windlass-dev/windlass/test/windlass"
)

// The bootstrap token that cluster-info is signed with.
const (
	bootstrapID     = "abcdef"
	bootstrapSecret = "q7w2e9r4t1y6u3i8"
)

// plantSecrets makes what is worth stealing, has the manager sign what it signs with it, and returns it by its names.
func plantSecrets(t *testing.T, c *cluster.Cluster) map[string]string {
	t.Helper()
	client, ctx := c.Client(), t.Context()
	for _, o := range []*corev1.Secret{
		{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: tokenSecret,
			Labels:      map[string]string{openKey: openValue},
			Annotations: map[string]string{corev1.ServiceAccountNameKey: "default"}},
			Type: corev1.SecretTypeServiceAccountToken},
		{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: "bootstrap-token-" + bootstrapID},
			Type: corev1.SecretTypeBootstrapToken, StringData: map[string]string{"token-id": bootstrapID,
				"token-secret": bootstrapSecret, "usage-bootstrap-signing": "true"}},
	} {
		if _, err := client.CoreV1().Secrets(o.Namespace).Create(ctx, o, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	for _, o := range []*corev1.ConfigMap{
		{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespacePublic, Name: "cluster-info"},
			Data: map[string]string{"kubeconfig": "{}"}},
		{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: patchedName}},
	} {
		if _, err := client.CoreV1().ConfigMaps(o.Namespace).Create(ctx, o, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}

	loot := map[string]string{"the bootstrap token": bootstrapSecret}
	cluster.Eventually(t, time.Minute, "the token is in its Secret", func() (bool, string) {
		o, err := client.CoreV1().Secrets(namespace).Get(ctx, tokenSecret, metav1.GetOptions{})
		if err == nil {
			loot["the account's token"] = string(o.Data[corev1.ServiceAccountTokenKey])
		}
		return loot["the account's token"] != "", fmt.Sprint(err)
	})
	cluster.Eventually(t, time.Minute, "cluster-info is signed", func() (bool, string) {
		o, err := client.CoreV1().ConfigMaps(metav1.NamespacePublic).Get(ctx, "cluster-info", metav1.GetOptions{})
		return err == nil && o.Data["jws-kubeconfig-"+bootstrapID] != "", fmt.Sprint(err)
	})
	for _, file := range []string{c.TokenKeyFile, c.CAKeyFile} {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for n, line := range strings.Split(strings.TrimSpace(string(b)), "\n") {
			if !strings.HasPrefix(line, "-----") {
				loot[fmt.Sprintf("line %d of %s", n, filepath.Base(file))] = line
			}
		}
	}
	return loot
}

// checkStolen looks for the loot in all that the manager says. What the thieves were allowed to read it must find.
func checkStolen(t *testing.T, loot map[string]string, m *windlass.Manager, log *windlass.Log, recordings string,
	events []corev1.Event) {
	t.Helper()
	said := map[string]string{"the log": log.Text()}
	for _, path := range []string{"/metrics", "/windlass/v1/status", "/windlass/v1/statusz", "/healthz?verbose"} {
		said[path] = string(m.Get(t, path))
	}
	b, err := json.Marshal(events)
	if err != nil {
		t.Fatal(err)
	}
	said["the events"] = string(b)

	files, err := filepath.Glob(filepath.Join(recordings, "*"))
	if err != nil {
		t.Fatal(err)
	}
	recorded := ""
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		said[filepath.Base(file)] = string(b)
		recorded += string(b)
	}
	t.Logf("%d recordings of %d bytes", len(files), len(recorded))

	for where, text := range map[string]string{"the log": said["the log"], "the events": said["the events"],
		"the recordings": recorded} {
		if !hasPieceOf(text, openValue) {
			t.Errorf("%s lacks what the thieves may read", where)
		}
	}
	if hasPieceOf(said["/metrics"], openValue) {
		t.Error("a plugin's text is in the metrics, whose labels it can't make up")
	}
	for where, text := range said {
		for what := range maps.Keys(loot) {
			if hasPieceOf(text, loot[what]) {
				t.Errorf("a piece of %s is in %s", what, where)
			}
		}
	}
}

// hasPieceOf reports whether a text has a piece of a value, as it is or in base64, wherever in a message that begins.
func hasPieceOf(text, value string) bool {
	const piece = 32
	forms := []string{value}
	for skip := range 3 {
		rest := value[skip:]
		forms = append(forms, base64.RawStdEncoding.EncodeToString([]byte(rest[:len(rest)/3*3])))
	}
	for _, form := range forms {
		for at := 0; at < len(form); at += piece {
			part := form[at:min(at+piece, len(form))]
			if (at == 0 || len(part) == piece) && strings.Contains(text, part) {
				return true
			}
		}
	}
	return false
}

// checkForged finds the placeholder that somebody made up where it was put: nothing takes its place.
func checkForged(t *testing.T, client kubernetes.Interface) {
	t.Helper()
	for _, name := range []string{forgedName, patchedName} {
		o, err := client.CoreV1().ConfigMaps("default").Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if o.Annotations["token"] != forged || o.Data["token"] != forged {
			t.Errorf("instead of what looks like a placeholder there is %v", o)
		}
	}
}
