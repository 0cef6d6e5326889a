// Package rewrite turns a WebAssembly module into one whose running the host can meter, stop and put back.
//
// Parse decodes a module strictly and refuses what the rewriting could not keep its promises for: features that it does
// not fully decode, imported memories and tables, start functions, instructions that change tables or segments, and
// shapes that drive wazero's compiler to minutes and gigabytes. Rewrite then gives the same module with these changes:
//
//   - A function's entry pays for the instructions outside its loops, a loop's header for those directly in the loop,
//     bulk memory operations by their size. Payment is taken from the global FuelGlobal; a function that looks at it
//     and finds it below zero calls the import RefillImport. It looks often enough, see looks.go.
//   - A call takes one from the global DepthGlobal and gives it back; a function that finds it below zero calls
//     RefillImport.
//   - The memory is created at a fixed size. memory.size reads the global PagesGlobal, memory.grow calls the import
//     GrowImport.
//   - Every mutable global is exported, so that the host can put it back.
//   - Custom sections are dropped, but for function names.
//
// The caller validates the module between the two steps (Module.Delivered): rewriting an invalid module can make it
// valid, and let it reach what was added.
package rewrite

// Names of what the rewritten module has beyond the original. No module may use ReservedPrefix in its exports.
const (
	ReservedPrefix = "windlass."
	FuelGlobal     = ReservedPrefix + "fuel"   // i64, starts at 0: the host sets it before each call
	DepthGlobal    = ReservedPrefix + "depth"  // i64, starts at 0: how many calls may still nest
	PagesGlobal    = ReservedPrefix + "pages"  // i32, starts at the memory's declared minimum
	mutablePrefix  = ReservedPrefix + "global" // and the global's index

	// MeterModule is the module of the two added imports.
	MeterModule  = "windlass.meter"
	RefillImport = "refill" // ()
	GrowImport   = "grow"   // (pages i32) -> i32, as memory.grow
)

// Limits of what is compiled. wazero's compiler cannot be cancelled, and is super-linear in some of these: 29 bytes
// that declare many locals take it 11 s and 2 GiB, 400 nested loops 20 s.
const (
	MaxModuleBytes       = 8 << 20
	MaxBodyBytes         = 64 << 10
	MaxLocals            = 1000 // parameters included
	MaxNestedLoops       = 32
	MaxNestedBlocks      = 1024
	MaxLocalsTimesBlocks = 250_000
	MaxTableEntries      = 10_000
	MaxResults           = 64
	MaxTypes             = 10_000
	MaxImports           = 1000
	MaxFunctions         = 50_000
	MaxMutableGlobals    = 1000

	// Every instance has memory of its own, on the Go heap, for these.
	MaxGlobals  = 10_000
	MaxExports  = 10_000
	MaxSegments = 100_000 // of elements, of data
	MaxElements = 100_000 // in all segments
)
