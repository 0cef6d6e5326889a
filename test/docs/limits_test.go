package docs

import (
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Where the numbers of the rows of docs/abi.md's table of limits are, in the order of each row: "file constant".
var limits = map[string][]string{
	"a module": {"host/sandbox/rewrite/doc.go MaxModuleBytes", "host/sandbox/rewrite/doc.go MaxBodyBytes",
		"host/sandbox/rewrite/doc.go MaxLocals", "host/sandbox/rewrite/doc.go MaxNestedLoops",
		"host/sandbox/rewrite/doc.go MaxNestedBlocks"},
	"linear memory":                      {"host/sandbox/sandbox.go DefaultMemoryLimit", "host/sandbox/sandbox.go MaxMemoryLimit"},
	"the manifest":                       {"abi/messages.go ManifestMax"},
	"a request, a response, an outcome":  {"abi/messages.go MessageMax"},
	"time of a sync inside the sandbox":  {"host/sandbox/sandbox.go DefaultDeadline"},
	"metered instructions of a sync":     {"host/sandbox/sandbox.go DefaultBudget"},
	"calls inside each other":            {"host/sandbox/instance.go maxDepth"},
	"effects of a response, groups":      {"host/effects/check.go effectsMax"},
	"performs of a sync":                 {"host/sandbox/host.go maxPerforms", "host/sandbox/host.go maxPerformBytes"},
	"a key's state":                      {"abi/messages.go StateMax", "abi/messages.go WideStateMax"},
	"a fact, with its terms":             {"abi/messages.go FactMax"},
	"the name of an object":              {"host/effects/address.go nameMax"},
	"the name of a time zone":            {"host/effects/check.go partMax"},
	"an object in an effect":             {"host/effects/check.go objectMax"},
	"the path of a read, with its query": {"host/effects/address.go nameMax"},
	"levels that a custom resource":      {"host/difference/merge.go jsonNestingMax", "host/difference/merge.go nestingMax"},
	"an event's message":                 {"host/effects/check.go eventMax"},
	"a line of the log": {"host/sandbox/logs.go maxLogMessage", "host/sandbox/logs.go maxLogs",
		"host/sandbox/logs.go maxLogBytes"},
	"keys that a sync wakes":           {"host/effects/check.go wakesMax"},
	"updates of metrics in a response": {"host/syncer/syncer.go updatesMax"},
}

// amount is a number in a row, with its unit.
var amount = regexp.MustCompile(`(?:^|[ (])(\d[\d,]*(?: (?:[KMG]iB|s|bytes)\b)?)`)

// docs/abi.md's table has each limit as it is in the code.
func TestLimits(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "docs/abi.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "\n## Limits\n")
	table, _, _ = strings.Cut(table, "\n## ")

	met := map[string]bool{}
	for row := range strings.Lines(table) {
		cells := strings.Split(strings.Trim(row, "|\n "), " | ")
		if len(cells) != 2 || cells[0] == "what" {
			continue
		}

		what := beginning(cells[0])
		var want, says []string
		for _, place := range limits[what] {
			want = append(want, limit(t, place))
		}
		for _, m := range amount.FindAllStringSubmatch(cells[1], -1) {
			says = append(says, strings.TrimSuffix(m[1], " bytes"))
		}
		if met[what] = true; !slices.Equal(says, want) {
			t.Errorf("docs/abi.md says of %s: %q; the code says %q (%q)", cells[0], says, want, limits[what])
		}
	}

	for what := range limits {
		if !met[what] {
			t.Errorf("docs/abi.md has no limit of %s", what)
		}
	}
}

// beginning returns the key of limits that a row begins with, else the whole.
func beginning(cell string) string {
	for what := range limits {
		if strings.HasPrefix(cell, what) {
			return what
		}
	}
	return cell
}

// limit returns the constant at a place as a page says it.
func limit(t *testing.T, place string) string {
	t.Helper()
	path, name, _ := strings.Cut(place, " ")
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, filepath.Join(root, path), nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}

	for s := range ast.Preorder(file) {
		spec, ok := s.(*ast.ValueSpec)
		if !ok {
			continue
		}
		i := slices.IndexFunc(spec.Names, func(n *ast.Ident) bool { return n.Name == name })
		if i < 0 || i >= len(spec.Values) {
			continue
		}

		text := types.ExprString(spec.Values[i])
		expression, seconds := strings.CutSuffix(text, " * time.Second")
		value, err := types.Eval(files, nil, token.NoPos, expression)
		if err != nil {
			t.Fatalf("%s: %v", place, err)
		}
		n, exact := constant.Int64Val(value.Value)
		if !exact {
			t.Fatalf("%s is no whole number: %s", place, text)
		}
		return spell(n, strings.Contains(text, "<<"), seconds)
	}
	t.Fatalf("%s: there is no such constant", place)
	return ""
}

// spell writes a number as pages do.
func spell(n int64, bytes, seconds bool) string {
	unit := ""
	switch {
	case seconds:
		unit = " s"
	case bytes && n%(1<<30) == 0:
		n, unit = n>>30, " GiB"
	case bytes && n%(1<<20) == 0:
		n, unit = n>>20, " MiB"
	case bytes:
		n, unit = n>>10, " KiB"
	}

	digits := strconv.FormatInt(n, 10)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits + unit
}
