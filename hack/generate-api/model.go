package main

import (
	"fmt"
	"path"
	"reflect"
	"sort"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/windlass-dev/windlass/author/generate/table"
)

const (
	apiPath  = "k8s.io/api/"
	metaPath = "k8s.io/apimachinery/pkg/apis/meta/v1"
	module   = "github.com/windlass-dev/windlass/"
	sdkPath  = module + "sdk/"
	wirePath = table.WirePath
)

// metaRoots are the types of meta/v1 that no object refers to, but plugins use.
var metaRoots = []any{metav1.Status{}, metav1.DeleteOptions{}, metav1.PartialObjectMetadata{},
	metav1.PartialObjectMetadataList{}, metav1.Condition{},
	metav1.LabelSelector{}, metav1.APIGroup{}, metav1.APIResourceList{}, types.UID(""), types.NodeName("")}

// special are the types that wire has by hand.
var special = map[reflect.Type]string{
	reflect.TypeFor[metav1.Time]():          "Time",
	reflect.TypeFor[metav1.MicroTime]():     "MicroTime",
	reflect.TypeFor[resource.Quantity]():    "Quantity",
	reflect.TypeFor[intstr.IntOrString]():   "IntOrString",
	reflect.TypeFor[metav1.FieldsV1]():      "RawExtension",
	reflect.TypeFor[runtime.RawExtension](): "RawExtension",
}

// pkg is a package to be written.
type pkg struct {
	dir   string // core/v1
	path  string // of k8s.io's package
	types []reflect.Type
	kinds []kind
}

// kind is an object that the API server serves.
type kind struct {
	gvk    schema.GroupVersionKind
	goName string // of the plural
	plural string
	t      reflect.Type
}

func sourcePath(dir string) string {
	if dir == "meta/v1" {
		return metaPath
	}
	return apiPath + dir
}

// gatherTypes gathers the types that the groups' objects reach.
func gatherTypes() (map[string]*pkg, error) {
	pkgs := map[string]*pkg{}
	for _, g := range groups {
		pkgs[sourcePath(g)] = &pkg{dir: g, path: sourcePath(g)}
	}
	w := walker{pkgs: pkgs, seen: map[reflect.Type]bool{}}
	for _, r := range metaRoots {
		w.walkType(reflect.TypeOf(r))
	}
	for gvk, t := range scheme.Scheme.AllKnownTypes() {
		p := pkgs[t.PkgPath()]
		if p == nil || gvk.Version == runtime.APIVersionInternal || p.path == metaPath {
			continue
		}
		w.walkType(t)
		if f, ok := t.FieldByName("ObjectMeta"); ok && f.Anonymous {
			plural, _ := meta.UnsafeGuessKindToResource(gvk)
			p.kinds = append(p.kinds, kind{gvk, table.Plural(gvk.Kind, plural.Resource), plural.Resource, t})
		}
	}
	for _, p := range pkgs {
		sort.Slice(p.types, func(i, j int) bool { return p.types[i].Name() < p.types[j].Name() })
		sort.Slice(p.kinds, func(i, j int) bool { return p.kinds[i].gvk.Kind < p.kinds[j].gvk.Kind })
	}
	return pkgs, w.err
}

type walker struct {
	pkgs map[string]*pkg
	seen map[reflect.Type]bool
	err  error
}

func (w *walker) walkType(t reflect.Type) {
	if special[t] != "" || w.seen[t] {
		return
	}
	w.seen[t] = true
	if t.Name() != "" && t.PkgPath() != "" {
		if p := w.pkgs[homePackage(t)]; p != nil {
			p.types = append(p.types, t)
		} else if w.err == nil {
			w.err = fmt.Errorf("%s is of a package that is not among the groups", t)
		}
	}
	switch t.Kind() {
	case reflect.Map:
		w.walkType(t.Key())
		w.walkType(t.Elem())
	case reflect.Pointer, reflect.Slice:
		w.walkType(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			w.walkType(t.Field(i).Type)
		}
	}
}

// homePackage returns the path of the package that a type is written to.
func homePackage(t reflect.Type) string {
	if t.PkgPath() == "k8s.io/apimachinery/pkg/types" {
		return metaPath
	}
	return t.PkgPath()
}

// field is a struct's field as its tags have it.
type field struct {
	reflect.StructField
	num  int
	json string
	keep bool
}

func structFields(t reflect.Type) ([]field, error) {
	var fs []field
	for i := range t.NumField() {
		f := field{StructField: t.Field(i)}
		if tag := f.Tag.Get("protobuf"); tag != "" {
			parts := strings.Split(tag, ",")
			n, err := strconv.Atoi(parts[1])
			if err != nil {
				return nil, fmt.Errorf("%s.%s: protobuf tag %q: %w", t, f.Name, tag, err)
			}
			f.num = n
		} else if f.Name != "TypeMeta" {
			return nil, fmt.Errorf("%s.%s has no protobuf tag", t, f.Name)
		}
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		f.json, f.keep = name, !strings.Contains(options, "omitempty") && name != ""
		if name == "" && !f.Anonymous || name == "-" {
			return nil, fmt.Errorf("%s.%s has no JSON name", t, f.Name)
		}
		fs = append(fs, f)
	}
	return fs, nil
}

// importAlias returns the name that a package is imported by: corev1.
func importAlias(dir string) string { return strings.ReplaceAll(path.Dir(dir)+path.Base(dir), "/", "") }
