package rights

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/windlass-dev/windlass/config"
	builtin "github.com/windlass-dev/windlass/plugins"
	table "github.com/windlass-dev/windlass/plugins/builtin"
	"github.com/windlass-dev/windlass/test/cluster"
	"github.com/windlass-dev/windlass/test/life"
	"github.com/windlass-dev/windlass/test/metricsapi"
	"github.com/windlass-dev/windlass/test/windlass"
)

func TestMain(m *testing.M) { life.Main(m) }

const (
	home    = "windlass-system"
	account = "system:serviceaccount:" + home + ":"
)

// Every built-in plugin works with exactly the roles that windlass rbac prints: the manager and each plugin are service
// accounts that nothing else in the cluster knows.
func TestPluginsWorkWithWhatIsPrinted(t *testing.T) {
	c := cluster.Start(t, cluster.Options{Nodes: 3, Audit: true})
	lives, err := life.All("../../plugins")
	if err != nil {
		t.Fatal(err)
	}
	every := lives
	lives = life.Of("", every)
	var text strings.Builder
	fmt.Fprintf(&text, "apiVersion: %s\nkind: %s\ncontrollers: [%s]\nplugins:\n", config.APIVersion, config.Kind,
		strings.Join(table.Names(), ", "))
	settings := map[string]map[string]string{}
	for _, p := range life.Configured(lives, true) {
		settings[p.Name] = p.Settings
	}
	for _, l := range every { // what is played alone elsewhere works on the others' objects
		if !slices.ContainsFunc(lives, func(x *life.Life) bool { return x.Plugin == l.Plugin }) {
			settings[l.Plugin] = l.Settings
		}
	}
	for _, name := range builtin.Names() {
		fmt.Fprintf(&text, "- name: %s\n  impersonate: {serviceAccount: %s/%s}\n", name, home, name)
		if settings[name] == nil {
			continue
		}
		fmt.Fprintln(&text, "  settings:")
		for _, k := range slices.Sorted(maps.Keys(settings[name])) {
			fmt.Fprintf(&text, "    %s: %q\n", k, settings[name][k])
		}
	}
	file := writeConfig(t, text.String())
	c.Apply(t, printed(t, buildWindlass(t), "--bindings", "--user", account+"windlass", "--config", file))
	self := windlass.Kubeconfig(t, c, home, "windlass")
	windlass.Start(t, c, windlass.Options{Configure: func(k *config.Configuration) {
		loaded, err := config.Load(file)
		if err != nil {
			t.Error(err)
			return
		}
		loaded.ClientConnection, loaded.Serving, loaded.Signing = k.ClientConnection, k.Serving, k.Signing
		loaded.ClientConnection.Kubeconfig = self
		*k = *loaded
	}})
	playWorks(t, c, lives)

	ended := map[string]time.Time{} // namespaces, in which admission lets nothing be made any more
	for _, e := range c.Audit(t, cluster.Filter{Verbs: []string{"delete"}, Resources: []string{"namespaces"}}) {
		if ended[e.Name].IsZero() {
			ended[e.Name] = e.Received
		}
	}
	did := map[string]bool{}
	for _, e := range c.Audit(t, cluster.Filter{}) {
		name, ours := strings.CutPrefix(e.User, account)
		if !ours {
			continue
		}
		end, ends := ended[e.Namespace]
		if e.Denied || e.Code == http.StatusForbidden && (!ends || e.Time.Before(end)) {
			t.Errorf("what is printed doesn't allow: %v (%s)", e, e.URI)
		}
		if name != "windlass" && !strings.HasPrefix(e.UserAgent, "kube-controller-manager/") {
			t.Errorf("%v comes from %q", e, e.UserAgent)
		}
		if e.Code < 300 && slices.Contains(cluster.Writes, e.Verb) && e.Resource != "events" && e.Resource != "leases" {
			did[name] = true
		}
	}
	for _, name := range builtin.Names() {
		if !did[name] {
			t.Errorf("plugin %s has written nothing under its own name", name)
		}
	}
	if did["windlass"] {
		t.Error("the manager has written under its own name")
	}
	// What admission may ask for where it is told to (OwnerReferencesPermissionEnforcement): who makes children that block
	// an owner's deletion may change the owner's finalizers. Which those are, package conformance checks.
	for _, own := range table.Controllers() {
		for _, w := range own.Manifest.Writes {
			if w.Subresource != "finalizers" {
				continue
			}
			r, err := c.Client().AuthorizationV1().SubjectAccessReviews().Create(t.Context(),
				&authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
					User: account + own.Plugin.Folder,
					ResourceAttributes: &authorizationv1.ResourceAttributes{
						Namespace: "x", Verb: "update", Group: w.Resource.Group, Resource: w.Resource.Name, Subresource: w.Subresource,
					},
				}}, metav1.CreateOptions{})
			if err != nil || !r.Status.Allowed {
				t.Errorf("plugin %s may not update %s/finalizers (%v)", own.Plugin.Folder, w.Resource.Name, err)
			}
		}
	}
}

// playWorks has each of the built-in plugins do the work that its life has for it, and then the namespaces end.
func playWorks(t *testing.T, c *cluster.Cluster, lives []*life.Life) {
	t.Helper()
	stage := life.NewStage(t, c)
	stage.RestrainKubelets(t)
	stage.Metrics = metricsapi.Serve(t, c.RESTConfig())
	stage.PlayWorks(t, lives)

	namespaces := c.Client().CoreV1().Namespaces()
	for _, l := range lives {
		if err := namespaces.Delete(t.Context(), l.Plugin+"-work", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	awaitCondition(t, 2*time.Minute, func(ctx context.Context) string {
		for _, l := range lives {
			n, err := namespaces.Get(ctx, l.Plugin+"-work", metav1.GetOptions{})
			if !apierrors.IsNotFound(err) {
				return fmt.Sprintf("namespace: %+v %v", n.Status, err)
			}
		}
		return ""
	})
}
