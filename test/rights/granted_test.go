package rights

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/windlass-dev/windlass/config"
	builtin "github.com/windlass-dev/windlass/plugins"
	"github.com/windlass-dev/windlass/test/cluster"
	"github.com/windlass-dev/windlass/test/windlass"
)

// A grant narrows what a plugin sees and writes, by namespaces, verbs and labels; a budget has its deletes wait.
func TestGrantsAndBudgetsHold(t *testing.T) {
	c := cluster.Start(t, cluster.Options{Nodes: 2, Audit: true})
	for _, ns := range []string{"inside", "outside"} {
		namespace(t, c, ns)
	}
	all := []string{"*"}
	everything := config.Rule{APIGroups: all, Resources: all, Verbs: all}
	reads := config.Rule{APIGroups: all, Resources: all, Verbs: []string{"get", "list", "watch"}}
	start := func(t *testing.T, p *config.Plugin) *windlass.Manager {
		p.Name = "replicaset"
		m := windlass.Begin(t, c, windlass.Options{Controllers: []string{"replicaset-controller"},
			Configure: func(k *config.Configuration) {
				k.Plugins = []config.Plugin{*p}
			}})
		return m
	}
	refused := func(m *windlass.Manager) string {
		if m.Count(t, "windlass_refused_effects_total", "controller", "replicaset-controller") == 0 {
			return "nothing was refused"
		}
		return ""
	}
	wrote := func(ns string) []cluster.Event {
		return c.Audit(t, cluster.Filter{Users: []string{"system:serviceaccount:kube-system:replicaset-controller"},
			Verbs: cluster.Writes, Namespace: ns})
	}

	t.Run("namespaces", func(t *testing.T) {
		inside := everything
		inside.Namespaces = []string{"inside"}
		replicaSet(t, c, "outside", "unseen", 2)
		replicaSet(t, c, "inside", "seen", 2)
		m := start(t, &config.Plugin{Grant: []config.Rule{inside}})
		awaitPods(t, c, "inside", "seen", 2)
		if all := wrote("outside"); len(all) > 0 || refused(m) == "" {
			t.Errorf("it has seen what isn't granted: %v", all)
		}
		m.Stop(t)
	})
	t.Run("writes", func(t *testing.T) {
		inside := everything
		inside.Namespaces = []string{"inside"}
		m := start(t, &config.Plugin{Grant: []config.Rule{reads, inside}})
		awaitCondition(t, time.Minute, func(context.Context) string { return refused(m) })
		if all := wrote("outside"); len(all) > 0 {
			t.Errorf("it has written where that isn't granted: %v", all)
		}
		m.Stop(t)
	})
	t.Run("labels", func(t *testing.T) {
		labelled := everything
		labelled.Selector = *selector("yes")
		replicaSet(t, c, "inside", "yes", 2)
		replicaSet(t, c, "inside", "no", 2)
		m := start(t, &config.Plugin{Grant: []config.Rule{reads, labelled}})
		awaitPods(t, c, "inside", "yes", 2)
		awaitCondition(t, time.Minute, func(context.Context) string { return refused(m) })
		if n := countPods(t, c, "inside", "no"); n > 0 {
			t.Errorf("%d pods without the label", n)
		}
		m.Stop(t)
	})
	t.Run("idle", func(t *testing.T) {
		sets := everything
		sets.Resources = []string{"replicasets"}
		before := len(wrote(""))
		m := start(t, &config.Plugin{Grant: []config.Rule{sets}})
		awaitCondition(t, time.Minute, func(context.Context) string {
			if h := fetchHealth(t, m); !strings.Contains(h,
				"idle: it reads [v1/pods], which no rule of plugins[replicaset].grant lets it list and watch") {
				return h
			}
			return ""
		})
		if m.Count(t, "windlass_syncs_total", "controller", "replicaset-controller") > 0 || len(wrote("")) != before {
			t.Error("it has synced")
		}
		m.Stop(t)
	})
	t.Run("identity", func(t *testing.T) {
		as := config.Impersonate{User: "jane", Groups: []string{"system:masters"}}
		c.Apply(t, []byte(`{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: jane}, rules: [
{apiGroups: [""], resources: [users], verbs: [impersonate], resourceNames: [jane]}, {apiGroups: [""], resources: [groups], verbs: [impersonate], resourceNames: ["system:masters"]}]}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: jane}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: jane},
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: "system:kube-controller-manager"}]}`))
		m := start(t, &config.Plugin{Impersonate: as})
		replicaSet(t, c, "outside", "jane", 1)
		awaitPods(t, c, "outside", "jane", 1)
		awaitCondition(t, time.Minute, func(context.Context) string {
			for _, e := range c.Audit(t, cluster.Filter{Users: []string{"jane"}, Verbs: []string{"create"},
				Resources: []string{"pods"}, Namespace: "outside"}) {
				if e.UserAgent == "kube-controller-manager/replicaset-controller" {
					return ""
				}
			}
			return "the audit log has no pod made by jane"
		})
		l, err := c.Client().CoreV1().Pods("outside").List(t.Context(), metav1.ListOptions{LabelSelector: "app=jane"})
		if err != nil || len(l.Items) != 1 ||
			!slices.ContainsFunc(l.Items[0].ManagedFields, func(f metav1.ManagedFieldsEntry) bool {
				return f.Manager == "kube-controller-manager"
			}) {
			t.Errorf("the field manager of %v, %v", l.Items, err)
		}
		m.Stop(t)
	})
	t.Run("budget", func(t *testing.T) {
		const bound = 3
		replicaSet(t, c, "inside", "many", 8)
		p := &config.Plugin{Budget: config.Budget{DeletesPerMinute: bound}}
		m := start(t, p)
		awaitPods(t, c, "inside", "many", 8)
		scaleToZero(t, c, "inside", "many")
		awaitCondition(t, time.Minute, func(context.Context) string {
			if m.Count(t, "windlass_syncs_total", "controller", "replicaset-controller", "result", "deferred") == 0 {
				return "no sync was put off"
			}
			return ""
		})
		awaitPods(t, c, "inside", "many", 8-bound)
		if n := m.Count(t, "windlass_over_budget_total", "plugin", "replicaset"); n < 1 || n > 10 {
			t.Errorf("%v syncs were put off: the key should wait, not try", n)
		}
		deletes := c.Audit(t, cluster.Filter{Users: []string{"system:serviceaccount:kube-system:replicaset-controller"},
			Verbs: []string{"delete"}, Resources: []string{"pods"}})
		if len(deletes) != bound {
			t.Errorf("%d deletes were sent, the budget has %d", len(deletes), bound)
		}
		p.Budget.DeletesPerMinute = 0 // the next reading of the configuration finds it so
		m.Reload()
		awaitPods(t, c, "inside", "many", 0)
	})
}

