#!/usr/bin/env bash
# Builds the linter (hack/lint) and runs it on the tree.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# The Go modules that have packages of ours. devcluster and differential are left to go vet: staticcheck would first look
# at all of k8s.io/kubernetes, which they link; and what examples/migrating has of other people's libraries isn't built here.
mapfile -t modules < <(git ls-files --cached --others --exclude-standard -- go.mod '*/go.mod' | grep -vE '^(devcluster|differential|hack/tinygo|examples/migrating/controller-runtime)/' | xargs -n1 dirname)

(cd hack/lint && go build -o ../../_output/lint .)
exec _output/lint -modules "$(IFS=,; echo "${modules[*]}")" "$@"
