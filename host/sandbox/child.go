package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"runtime"
	"strconv"
	"sync"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/windlass-dev/windlass/host/sandbox/rewrite"
)

// What compiling an untrusted module may take, at most. wazero's compiler cannot be cancelled, and modules within all
// limits of package rewrite can still keep it busy for many minutes; so a child process compiles them, and the host
// takes the code that the child leaves.
//
// Tests have less patience, or more.
var (
	childTime          = time.Minute
	childSeconds       = 10 // of processor time
	childMemory  int64 = 1 << 30
)

// What a child's share of the processors is. At first it has what nobody else wants: most modules are compiled in a
// tenth of a second, and syncs don't notice. A machine without idle time would never come to it, so what isn't done
// after idleTime is begun anew, for a share.
const (
	priorityIdle  = "idle"
	priorityShare = "share"
	idleTime      = 3 * time.Second
)

// childName is the name under which a process is started as such a child: the running program itself, whatever program
// it is.
const childName = "windlass-compile-check"

// oneChild keeps many modules at once from taking the memory of as many children.
var oneChild sync.Mutex

// compileInChild compiles the module in a child process that has the limits above, and returns the reason where that
// fails. The child leaves the native code in the module's folder, if it has one.
func (m *Module) compileInChild(ctx context.Context, wasm []byte) error {
	oneChild.Lock()
	defer oneChild.Unlock()
	ctx, cancel := context.WithTimeoutCause(ctx, childTime, errChildTime)
	defer cancel()
	folder := ""
	if m.code != nil {
		folder = m.code.folder
	}
	run := func(ctx context.Context, priority string) error {
		return runChild(ctx, wasm, folder, strconv.Itoa(int(m.limit)), priority, strconv.Itoa(childSeconds),
			strconv.FormatInt(childMemory, 10))
	}
	idle, stop := context.WithTimeout(ctx, idleTime)
	err := run(idle, priorityIdle)
	if idle.Err() != nil && ctx.Err() == nil && err != nil {
		err = run(ctx, priorityShare)
	}
	stop()
	switch {
	case err == nil:
		return nil
	case context.Cause(ctx) != nil:
		err = context.Cause(ctx)
	}
	return fmt.Errorf("compiling the module in a child process: %w", err)
}

var (
	errChildTime   = fmt.Errorf("not done after %v: split its largest functions", childTime)
	errChildCPU    = errors.New("it takes too much processor time: split its largest functions")
	errChildMemory = fmt.Errorf("it takes more than %s of memory: split its largest functions", sizeText(childMemory))
)

// childMain is what the child does: all that the host will do with the module before it runs it.
func childMain(args []string, in io.Reader) error {
	if len(args) < 2 {
		return errors.New("arguments: folder pages seconds")
	}
	folder := args[0]
	pages, err := strconv.ParseUint(args[1], 10, 16)
	if err != nil {
		return err
	}

	wasm, err := io.ReadAll(io.LimitReader(in, rewrite.MaxModuleBytes+1))
	if err != nil {
		return err
	}

	parsed, err := rewrite.Parse(wasm)
	if err != nil {
		return err
	}

	config := runtimeConfig(folder == "", uint32(pages))
	if folder != "" {
		cache, err := wazero.NewCompilationCacheWithDir(folder)
		if err != nil {
			return err
		}
		config = config.WithCompilationCache(cache)
	}

	_, err = compileChecked(context.Background(), parsed, uint32(pages), config)
	return err
}

// validate has wazero check a module as delivered. Checking only the rewritten one would let a module name the counter
// that rewriting adds.
func validate(ctx context.Context, delivered []byte, limit uint32) error {
	r := wazero.NewRuntimeWithConfig(ctx, runtimeConfig(true, limit))
	defer r.Close(ctx)
	if _, err := r.CompileModule(ctx, delivered); err != nil {
		return fmt.Errorf("module is invalid: %w: it is damaged, or needs a feature that is not allowed here: build it "+
			"for generic wasm32", err)
	}
	return nil
}

func compile(ctx context.Context, r wazero.Runtime, rewritten []byte) (wazero.CompiledModule, error) {
	c, err := r.CompileModule(experimental.WithCompilationWorkers(ctx, runtime.GOMAXPROCS(0)), rewritten)
	if path := (*fs.PathError)(nil); errors.As(err, &path) {
		return nil, noRoom(fmt.Errorf("keeping the native code: %w", err))
	}
	if err != nil {
		return nil, fmt.Errorf("compiling the rewritten module (a bug of windlass): %w", err)
	}
	return c, nil
}

// features are those that the rewriter decodes fully, and no others.
const features = api.CoreFeatureMutableGlobal | api.CoreFeatureSignExtensionOps |
	api.CoreFeatureNonTrappingFloatToIntConversion |
	api.CoreFeatureMultiValue | api.CoreFeatureBulkMemoryOperations | api.CoreFeatureReferenceTypes

func runtimeConfig(interpreter bool, limit uint32) wazero.RuntimeConfig {
	c := wazero.NewRuntimeConfig()
	if interpreter {
		c = wazero.NewRuntimeConfigInterpreter()
	}
	return c.WithCoreFeatures(features).WithMemoryLimitPages(limit).WithDebugInfoEnabled(false).WithCustomSections(false)
}
