package version1

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/windlass-dev/windlass/config"
	"github.com/windlass-dev/windlass/test/cluster"
	"github.com/windlass-dev/windlass/test/module"
	"github.com/windlass-dev/windlass/test/windlass"
)

// On a cluster the modules run beside each other and do what they did when they were written.
func TestOnClusterModules(t *testing.T) {
	modules, controllers := map[string][]byte{}, []string(nil)
	for _, name := range names {
		modules["version1-"+name] = module.Assemble(t, moduleText(t, name))
		controllers = append(controllers, "version1-"+name+"-controller")
	}
	plugins := moduleFolder(t, modules)

	c := cluster.Start(t, cluster.Options{})
	m := windlass.Start(t, c, windlass.Options{Controllers: controllers, Configure: func(k *config.Configuration) {
		k.ClientConnection.Kubeconfig, k.UseServiceAccountCredentials = c.Kubeconfig, false
		k.PluginFolder = plugins
	}})
	client, err := kubernetes.NewForConfig(c.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}

	made := makeKeys(t, client)
	cluster.Eventually(t, time.Minute, "each module has done its work", func() (done bool, seen map[string]string) {
		seen = configMaps(t, client)
		part, index := "", seen["index"]
		for name := range seen {
			if strings.HasPrefix(name, "part-") {
				part = name
			}
		}
		return seen["greeting"] == "hello" && part != "" && index == part && seen["counted"] == "none", seen
	})

	// The two that were made, greeting, part-…, index, counted: no module has done more.
	if all := configMaps(t, client); len(all) != made+4 {
		t.Errorf("there are %v", all)
	}
	cluster.Eventually(t, time.Minute, "it has counted to three", func() (done bool, seen float64) {
		seen = m.Count(t, "version1_counted_total")
		return seen == 3, seen
	})
}

// makeKeys makes the object of a key for each module, and returns how many config maps are among them.
func makeKeys(t *testing.T, client kubernetes.Interface) int {
	t.Helper()
	create := metav1.CreateOptions{}
	labelled := func(name, value string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Name: name, Labels: map[string]string{"version1": value}}
	}

	ns := &corev1.Namespace{ObjectMeta: labelled("shop", "create")}
	if _, err := client.CoreV1().Namespaces().Create(t.Context(), ns, create); err != nil {
		t.Fatal(err)
	}
	maps := []*corev1.ConfigMap{{ObjectMeta: labelled("book", "perform")}, {ObjectMeta: labelled("clock", "state")}}
	for _, o := range maps {
		if _, err := client.CoreV1().ConfigMaps("shop").Create(t.Context(), o, create); err != nil {
			t.Fatal(err)
		}
	}
	return len(maps)
}

// configMaps returns the names of the namespace's config maps, each with the one value that it has, or "none".
func configMaps(t *testing.T, client kubernetes.Interface) map[string]string {
	t.Helper()
	list, err := client.CoreV1().ConfigMaps("shop").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}

	all := map[string]string{}
	for i := range list.Items {
		all[list.Items[i].Name] = "none"
		for _, value := range list.Items[i].Data {
			all[list.Items[i].Name] = value
		}
	}
	return all
}
