package main

import "testing"

func TestGeneratedCodeIsFresh(t *testing.T) {
	files, err := generate()
	if err != nil {
		t.Fatal(err)
	}
	stale, err := compare("../../sdk/api", files)
	if err != nil {
		t.Fatal(err)
	}
	if len(stale) > 0 {
		t.Errorf("stale: %v; run: go run ./hack/generate-api", stale)
	}
	stale, err = compare(t.TempDir(), files)
	if err != nil || len(stale) != len(files) {
		t.Errorf("an empty folder: %d of %d files are stale, %v", len(stale), len(files), err)
	}
}