func scaleToZero(t *testing.T, c *cluster.Cluster, ns, name string) {
	t.Helper()
	if _, err := c.Client().AppsV1().ReplicaSets(ns).Patch(t.Context(), name, types.MergePatchType,
		[]byte(`{"spec":{"replicas":0}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
}

// The manifest of a module that isn't built in has no say in whom it writes as: it has an account of its own, for which
// the roles are printed, or the one that the operator names.
func TestAccountsOfOthers(t *testing.T) {
	c := cluster.Start(t, cluster.Options{Nodes: 1, Audit: true})
	namespace(t, c, "others")
	folder := t.TempDir()
	wasm, ok := builtin.Module("replicaset")
	if !ok {
		t.Fatal("no built-in plugin replicaset: run make plugins")
	}

	// The same with a custom section, as somebody else's: its manifest names replicaset-controller.
	if err := os.WriteFile(filepath.Join(folder, "replicaset.wasm"), append(slices.Clone(wasm), 0, 2, 1, 'x'),
		0o600); err != nil {
		t.Fatal(err)
	}

	p := config.Plugin{Name: "replicaset", File: "replicaset.wasm"}
	m := windlass.Start(t, c, windlass.Options{Controllers: []string{"replicaset"},
		Configure: func(k *config.Configuration) {
			k.PluginFolder, k.Plugins = folder, []config.Plugin{p}
		}})
	const kubeSystem = "system:serviceaccount:kube-system:"
	by := func(account string) (done, denied int) {
		for _, e := range c.Audit(t, cluster.Filter{Users: []string{kubeSystem + account}, Verbs: cluster.Writes,
			Namespace: "others"}) {
			if e.Denied {
				denied++
			} else if e.Code < 300 {
				done++
			}
		}
		return done, denied
	}

	replicaSet(t, c, "others", "web", 2)
	awaitCondition(t, time.Minute, func(context.Context) string {
		if _, denied := by("windlass-plugin-replicaset"); denied == 0 {
			return "nothing was denied to the account of its own"
		}
		return ""
	})

	c.Apply(t, printed(t, buildWindlass(t), "replicaset", "--bindings", "--use-service-account-credentials", "--config",
		writeConfig(t, "apiVersion: "+config.APIVersion+"\nkind: "+config.Kind+"\npluginFolder: "+folder+
			"\nplugins: [{name: replicaset, file: replicaset.wasm}]\n")))
	awaitPods(t, c, "others", "web", 2)
	if done, denied := by("replicaset-controller"); done+denied > 0 {
		t.Errorf("%d writes as the account that its manifest names", done+denied)
	}
	p.ServiceAccount = "replicaset-controller"
	since := m.Status(t).Plugins[0].Since
	m.Reload()

	awaitCondition(t, time.Minute, func(context.Context) string {
		if m.Status(t).Plugins[0].Since.Equal(since) {
			return "the configuration isn't applied"
		}
		return ""
	})

	replicaSet(t, c, "others", "more", 1)
	awaitPods(t, c, "others", "more", 1)
	awaitCondition(t, time.Minute, func(context.Context) string {
		if done, _ := by("replicaset-controller"); done == 0 {
			return "nothing was written as the account that the configuration names"
		}
		return ""
	})
}
