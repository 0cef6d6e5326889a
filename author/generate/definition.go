package generate

import (
	"bytes"
	"compress/gzip"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/controller-tools/pkg/crd"
	"sigs.k8s.io/controller-tools/pkg/loader"
	"sigs.k8s.io/yaml"
)

// schemas holds what `make schemas` built before this package was compiled: nothing, if it didn't run.
//
//go:embed schemas
var schemas embed.FS

// overrides give controller-tools the schemas of the types that the SDK has, by package and type: those of the
// originals, with their descriptions and markers.
func overrides() (map[string]crd.PackageOverride, error) {
	b, err := schemas.ReadFile("schemas/kubernetes.json.gz")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errors.New("this windlass was built without the schemas of Kubernetes' types: build it with make build")
	}
	if err != nil {
		return nil, err
	}
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	var all map[string]map[string]apiextensionsv1.JSONSchemaProps
	if err := json.NewDecoder(z).Decode(&all); err != nil {
		return nil, fmt.Errorf("the schemas of Kubernetes' types: %w", err)
	}
	o := map[string]crd.PackageOverride{}
	for path, types := range all {
		o[path] = func(p *crd.Parser, pkg *loader.Package) {
			for name, schema := range types {
				p.Schemata[crd.TypeIdent{Package: pkg, Name: name}] = schema
			}
		}
	}
	return o, nil
}

// definition is a CustomResourceDefinition with the types that its versions come from.
type definition struct {
	apiextensionsv1.CustomResourceDefinition
	kinds []crd.TypeIdent
}

// definitions makes those of all kinds of the roots.
func (p *program) definitions() []definition {
	meta := p.all[metaPath]
	if meta == nil {
		p.addProblem(Problem{Message: "no package with a group imports " + metaPath +
			": a kind is a struct that embeds its TypeMeta and ObjectMeta"})
		return nil
	}

	var list []definition
	for _, kind := range crd.FindKubeKinds(p.parser, meta) {
		d := definition{}
		for _, r := range p.roots {
			ident := crd.TypeIdent{Package: r, Name: kind.Kind}
			if p.parser.GroupVersions[r].Group == kind.Group && p.parser.Types[ident] != nil {
				d.kinds = append(d.kinds, ident)
			}
		}
		if kind.Group == "" || len(d.kinds) == 0 {
			continue // of a package that serves others
		}
		p.parser.NeedCRDFor(kind, nil)
		d.CustomResourceDefinition = p.parser.CustomResourceDefinitions[kind]
		crd.FixTopLevelMetadata(d.CustomResourceDefinition)
		list = append(list, d)
	}

	if len(list) == 0 && len(p.problems) == 0 {
		for _, r := range p.roots {
			p.problem(r.Syntax[0].Name, "",
				"no kind in package %s: a kind is a struct that embeds metav1.TypeMeta `json:\",inline\"` and metav1.ObjectMeta `json:\"metadata,omitempty\"`", r.Name)
		}
	}
	return list
}

// marshalYAML returns the definition as controller-gen writes it.
func (d *definition) marshalYAML() ([]byte, error) {
	for _, v := range d.Spec.Versions {
		if m, ok := v.Schema.OpenAPIV3Schema.Properties["metadata"]; ok {
			m.Description = ""
			v.Schema.OpenAPIV3Schema.Properties["metadata"] = m
		}
	}
	j, err := json.Marshal(d.CustomResourceDefinition)
	if err != nil {
		return nil, err
	}
	var object map[string]any
	decoder := json.NewDecoder(bytes.NewReader(j))
	decoder.UseNumber()
	if err := decoder.Decode(&object); err != nil {
		return nil, err
	}
	delete(object, "status")
	if m, ok := object["metadata"].(map[string]any); ok {
		delete(m, "creationTimestamp")
	}
	b, err := yaml.Marshal(object)
	return append([]byte("---\n"), b...), err
}
