package main

import (
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// The hook answers as metacontroller wants it.
func TestHook(t *testing.T) {
	for labels, want := range map[string]string{
		`{"example.com/size": "small"}`: `{"attachments":[{"apiVersion":"v1","kind":"ResourceQuota","metadata":{"name":"size","namespace":"team"},"spec":{"hard":{"pods":"10"}}}]}`,
		`{}`:                            `{"attachments":[]}`,
	} {
		w := httptest.NewRecorder()
		handleHook(w, httptest.NewRequest("POST", "/sync", strings.NewReader(`{"object":{"metadata":{"name":"team","labels":`+
			labels+`}}}`)))
		if d := cmp.Diff(want, strings.TrimSpace(w.Body.String())); d != "" {
			t.Errorf("labels %s: -want +got:\n%s", labels, d)
		}
	}
}

// The controller's declaration has the fields that metacontroller's CustomResourceDefinition requires, and no others
// than those that it knows.
func TestController(t *testing.T) {
	b, err := os.ReadFile("controller.yaml")
	if err != nil {
		t.Fatal(err)
	}

	type hook struct {
		Webhook struct {
			URL string `json:"url"`
		} `json:"webhook"`
	}

	var c struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
		Metadata   struct {
			Name string `json:"name"`
		} `json:"metadata"`
		Spec struct {
			Resources []struct {
				APIVersion    string         `json:"apiVersion"`
				Resource      string         `json:"resource"`
				LabelSelector map[string]any `json:"labelSelector"`
			} `json:"resources"`
			Attachments []struct {
				APIVersion     string `json:"apiVersion"`
				Resource       string `json:"resource"`
				UpdateStrategy struct {
					Method string `json:"method"`
				} `json:"updateStrategy"`
			} `json:"attachments"`
			Hooks struct {
				Sync hook `json:"sync"`
			} `json:"hooks"`
		} `json:"spec"`
	}
	if err := yaml.UnmarshalStrict(b, &c); err != nil {
		t.Fatal(err)
	}

	if c.APIVersion != "metacontroller.k8s.io/v1alpha1" || c.Kind != "DecoratorController" || len(c.Spec.Resources) != 1 ||
		len(c.Spec.Attachments) != 1 ||
		c.Spec.Attachments[0].UpdateStrategy.Method != "InPlace" ||
		!strings.HasSuffix(c.Spec.Hooks.Sync.Webhook.URL, "/sync") {
		t.Errorf("%+v", c)
	}
}
