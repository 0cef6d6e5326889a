package files

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// sumFiles adds the numbers in two files.
func sumFiles(contents [][]byte) (int, error) {
	a, err := strconv.Atoi(string(contents[0]))
	if err != nil {
		return 0, err
	}
	b, err := strconv.Atoi(string(contents[1]))
	return a + b, err
}

// What can't be read or parsed is an error that names the file, for as long as it is so; the value stays.
func TestBadContentIsRefused(t *testing.T) {
	a, b := filepath.Join(t.TempDir(), "a"), filepath.Join(t.TempDir(), "b")
	writeFile(t, a, "1")
	writeFile(t, b, "2")
	s, err := Open(sumFiles, a, b)
	if err != nil {
		t.Fatal(err)
	}

	expect := func(changed bool, value int, says ...string) {
		t.Helper()
		for range 2 {
			got, err := s.Refresh()
			if got != changed || s.Value() != value || (err == nil) != (len(says) == 0) {
				t.Errorf("changed %v, value %d, %v; want %v, %d", got, s.Value(), err, changed, value)
			}
			for _, want := range says {
				if !strings.Contains(fmt.Sprint(err), want) {
					t.Errorf("no %q in %v", want, err)
				}
			}
			changed = false // the second time nothing is new
		}
	}

	expect(false, 3)
	writeFile(t, a, "5")
	expect(true, 7)
	writeFile(t, b, "x")
	expect(false, 7, a+" with "+b, "invalid syntax")
	writeFile(t, b, "2")
	expect(true, 7)
	writeFile(t, a, "")
	expect(false, 7, a, "is empty")
	if err := os.Remove(a); err != nil {
		t.Fatal(err)
	}

	expect(false, 7, a, "no such file")
	if err := os.Mkdir(a, 0o700); err != nil {
		t.Fatal(err)
	}

	expect(false, 7, a, "is not a file")
	if err := os.Remove(a); err != nil {
		t.Fatal(err)
	}

	writeFile(t, a, strings.Repeat("1", Max+1))
	expect(false, 7, a, "is larger than")
	writeFile(t, a, "8")
	expect(true, 10)
}

func TestOpenNamesTheFile(t *testing.T) {
	if _, err := Open(sumFiles, "/nowhere", "/nowhere"); err == nil || !strings.Contains(err.Error(), "/nowhere") {
		t.Errorf("got %v", err)
	}
}
