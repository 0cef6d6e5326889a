package golden

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/windlass-dev/windlass/host/schema"
)

// definitions returns the custom resources that the plugin of a folder of cases defines: those of crd/*.yaml beside it.
func definitions(cases string) (all []*schema.Resource, err error) {
	files, err := filepath.Glob(filepath.Join(cases, "..", "crd", "*.yaml"))
	if err != nil {
		return nil, err
	}

	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		defined, err := definedIn(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		all = append(all, defined...)
	}

	return all, nil
}

func definedIn(text []byte) (all []*schema.Resource, err error) {
	documents := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), len(text)+1)
	for {
		crd := &unstructured.Unstructured{}
		switch err := documents.Decode(&crd.Object); {
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return nil, err
		case crd.GetKind() != "CustomResourceDefinition":
			continue
		}

		defined, err := schema.Definitions(crd)
		if err != nil {
			return nil, err
		}
		for _, d := range defined {
			all = append(all, d.Resource)
		}
	}
}
