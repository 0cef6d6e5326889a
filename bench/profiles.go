package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/windlass-dev/windlass/bench/scenario"
)

// writeSummaries writes of each profile what took most, as text, and of those of the processor a summary in the form
// that docs/performance.md has.
func writeSummaries(ctx context.Context, folder string, scenarios []*scenario.Scenario) error {
	for pattern, options := range map[string][]string{"*.cpu": {"-nodecount=25"},
		"*.heap": {"-nodecount=25", "-sample_index=inuse_space"}} {
		files, err := filepath.Glob(filepath.Join(folder, pattern))
		if err != nil {
			return err
		}
		for _, f := range files {
			out, err := pprofTop(ctx, f, options...)
			if err == nil {
				err = os.WriteFile(f+".txt", out, 0o644)
			}
			if err != nil {
				return err
			}
		}
	}

	var all bytes.Buffer
	for _, s := range scenarios {
		f := filepath.Join(folder, s.Name+".cpu")
		if _, err := os.Stat(f); err != nil {
			continue // an idle manager has none
		}
		out, err := pprofTop(ctx, f, "-cum", "-nodecount=250")
		if err != nil {
			return err
		}
		fmt.Fprintf(&all, "### %s\n\n```\n%s```\n\n", s.Name, summary(out, 9))
	}

	return os.WriteFile(filepath.Join(folder, "profiles.md"), all.Bytes(), 0o644)
}

func pprofTop(ctx context.Context, file string, options ...string) ([]byte, error) {
	out, err := exec.CommandContext(ctx, "go",
		append(append([]string{"tool", "pprof", "-top"}, options...), file)...).Output()
	if err != nil {
		return nil, fmt.Errorf("go tool pprof -top %s: %w", file, err)
	}
	return out, nil
}

var (
	// telling are functions that say where time goes: Windlass's own, the compiler's, the wire's and the collector's.
	telling = regexp.MustCompile(`windlass/(host|plugins|abi)|tetratelabs/wazero/|runtime\._ExternalCode|runtime\.gcBgMarkWorker$|runtime\.mallocgc$|http2\.\(\*ClientConn\)\.readLoop|crypto/tls\.\(\*Conn\)\.(Read|Write|HandshakeContext)$|rest/watch\.\(\*Decoder\)\.Decode|rest\.\(\*Request\)\.Do$|compress/flate\.\(\*decompressor\)\.Read`)
	// wrappers do nothing but call what follows them.
	wrappers = regexp.MustCompile(`\.func\d|controller\.\(\*worker\)\.next|manager\.Run$|manager\.\(\*router\)|views\.\(\*Router\)|wazevo\.\(\*callEngine\)|wazero/api\.`)
	prefixes = strings.NewReplacer("github.com/windlass-dev/windlass/", "",
		"github.com/tetratelabs/wazero/internal/engine/", "", "github.com/tetratelabs/", "", "golang.org/x/net/", "",
		"k8s.io/client-go/", "", "[go.shape.", "[…", " (inline)", "")
)

// summary is so many lines of those of pprof -top -cum that tell something: the share with all that was called, and the
// function.
func summary(out []byte, lines int) string {
	var b strings.Builder
	for line := range strings.Lines(string(out)) {
		f := strings.Fields(line)
		if len(f) < 6 || !strings.HasSuffix(f[4], "%") || lines == 0 {
			continue
		}
		if name := strings.Join(f[5:], " "); telling.MatchString(strings.TrimSuffix(name, " (inline)")) &&
			!wrappers.MatchString(name) {
			fmt.Fprintf(&b, "%7s  %s\n", f[4], prefixes.Replace(name))
			lines--
		}
	}
	return b.String()
}
