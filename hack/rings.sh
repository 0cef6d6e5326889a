#!/usr/bin/env bash
# Tells which ring of the tests each test package belongs to (rings.txt), and runs one or more:
#
#   hack/rings.sh                    lists each package's ring, module and folder; fails when one is in none
#   hack/rings.sh rings              lists the rings that have packages
#   hack/rings.sh steps              lists what make test runs one after another, each on a line: a ring, or several at once
#   hack/rings.sh RING               lists the folders of a ring's packages
#   hack/rings.sh run RING… [FLAG]…  runs rings' tests, with further flags for go test
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

alone=(check race differential)
with_clusters=(guarantees parity surface) # make test runs these at once: while one waits for the end of its longest package, the machine has others to do
rings=("${alone[@]}" "${with_clusters[@]}")
on_cluster='^TestOnCluster' # what starts a cluster in a package of check
side_by_side=3                # packages with clusters, which mostly wait
allocations='Allocat'        # what counts allocations, of which the race detector makes some itself

declare -A listed
while read -r ring folder; do
	[[ -z $ring || $ring == \#* ]] || listed[$folder]=$ring
done <hack/rings.txt

# test_folders prints the folders of test packages: those that go's ./... finds.
test_folders() {
	git ls-files --cached --others --exclude-standard -- '*_test.go' | while read -r f; do
		[[ ! -f $f || /$f =~ /(testdata|vendor|[_.][^/]*)/ ]] || dirname "$f"
	done | sort -u
}

# module_of prints the folder of the Go module that a folder is in.
module_of() {
	local up=$1
	until [[ -f $up/go.mod ]]; do up=$(dirname "$up"); done
	echo "$up"
}

# ring_of prints a folder's ring, or nothing.
ring_of() {
	local up=$1
	until [[ $up == . ]]; do
		if [[ -n ${listed[$up]:-} ]]; then
			echo "${listed[$up]}"
			return
		fi
		[[ ! -f $up/go.mod ]] || return 0
		up=$(dirname "$up")
	done
	[[ $1 == test/* ]] || echo check
}

# in_order sorts folders: first those that rings.txt lists, as it lists them. Go starts their tests in this order.
in_order() {
	awk 'NR == FNR { if (!/^#/) at[$2] = NR; next } { print ($1 in at) ? at[$1] : NR + FNR, $0 }' hack/rings.txt - | sort -n | cut -d' ' -f2
}

# all prints ring, module and folder of each test package, and fails when a package is in no ring.
all() {
	local folder ring failed=0
	for folder in $(test_folders | in_order); do
		ring=$(ring_of "$folder")
		if [[ -z $ring || " ${rings[*]} " != *" $ring "* ]]; then
			echo "rings: $folder is in none of the rings ${rings[*]}: list it, or a folder above it, in hack/rings.txt" >&2
			failed=1
		fi
		echo "${ring:-none} $(module_of "$folder") $folder"
	done
	return $failed
}

# run_packages runs go test with flags on the packages that it reads, in the module of each; when one has failed, it fails at the end.
run_packages() {
	local module folder failed=0
	local -a fresh
	local -A packages=()
	while read -r _ module folder; do
		packages[$module]+=" ./$(realpath --relative-to="$module" "$folder")"
	done
	if ((${#packages[@]} == 0)); then
		echo "rings: there is no package to test" >&2
		return 1
	fi
	for module in $(printf '%s\n' "${!packages[@]}" | sort); do
		fresh=()
		[[ $module != examples/* ]] || fresh=(-count=1) # Go's cache knows nothing of _output/windlass, which is outside of their modules
		# shellcheck disable=SC2086 # a list
		(cd "$module" && go test -vet=off -timeout 20m "${fresh[@]}" "$@" ${packages[$module]}) || failed=1
	done
	return $failed
}

# of prints those of the packages that it reads whose ring is one of the given ones; race has check's.
of() { grep -E "^($(IFS='|' && echo "${*/race/check}")) " || true; }

# having_packages prints those of the given rings that have packages.
having_packages() {
	local list ring
	list=$(all)
	for ring in "$@"; do
		[[ -z $(of "$ring" <<<"$list") ]] || echo "$ring"
	done
}

# run runs a ring, or several of those with clusters at once. Vet is verify's, once for all.
run() {
	local list failed=0
	local -a run=()
	while (($# > 0)) && [[ $1 != -* ]]; do
		run+=("$1")
		shift
	done
	list=$(all)

	case ${run[*]} in
	check | race)
		local skip=$on_cluster
		if [[ ${run[*]} == race ]]; then
			skip+="|$allocations"
			export CGO_ENABLED=1 # the race detector is C
			set -- -race "$@"
		fi
		export WINDLASS_TEST_CLUSTERS=none
		export GOGC=400 # these hold little and leave much behind: Go's 100 would take a sixth of the time of check
		of "${run[@]}" <<<"$list" | run_packages -skip "$skip" "$@" || failed=1
		;;
	differential)
		# Go's cache knows nothing of the plugins' wakes*.yaml, which are outside of the module: differential/wakes.go asks for this.
		WAKES_DIGEST=$(cat plugins/*/testdata/wakes*.yaml | sha256sum)
		export WAKES_DIGEST
		# Without what a debugger reads each of the large binaries is linked in half the time.
		of "${run[@]}" <<<"$list" | run_packages -ldflags='-s -w' "$@" || failed=1
		;;
	*)
		of "${run[@]}" <<<"$list" | run_packages -count=1 -p $side_by_side "$@" || failed=1
		;;
	esac

	if [[ " ${run[*]} " == *" guarantees "* ]]; then
		of check <<<"$list" | starting_clusters | run_packages -count=1 -p $side_by_side -run "$on_cluster" "$@" || failed=1
	fi
	return $failed
}

# starting_clusters prints those of the packages that it reads that have tests with a cluster.
starting_clusters() {
	local ring module folder
	while read -r ring module folder; do
		! grep -q '^func TestOnCluster' "$folder"/*_test.go || echo "$ring $module $folder"
	done
}

case ${1:-} in
'')
	all
	;;
rings)
	having_packages "${rings[@]}"
	;;
steps)
	having_packages "${alone[@]}"
	having_packages "${with_clusters[@]}" | xargs
	;;
run)
	shift
	run "$@"
	;;
*)
	list=$(all)
	of "$1" <<<"$list" | cut -d' ' -f3
	;;
esac
