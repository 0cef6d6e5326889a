package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/controller-tools/pkg/crd"
	"sigs.k8s.io/controller-tools/pkg/loader"
	crdmarkers "sigs.k8s.io/controller-tools/pkg/markers"

	"github.com/windlass-dev/windlass/author/generate/table"
)

// homes are the SDK's packages for originals that aren't among the groups.
var homes = map[string]string{
	"k8s.io/apimachinery/pkg/types":        sdkPath + "api/meta/v1",
	"k8s.io/apimachinery/pkg/api/resource": table.WirePath,
	"k8s.io/apimachinery/pkg/util/intstr":  table.WirePath,
	"k8s.io/apimachinery/pkg/runtime":      table.WirePath,
}

// copies are types that have a name in several of the SDK's packages.
var copies = []struct{ from, fromName, to, toName string }{
	{sdkPath + "api/meta/v1", "Time", table.WirePath, "Time"},
	{sdkPath + "api/meta/v1", "MicroTime", table.WirePath, "MicroTime"},
	{table.WirePath, "Quantity", sdkPath + "resource", "Quantity"},
	{table.WirePath, "IntOrString", sdkPath + "api/meta/v1", "IntOrString"},
	{table.WirePath, "RawExtension", sdkPath + "api/meta/v1", "RawExtension"},
}

// writeSchemas writes the schemas that controller-gen makes of the types, by the SDK's package and the type, for
// windlass plugin generate.
func writeSchemas(name string) error {
	homes[metaPath] = sdkPath + "api/meta/v1"
	paths := []string{"k8s.io/apimachinery/pkg/types", "k8s.io/apimachinery/pkg/api/resource",
		"k8s.io/apimachinery/pkg/util/intstr", "k8s.io/apimachinery/pkg/runtime"}
	for _, g := range groups {
		paths = append(paths, sourcePath(g))
		homes[sourcePath(g)] = sdkPath + "api/" + g
	}
	roots, err := loader.LoadRoots(paths...)
	if err != nil {
		return err
	}

	registry := &crdmarkers.Registry{}
	if err := (crd.Generator{}).RegisterMarkers(registry); err != nil {
		return err
	}

	parser := &crd.Parser{Collector: &crdmarkers.Collector{Registry: registry},
		Checker: &loader.TypeChecker{NodeFilters: []loader.NodeFilter{crd.Generator{}.CheckFilter()}}}
	crd.AddKnownTypes(parser)
	pkgs, err := gatherTypes()
	if err != nil {
		return err
	}

	all := map[string]map[string]apiextensionsv1.JSONSchemaProps{}
	for _, r := range roots {
		parser.NeedPackage(r)
		if p := pkgs[r.PkgPath]; p != nil {
			for _, t := range p.types {
				if t.PkgPath() == r.PkgPath {
					parser.NeedSchemaFor(crd.TypeIdent{Package: r, Name: t.Name()})
				}
			}
		}
	}

	for _, p := range homes {
		all[p] = map[string]apiextensionsv1.JSONSchemaProps{}
	}
	for ident, schema := range parser.Schemata {
		home := homes[ident.Package.PkgPath]
		if home == "" {
			continue
		}
		if err := redirectReferences(&schema, home); err != nil {
			return fmt.Errorf("%s: %w", ident, err)
		}
		all[home][ident.Name] = schema
	}

	all[sdkPath+"resource"] = map[string]apiextensionsv1.JSONSchemaProps{}
	for _, c := range copies {
		schema, ok := all[c.from][c.fromName]
		if !ok {
			return fmt.Errorf("no schema of %s.%s", c.from, c.fromName)
		}
		all[c.to][c.toName] = schema
	}

	yes := true
	all[sdkPath+"api/apiextensions/v1"] = map[string]apiextensionsv1.JSONSchemaProps{
		"JSON": {XPreserveUnknownFields: &yes}}
	j, err := json.Marshal(all)
	if err != nil {
		return err
	}

	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return err
	}
	if _, err := z.Write(j); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}

	return os.WriteFile(name, b.Bytes(), 0o644)
}

// redirectReferences has a schema's references lead to the SDK's packages; home is the one that the schema is in.
func redirectReferences(schema *apiextensionsv1.JSONSchemaProps, home string) (err error) {
	crd.EditSchema(schema, visitor(func(s *apiextensionsv1.JSONSchemaProps) {
		if s.Ref == nil || *s.Ref == "" {
			return
		}
		name, pkg, e := crd.RefParts(*s.Ref)
		if e != nil {
			err = e
			return
		}
		if pkg == "" || strings.HasPrefix(pkg, module) { // the walk comes back to a reference that was changed
			return
		}
		to := homes[pkg]
		if to == "" {
			err = fmt.Errorf("refers to %s.%s, which the SDK doesn't have", pkg, name)
			return
		}
		if to == home {
			to = ""
		}
		link := crd.TypeRefLink(to, name)
		s.Ref = &link
	}))
	return err
}

type visitor func(*apiextensionsv1.JSONSchemaProps)

func (v visitor) Visit(s *apiextensionsv1.JSONSchemaProps) crd.SchemaVisitor {
	if s != nil {
		v(s)
	}
	return v
}
