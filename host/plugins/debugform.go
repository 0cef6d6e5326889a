package plugins

import (
	"errors"
	"io/fs"
	"strings"
)

// debugSuffix ends the names of debug forms, which lie beside the modules that they are of: NAME.debug.wasm beside
// NAME.wasm.
const debugSuffix = ".debug.wasm"

// DebugFile is where a module's debug form lies.
func DebugFile(module string) string { return strings.TrimSuffix(module, ".wasm") + debugSuffix }

// DebugForm reads what sandbox.Debug takes of a module: the file beside it, nil where there is none.
func DebugForm(p *Plugin) ([]byte, error) {
	if strings.HasSuffix(p.Origin, debugSuffix) {
		return p.Wasm()
	}
	if p.Origin == OriginBuiltin {
		return nil, nil
	}
	form, err := File(DebugFile(p.Origin))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return form.Wasm()
}
