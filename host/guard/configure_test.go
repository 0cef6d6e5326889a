package guard

import (
	"reflect"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/windlass-dev/windlass/config"
	"github.com/windlass-dev/windlass/config/configtest"
)

// A change of any field has the guard decide anew, or is refused by its name.
func TestEveryFieldIsFollowed(t *testing.T) {
	for _, section := range []string{"authentication", "authorization"} {
		field, _ := reflect.TypeFor[config.Serving]().FieldByNameFunc(
			func(name string) bool { return strings.EqualFold(name, section) })
		for _, name := range configtest.Fields(field.Type) {
			path := section + "." + name
			if path == "authentication.tolerateLookupFailure" {
				continue // is read at the start only
			}
			c := config.Default().Serving
			c.Authentication.SkipLookup = true
			g, err := New(t.Context(), &c, &rest.Config{Host: "127.0.0.1:1"})
			if err != nil {
				t.Fatal(err)
			}
			before := g.present.Load()
			next := c
			configtest.Change(&next, path)
			switch err := g.Configure(&next); {
			case err == nil && g.present.Load() == before:
				t.Errorf("%s isn't followed", path)
			case err != nil && !strings.Contains(err.Error(), path):
				t.Errorf("%s: %v", path, err)
			}
		}
	}
}
