package simulator

import (
	"encoding/json"

	"github.com/windlass-dev/windlass/abi/wire"
)

// encodeCustom returns a custom resource's object as the host keeps it: its metadata in protobuf, and all the rest in
// JSON.
func encodeCustom(o *Object) ([]byte, error) {
	m, err := partial(o)
	if err != nil {
		return nil, err
	}
	raw, err := m.Marshal()
	if err != nil {
		return nil, err
	}
	rest := map[string]any{}
	for name, v := range o.Object {
		if name != "apiVersion" && name != "kind" && name != "metadata" {
			rest[name] = v
		}
	}
	if len(rest) == 0 {
		return raw, nil
	}
	b, err := json.Marshal(rest)
	return wire.AppendBytes(raw, 2, b), err
}
