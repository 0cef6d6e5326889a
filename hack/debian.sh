# Sourced by the scripts that need packages of Debian's. The caller has say and die.

# install_packages INSTEAD PACKAGE... provides the packages; where there is no Debian to get them from, it says what would do instead.
install_packages() {
	local instead=$1 missing=()
	shift
	for p in "$@"; do
		dpkg-query -W -f '${Status}' "$p" 2>/dev/null | grep -q '^install ok installed' || missing+=("$p")
	done
	((${#missing[@]})) || return 0
	command -v apt-get >/dev/null || die "needs $instead, or a Debian system to get it from (packages: $*)"
	local sudo=()
	if ((EUID != 0)); then
		command -v sudo >/dev/null || die "run as root: apt-get install ${missing[*]}"
		sudo=(sudo)
	fi
	say "installing from Debian: ${missing[*]}"
	"${sudo[@]}" apt-get update -qq || die "apt-get update failed"
	"${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null ||
		die "apt-get could not install ${missing[*]}"
}
