package sandbox

import (
	"context"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/tetratelabs/wazero/api"

	"github.com/windlass-dev/windlass/host/printable"
	"github.com/windlass-dev/windlass/host/sandbox/rewrite"
)

const (
	hostModule = "windlass"

	exportMemory     = "memory"
	exportMarker     = "windlass_abi_v1"
	exportInitialize = "_initialize"
	exportAlloc      = "windlass_alloc"
	exportManifest   = "windlass_manifest"
	exportConfigure  = "windlass_configure"
	exportSync       = "windlass_sync"
)

// The signatures of the ABI, as package rewrite writes value types.
const (
	i32 = "\x7f"
	i64 = "\x7e"
)

var exports = []struct {
	name     string
	typ      rewrite.Signature
	optional bool
}{
	{exportAlloc, rewrite.Signature{Params: i32, Results: i32}, false},
	{exportManifest, rewrite.Signature{Results: i64}, false},
	{exportConfigure, rewrite.Signature{Results: i64}, false},
	{exportSync, rewrite.Signature{Results: i64}, false},
	{exportInitialize, rewrite.Signature{}, true},
}

// hostFunction is a function that a guest may import.
type hostFunction struct {
	typ  rewrite.Signature
	call func(i *instance, stack []uint64)
}

// guarded calls a function for a guest; a panic in it that isn't meant to end the guest's call ends that call, too, and
// says whose it is.
func (f *hostFunction) guarded(name string, i *instance, stack []uint64) {
	defer func() {
		x := recover()
		if x == nil {
			return
		}
		if _, ok := x.(*abort); !ok {
			x = &abort{kind: ErrHost, cause: &HostPanic{Function: name, Value: x, Stack: debug.Stack()}}
		}
		panic(x)
	}()
	f.call(i, stack)
}

var windlassFunctions = map[string]hostFunction{
	"log":     {rewrite.Signature{Params: i32 + i32 + i32}, hostLog},
	"perform": {rewrite.Signature{Params: i32 + i32, Results: i32}, hostPerform},
	"outcome": {rewrite.Signature{Params: i32}, hostOutcome},
}

var meterFunctions = map[string]hostFunction{
	rewrite.RefillImport: {rewrite.Signature{}, func(i *instance, _ []uint64) { i.refill() }},
	rewrite.GrowImport:   {rewrite.Signature{Params: i32, Results: i32}, hostGrow},
}

// available returns the functions of a module that guests may import from, nil where there is no such module.
func (o *Options) available(module string) map[string]hostFunction {
	switch module {
	case wasiModule:
		return wasiFunctions
	case hostModule:
		all := maps.Clone(windlassFunctions)
		for name, helper := range o.Helpers {
			all[name] = hostFunction{rewrite.Signature{Params: i32 + i32, Results: i32},
				func(i *instance, stack []uint64) { hostHelper(i, name, helper, stack) }}
		}
		return all
	}
	return nil
}

// checkABI says what keeps a module from being a plugin.
func checkABI(m *rewrite.Module, o *Options) error {
	for _, im := range m.Imports {
		f, ok := o.available(im.Module)[im.Name]
		if !ok {
			return fmt.Errorf("imports %s.%s: a plugin may import only windlass.{%s}: build it without the code that needs "+
				"this import",
				printable.Line(im.Module, 80), printable.Line(im.Name, 80),
				strings.Join(slices.Sorted(maps.Keys(o.available(hostModule))), ", "))
		}
		if f.typ != im.Type {
			return fmt.Errorf("imports %s.%s with type %v, but its type is %v: build the plugin against this ABI", im.Module,
				im.Name, im.Type,
				f.typ)
		}
	}

	byName := make(map[string]rewrite.Export, len(m.Exports))
	for _, e := range m.Exports {
		byName[e.Name] = e
	}

	if e, ok := byName[exportMarker]; !ok || e.Kind != rewrite.Function && e.Kind != rewrite.Global {
		return fmt.Errorf("no export %s: not a Windlass plugin, or built for another ABI", exportMarker)
	}
	if e, ok := byName[exportMemory]; !ok || e.Kind != rewrite.Memory || !m.HasMemory {
		return fmt.Errorf("no memory exported as %q: export the module's memory under that name", exportMemory)
	}

	for _, want := range exports {
		e, ok := byName[want.name]
		switch {
		case !ok && want.optional:
		case !ok || e.Kind != rewrite.Function:
			return fmt.Errorf("no function %s%v exported: build the plugin against ABI v1", want.name, want.typ)
		case e.Type != want.typ:
			return fmt.Errorf("export %s is %v, must be %v: build the plugin against ABI v1", want.name, e.Type, want.typ)
		}
	}

	if memory := int64(m.MemoryMin) * pageSize; memory > MaxMemoryLimit {
		return fmt.Errorf("declares %d pages of memory (%s), no plugin may have more than %s: build it smaller", m.MemoryMin,
			sizeText(memory), sizeText(MaxMemoryLimit))
	}

	if int64(m.MemoryMin)*pageSize > o.MemoryLimit {
		return fmt.Errorf("declares %d pages of memory (%s), limit is %s: raise limits.memory or build it smaller",
			m.MemoryMin, sizeText(int64(m.MemoryMin)*pageSize), sizeText(o.MemoryLimit))
	}
	return nil
}

// defineImports puts into the runtime what the plugin imports.
func (m *Module) defineImports(ctx context.Context, parsed *rewrite.Module) error {
	modules := map[string]map[string]hostFunction{rewrite.MeterModule: meterFunctions}
	for _, im := range parsed.Imports {
		if modules[im.Module] == nil {
			modules[im.Module] = map[string]hostFunction{}
		}
		if f, ok := m.options.available(im.Module)[im.Name]; ok {
			modules[im.Module][im.Name] = f
		}
	}

	for name, functions := range modules {
		b := m.runtime.NewHostModuleBuilder(name)
		for export, f := range functions {
			full := name + "." + export
			b.NewFunctionBuilder().WithGoFunction(api.GoFunc(func(ctx context.Context, stack []uint64) {
				f.guarded(full, ctx.Value(instanceKey{}).(*instance), stack)
			}), []api.ValueType(f.typ.Params), []api.ValueType(f.typ.Results)).Export(export)
		}
		compiled, err := b.Compile(ctx)
		if err == nil {
			_, err = m.runtime.InstantiateModule(ctx, compiled, newModuleConfig())
		}
		if err != nil {
			return fmt.Errorf("defining module %s: %w", name, err)
		}
	}
	return nil
}
