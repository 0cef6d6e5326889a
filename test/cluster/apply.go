package cluster

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"
)

// Apply makes the objects of a stream of YAML documents what they say, as kubectl apply --server-side does. Those of a
// custom resource whose definition is new wait until it is served.
func (c *Cluster) Apply(t testing.TB, text []byte) {
	t.Helper()
	client := dynamic.NewForConfigOrDie(c.RESTConfig())
	for docs := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text))); ; {
		doc, err := docs.Read()
		if errors.Is(err, io.EOF) {
			return
		}

		var o unstructured.Unstructured
		if err == nil {
			err = yaml.Unmarshal(doc, &o.Object)
		}
		if err != nil {
			t.Fatalf("%v in:\n%s", err, doc)
		}
		if len(o.Object) == 0 {
			continue // only a comment
		}

		resource, _ := meta.UnsafeGuessKindToResource(o.GroupVersionKind())
		Eventually(t, time.Minute, o.GetKind()+" "+o.GetName()+" is applied", func() (bool, any) {
			_, err := client.Resource(resource).Namespace(o.GetNamespace()).Apply(t.Context(), o.GetName(), &o,
				metav1.ApplyOptions{FieldManager: "test", Force: true})
			if err != nil && !apierrors.IsNotFound(err) {
				t.Fatalf("%s %s: %v", o.GetKind(), o.GetName(), err)
			}
			return err == nil, err
		})
	}
}
