package scaffold_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/author/scaffold"
)

// runGoOffline runs the go command as it is where there is nothing but what the folder has, and windlass (make build).
func runGoOffline(t *testing.T, folder string, args ...string) {
	t.Helper()
	c := exec.CommandContext(t.Context(), "go", args...)
	c.Dir = folder
	windlass, err := filepath.Abs("../../_output/windlass")
	if err != nil {
		t.Fatal(err)
	}
	c.Env = append(os.Environ(), "WINDLASS="+windlass, "GOPROXY=off", "GOFLAGS=-mod=mod", "GOWORK=off",
		"GOTOOLCHAIN=local")
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// The SDK compiles by itself, and requires no other module.
func TestSDKAlone(t *testing.T) {
	folder := t.TempDir()
	for range 2 { // it replaces what it wrote before
		if err := scaffold.WriteSDK(folder, "v1"); err != nil {
			t.Fatal(err)
		}
	}
	sdk := filepath.Join(folder, scaffold.SDKFolder)
	runGoOffline(t, sdk, "build", "./...")
	mod, err := os.ReadFile(filepath.Join(sdk, "go.mod"))
	if err != nil || strings.Contains(string(mod), "require") {
		t.Errorf("its go.mod is %v\n%s", err, mod)
	}
	for _, has := range []string{"LICENSE", "abi/abi.proto", "sdk/plugin.go"} {
		if _, err := os.Stat(filepath.Join(sdk, has)); err != nil {
			t.Error(err)
		}
	}
	if tests, _ := filepath.Glob(filepath.Join(sdk, "*", "*_test.go")); len(tests) > 0 {
		t.Errorf("it has %v", tests)
	}
}

// A folder that isn't the SDK's is left alone.
func TestOtherFolder(t *testing.T) {
	folder := t.TempDir()
	if err := os.MkdirAll(filepath.Join(folder, scaffold.SDKFolder, "mine"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := scaffold.WriteSDK(folder, "v1"); err == nil || !strings.Contains(err.Error(), "move it away") {
		t.Errorf("the error is %v", err)
	}
}

// A new plugin's tests pass as it is.
func TestNew(t *testing.T) {
	for _, o := range []scaffold.Options{
		{Name: "hello"},
		{Name: "my-2nd-one", Module: "git.example/team/plugins/other", Kind: "NetworkPolicy", Group: "net.example.com"},
	} {
		o.Folder, o.Version = filepath.Join(t.TempDir(), "new"), "v1"
		folder, files, err := scaffold.New(t.Context(), o)
		if err != nil || folder != o.Folder || len(files) < 8 {
			t.Fatalf("%s: %v, in %s: %v", o.Name, files, folder, err)
		}
		runGoOffline(t, folder, "test", "-count=1", ".")
		if out, err := exec.CommandContext(t.Context(), "gofmt", "-l", folder).CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("gofmt: %v\n%s", err, out)
		}
		if _, _, err := scaffold.New(t.Context(), o); err == nil || !strings.Contains(err.Error(), "isn't empty") {
			t.Errorf("into a folder that isn't empty: %v", err)
		}
	}
}

func TestBadNames(t *testing.T) {
	for _, x := range []struct {
		o    scaffold.Options
		says string
	}{
		{scaffold.Options{Name: ""}, "isn't a valid name for a plugin"},
		{scaffold.Options{Name: "Hello"}, "isn't a valid name for a plugin"},
		{scaffold.Options{Name: "../up"}, "isn't a valid name for a plugin"},
		{scaffold.Options{Name: "hello-"}, "isn't a valid name for a plugin"},
		{scaffold.Options{Name: strings.Repeat("a", 41)}, "isn't a valid name for a plugin"},
		{scaffold.Options{Name: "func"}, "Go package"},
		{scaffold.Options{Name: "sdk"}, "Go package"},
		{scaffold.Options{Name: "hello", Kind: "website", Group: "example.com"}, "--custom-resource"},
		{scaffold.Options{Name: "hello", Group: "example.com"}, "--custom-resource"},
		{scaffold.Options{Name: "hello", Kind: "Website"}, "--group"},
		{scaffold.Options{Name: "hello", Kind: "Website", Group: "example"}, "--group"},
		{scaffold.Options{Name: "hello", Module: "a b"}, "--module"},
		{scaffold.Options{Name: "hello", Module: "github.com/windlass-dev/windlass"}, "--module"},
	} {
		x.o.Folder = filepath.Join(t.TempDir(), "new")
		if _, _, err := scaffold.New(t.Context(), x.o); err == nil || !strings.Contains(err.Error(), x.says) {
			t.Errorf("%q in module %q: %v", x.o.Name, x.o.Module, err)
		}
		if _, err := os.Stat(x.o.Folder); err == nil {
			t.Errorf("%q: something was written", x.o.Name)
		}
	}
}
