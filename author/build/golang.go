package build

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// golang is the go command.
type golang struct{ version string }

func findGo(ctx context.Context) (*golang, error) {
	said, err := exec.CommandContext(ctx, "go", "env", "GOVERSION").Output()
	if err != nil {
		return nil, fmt.Errorf("no go command: %w: install Go", err)
	}
	return &golang{strings.TrimPrefix(strings.TrimSpace(string(said)), "go")}, nil
}

func (g *golang) nameAndVersion() string { return "Go " + g.version }

// command builds a reactor, which the host calls as it calls any other module. The paths in it are what a panic tells:
// whole ones in a debug form, which stays where it was built.
func (g *golang) command(ctx context.Context, source, out, version string, debug bool) *exec.Cmd {
	c := exec.CommandContext(ctx, "go", "build", "-buildmode=c-shared", fmt.Sprintf("-trimpath=%t", !debug),
		"-ldflags=-s -w -X="+versionVariable+"="+version, "-o", out, source)
	c.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0")
	return c
}
