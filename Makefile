# Windlass. `make` alone lists the targets; each builds what it needs first, on nothing but Debian, Go 1.26, gcc, git and make.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.SUFFIXES:
MAKEFLAGS += --no-builtin-rules
# Without cgo windlass is static: it runs in an image that has nothing else. Its tests and tools are built without, too,
# so that what imports net is compiled once. What needs it (hack/toolchain.sh, the race detector) says so itself.
export CGO_ENABLED := 0

out := _output
tinygo := $(out)/toolchain/tinygo

plugins := $(patsubst plugins/%/module/main.go,%,$(wildcard plugins/*/module/main.go))
modules := $(plugins:%=plugins/modules/%.wasm)
strays := $(filter-out $(modules),$(wildcard plugins/modules/*.wasm))
# What every module is made from; each plugin's own sources are added by the rule below.
guest_sources := Makefile go.mod $(shell find abi sdk plugins/shared -name '*.go' ! -name '*_test.go')

# What finishes a module: the manifest as a section, the native code, and the Go file that embeds it.
finisher := $(out)/module
finisher_sources := go.mod $(shell find abi host/sandbox host/plugins/module hack/module -name '*.go' ! -name '*_test.go')

# What windlass plugin generate knows of Kubernetes' own types.
schemas := author/generate/schemas/kubernetes.json.gz

# Go modules with packages in them: the root and the nested ones.
go_modules := $(patsubst %/go.mod,%,$(wildcard go.mod */go.mod))
go_modules := $(patsubst go.mod,.,$(go_modules))
all_modules := $(go_modules) hack/lint hack/tinygo examples/migrating/controller-runtime
# These need the SDK and nothing else: go mod tidy would add what the SDK's own tests need.
examples := $(patsubst %/go.mod,%,$(wildcard examples/*/go.mod examples/migrating/windlass/go.mod))

# The version that the components of devcluster tell: a module's build doesn't know its own.
kubernetes := v1.37.0
version_package := k8s.io/component-base/version
devcluster_flags := -s -w -X $(version_package).gitVersion=$(kubernetes) -X $(version_package).gitMajor=1 -X $(version_package).gitMinor=37

# What windlass version says, and the metric kubernetes_build_info. Stripped: stacks and profiles have their names all the same.
process := github.com/windlass-dev/windlass/host/process
windlass_flags = -s -w -X $(process).stampedVersion=$(shell git describe --tags --always --dirty 2>/dev/null) \
	-X $(process).stampedCommit=$(shell git rev-parse HEAD 2>/dev/null)

##@ Using

help: ## List the targets
	@awk 'BEGIN {FS = ":.*## "} /^##@/ {printf "\n%s\n", substr($$0, 5)} /^[a-z-]+:.*## / {printf "  make %-15s %s\n", $$1, $$2}' Makefile

demo: build devcluster ## A Deployment's life on a real cluster, run by Windlass alone
	go run ./test/demo

takeover: build devcluster ## Windlass takes over from the native kube-controller-manager, and back again, also by its Lease
	go test -count=1 -v ./test/takeover/...
	go test -count=1 -v -run TestNative ./test/leadership

bench-sandbox: plugins devcluster ## Sandboxed syncs beside the same code compiled natively; compiling, size, start
	go test -count=1 -run '^TestStartsWithinASecond$$' -bench . ./test/speed

bench: build devcluster ## Windlass beside the native manager, into bench/RESULTS.md: a quarter of an hour; FULL=1: all, two hours, and on from where it was interrupted
	cd bench && go build -o ../$(out)/bench .
	$(out)/bench -results bench -raw $(out)/bench.json $(if $(FULL),-full -more 6m -continue) $(if $(PAIRS),-pairs $(PAIRS)) $(if $(SCENARIOS),-scenarios $(SCENARIOS))

growth: build devcluster ## How cost grows with 1, 10 and 100 thousand pods, beside the native manager's, into _output/growth
	cd bench && go build -o ../$(out)/bench .
	$(out)/bench -full -continue -scenarios growth-1000,growth-10000,growth-100000 -results $(out)/growth -raw $(out)/growth.json $(if $(PAIRS),-pairs $(PAIRS))

profile: build devcluster ## Profiles of Windlass in each scenario: _output/profiles
	cd bench && go build -o ../$(out)/bench . && go build -o ../$(out)/profiled ./profiled
	$(out)/bench -profile $(out)/profiles $(if $(FULL),-full) $(if $(SCENARIOS),-scenarios $(SCENARIOS))

soak: build devcluster ## 10,000 replacements of a busy controller (SWAPS=n for another number), into docs/soak.md: nothing lost, nothing twice, memory flat, neighbours as quick
	go test -count=1 -run '^$$' -bench Soak -benchtime 1x -timeout 0 -v ./test/swap -swaps $(or $(SWAPS),10000) -report $(CURDIR)/docs/soak.md

chaos: build devcluster ## Windlass killed at each write of small roll-outs, and KILLS=200 times at random; SEED=n repeats, EVERY=n takes each n-th write
	go test -count=1 -timeout 0 -v ./test/chaos -kills $(or $(KILLS),200) $(if $(SEED),-seed $(SEED)) $(if $(EVERY),-every $(EVERY))

scale: build devcluster ## What make test does with a few objects and for seconds, with as many as a large cluster has and for a minute
	FULL=1 go test -count=1 -timeout 0 -v -run '^(TestCronJobs|TestRefusedCreates|TestManyNodes|TestExamples|TestOnClusterEvictions|TestOnClusterClaims|TestOnClusterRanges|TestQuotaUnderClients)$$' ./test/restart ./test/faults ./test/cluster ./test/authors ./test/scale ./plugins/disruption ./plugins/pvcprotection ./plugins/nodeipam
	FULL=1 go test -count=1 -timeout 0 -v ./test/surroundings

hostile: build devcluster ## Modules that mean harm, and VARIANTS=20 of each class that a generator makes (SEED=n for others), into docs/hostile-modules.md
	go test -count=1 -timeout 0 -v ./test/hostile -update -variants $(or $(VARIANTS),20) -seed $(or $(SEED),1)

authors: build devcluster ## What people do who write plugins: from an empty folder to an effect in the cluster, and each example
	go test -count=1 -v ./test/authors

##@ Building

# What a build didn't change keeps its time, so that Go knows the tests that ran it.
build: plugins schemas ## The windlass binary with the built-in plugins: _output/windlass
	go build -ldflags='$(windlass_flags)' -o $(out)/windlass.new ./cmd/windlass
	cmp -s $(out)/windlass.new $(out)/windlass || mv -f $(out)/windlass.new $(out)/windlass # a file in use can be replaced, not written

plugins: ## The plugins' WebAssembly modules, two at a time: plugins/modules/*.wasm
	@$(MAKE) --no-print-directory -j2 $(modules)
	$(if $(strays),rm -rf $(strays) $(strays:plugins/modules/%.wasm=plugins/zz_%.go) $(strays:plugins/modules/%.wasm=plugins/code/%))

schemas: $(schemas) ## The schemas of Kubernetes' types, for the definitions of custom resources

devcluster: ## The control plane for tests: _output/devcluster (minutes the first time)
	@echo "devcluster: go build" >&2
	cd devcluster && go build -ldflags='$(devcluster_flags)' -o ../$(out)/devcluster .

toolchain: ## TinyGo: found on the PATH, or built into _output/toolchain
	hack/toolchain.sh

chromium: ## The browser for the console's test: found on the PATH, or Debian's
	hack/chromium.sh

site: ## The documentation as HTML: _output/site/index.html
	go run ./hack/site -out $(out)/site

generate: ## Write the generated files anew
	go generate ./...
	cd deploy && go generate ./... # of what the first has made

clean: ## Remove what was built
	rm -rf $(out) plugins/modules/*.wasm plugins/zz_*.go plugins/code/*/ $(schemas)

##@ Checking: CONTRIBUTING.md says when to run which

test: build devcluster chromium verify ## All rings of tests below: before a change is handed in; forty minutes
	failed=; while read -r rings; do echo "test: $$rings" >&2; hack/rings.sh run $$rings </dev/null || failed+=" $$rings"; done < <(hack/rings.sh steps); \
	[[ -z $$failed ]] || { echo "test: failed:$$failed" >&2; exit 1; }

check: build verify ## While working: format, vet, generated files, units, golden cases, wakes, simulation; no cluster; 3 minutes, less for a small change
	hack/rings.sh run check

race: build ## The tests of check under the race detector, with fewer random worlds: after touching what runs at once; 8 minutes
	hack/rings.sh run race

differential: build ## Upstream's own controllers beside ours on 10,000 random worlds each (WORLDS=n, SEED=s): after touching a controller; 15 minutes
	WORLDS=$(or $(WORLDS),10000) $(if $(SEED),SEED=$(SEED)) hack/rings.sh run differential

parity: build devcluster ## Both managers through the same work on clusters, what they leave compared: after touching a controller; 4 minutes
	hack/rings.sh run parity

guarantees: build devcluster ## Swap, chaos, leadership, hostile modules, limits, on clusters: after touching the host; 10 minutes
	hack/rings.sh run guarantees

surface: build devcluster chromium ## Command line, console, deploy, docs, examples of authors: after touching what users see; 6 minutes
	hack/rings.sh run surface

budget: build devcluster chromium ## What each ring, package and controller takes, measured anew, into CONTRIBUTING.md: on a machine that does nothing else; 40 minutes
	mkdir -p $(out)/budget
	for ring in $$(hack/rings.sh rings); do echo "budget: $$ring" >&2; hack/rings.sh run $$ring -json -count=1 >$(out)/budget/$$ring.json; done
	go run ./hack/budget $(if $(NOTE),-note "$(NOTE)") $$(hack/rings.sh rings | sed 's,.*,$(out)/budget/&.json,')

fuzz: ## Each fuzz target for FUZZTIME (10s); PACKAGES=./abi/... for some
	hack/fuzz.sh

mutations: build devcluster ## Mistakes planted in our code, one at a time, each against the tests that are meant to find it (MUTATION=name: one): after changing tests; 13 minutes
	go run ./hack/mutations $(MUTATION)

lint: ## What verify says of how the Go looks and of what staticcheck finds in it, by file and line, with the figures of the tree
	hack/lint.sh

verify: ## What check has besides tests: gofmt, linter, go vet, generated files, go.mod files, and that each package is in a ring
	hack/rings.sh >/dev/null
	hack/verify-format.sh
	hack/verify-generated.sh
	hack/lint.sh
	$(foreach m,$(all_modules),(cd $m && go mod tidy -diff) || { echo "verify: run go mod tidy in $m" >&2; exit 1; };)
	$(foreach m,$(go_modules) hack/lint $(examples),(cd $m && go vet ./...);)

$(tinygo): toolchain
	@:

# -panic=trap: a guest has nowhere to print a panic to, so its text would be dead weight.
# The endpoints controllers, whose syncs are the largest, are built for some speed: as much as compiles in time; the others for size. See RATIONALE.md.
opt := z
$(out)/plugins/endpoints.wasm $(out)/plugins/endpointslice.wasm: opt := 1
.SECONDEXPANSION:
$(out)/plugins/%.wasm: $(guest_sources) $$(shell find plugins/$$* -name '*.go' ! -name '*_test.go') | $(tinygo)
	@mkdir -p $(@D)
	$(tinygo) build -target=$(out)/toolchain/target.json -opt=$(opt) -no-debug -panic=trap -o $@ ./plugins/$*/module

plugins/modules/%.wasm: $(out)/plugins/%.wasm $(finisher)
	@$(finisher) $< $@ plugins/code/$*

$(schemas): go.mod $(shell find hack/generate-api author/generate/table -name '*.go')
	go run ./hack/generate-api -schemas $@

$(finisher): $(finisher_sources)
	go build -o $@ ./hack/module

.SECONDARY: $(modules:plugins/modules/%=$(out)/plugins/%)

.PHONY: authors scale chaos growth soak chromium help demo site takeover bench-sandbox bench profile build plugins devcluster toolchain generate clean fuzz lint mutations verify
.PHONY: test budget check race differential parity guarantees surface
