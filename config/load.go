package config

import (
	"errors"
	"fmt"
	"io"
	"os"

	"go.yaml.in/yaml/v3"
)

// Load reads, completes and checks the file at path. An empty path gives the defaults.
func Load(path string) (*Configuration, error) {
	if path == "" {
		return Default(), nil
	}
	data, err := readBounded(path)
	if err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	c, err := Decode(data)
	if err == nil {
		err = c.Validate()
	}
	if err != nil {
		return nil, fmt.Errorf("configuration %s: %w", path, err)
	}
	return c, nil
}

// fileMax is how large a configuration file may be, in bytes.
const fileMax = 8 << 20

func readBounded(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, fileMax+1))
	if err == nil && len(b) > fileMax {
		err = fmt.Errorf("%s: more than %d MiB", path, fileMax>>20)
	}
	return b, err
}

// Decode reads one YAML or JSON document over the defaults: a field that it doesn't have, or that is empty, keeps its
// default. It doesn't validate.
//
// Field names are taken to the letter. What isn't known, is there twice or has another type is an error that names the
// field's path; all of them are reported, not just the first.
func Decode(data []byte) (*Configuration, error) {
	root, err := document(data)
	if err != nil {
		return nil, err
	}
	if root.Kind != yaml.MappingNode {
		return nil, fmt.Errorf("line %d: the file must be a map of fields that begins with apiVersion: %s and kind: %s",
			root.Line, APIVersion, Kind)
	}
	c := Default()
	c.APIVersion, c.Kind = "", "" // a file has to say what it is
	d := decoder{}
	d.decodeValue(nil, root, valueOf(c))
	return c, errors.Join(d.errs...)
}
