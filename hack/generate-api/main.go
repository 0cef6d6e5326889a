// Command generate-api writes sdk/api: Kubernetes' types as structs with wire tables, read off k8s.io/api by
// reflection, with its constants.
//
//	go run ./hack/generate-api           write
//	go run ./hack/generate-api -verify   fail where what is there differs from what would be written
//	go run ./hack/generate-api -schemas FILE   write the types' schemas in place of sdk/api
package main

import (
	"bytes"
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"sort"
)

// groups are the packages generated, by their folder in sdk/api: what is stable, for an author may work on any of it.
// What is alpha or beta comes with the first controller that needs it.
var groups = []string{
	"admissionregistration/v1",
	"apps/v1",
	"authentication/v1",
	"authorization/v1",
	"autoscaling/v1",
	"autoscaling/v2",
	"batch/v1",
	"certificates/v1",
	"coordination/v1",
	"core/v1",
	"discovery/v1",
	"events/v1",
	"meta/v1",
	"networking/v1",
	"policy/v1",
	"rbac/v1",
	"resource/v1",
	"scheduling/v1", "scheduling/v1alpha3", // types of batch/v1 are of the latter
	"storage/v1",
	"storagemigration/v1",
}

func main() {
	log.SetFlags(0)
	log.SetPrefix("generate-api: ")
	verify := flag.Bool("verify", false, "fail where sdk/api is stale, and write nothing")
	schemas := flag.String("schemas", "",
		"write the schemas of the types, as controller-gen makes them, to this file, and nothing else")
	flag.Parse()
	if *schemas != "" {
		if err := writeSchemas(*schemas); err != nil {
			log.Fatal(err)
		}
		return
	}

	root, err := moduleRoot()
	if err != nil {
		log.Fatal(err)
	}

	files, err := generate()
	if err != nil {
		log.Fatal(err)
	}

	stale, err := compare(filepath.Join(root, "sdk", "api"), files)
	if err != nil {
		log.Fatal(err)
	}
	if *verify {
		for _, f := range stale {
			log.Print("stale: ", f)
		}
		if len(stale) > 0 {
			log.Fatal("run: go run ./hack/generate-api")
		}
		return
	}

	for _, f := range stale {
		path := filepath.Join(root, "sdk", "api", f)
		content, ok := files[f]
		if !ok {
			err = os.Remove(path)
		} else if err = os.MkdirAll(filepath.Dir(path), 0o755); err == nil {
			err = os.WriteFile(path, content, 0o644)
		}
		if err != nil {
			log.Fatal(err)
		}
	}
}

// moduleRoot is the folder above the working directory that has a go.mod.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for d := dir; ; d = filepath.Dir(d) {
		if _, err := os.Stat(filepath.Join(d, "go.mod")); err == nil {
			return d, nil
		}
		if d == filepath.Dir(d) {
			return "", fmt.Errorf("no go.mod above %s: run it inside the repository", dir)
		}
	}
}

// compare names the generated files below dir that differ from files, are missing, or should not be there.
func compare(dir string, files map[string][]byte) ([]string, error) {
	var stale []string
	there, err := filepath.Glob(filepath.Join(dir, "*", "*", "zz_*.go"))
	if err != nil {
		return nil, err
	}
	tests, err := filepath.Glob(filepath.Join(dir, "conformance", "zz_*.go"))
	if err != nil {
		return nil, err
	}
	for _, path := range append(there, tests...) {
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return nil, err
		}
		if _, ok := files[rel]; !ok {
			stale = append(stale, rel)
		}
	}
	for rel, content := range files {
		if old, err := os.ReadFile(filepath.Join(dir, rel)); err != nil || !bytes.Equal(old, content) {
			stale = append(stale, rel)
		}
	}
	sort.Strings(stale)
	return stale, nil
}
