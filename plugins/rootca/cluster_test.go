package rootca

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/windlass-dev/windlass/config"
	"github.com/windlass-dev/windlass/test/cluster"
	"github.com/windlass-dev/windlass/test/windlass"
)

// Where nobody has named a bundle, an empty one is published, as upstream does: without it no pod could mount its
// token.
func TestOnClusterWithoutBundle(t *testing.T) {
	c := cluster.Start(t, cluster.Options{})
	windlass.Start(t, c, windlass.Options{
		Controllers: []string{"root-ca-certificate-publisher-controller"},
		Configure: func(k *config.Configuration) {
			k.Plugins = []config.Plugin{{Name: "rootca", Settings: map[string]string{"root-ca-file": ""}}}
		},
	})
	cluster.Eventually(t, cluster.Patience, "an empty bundle", func() (bool, string) {
		m, err := c.Client().CoreV1().ConfigMaps("default").Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			return false, err.Error()
		}
		text, ok := m.Data[file]
		return ok && text == "", fmt.Sprint(m.Data)
	})
}
