//go:build !wasm && !tinygo.wasm

package sdk

// Serve has the module serve the plugin: call it in an init function of the main package. Natively it does nothing.
func Serve(*Plugin) {}

// Log writes a line to the host's log, beside controller and key.
func (c *Call) Log(text string) { Logged(text) }

// Logged takes what plugins log that run natively; by default it is printed.
var Logged = func(text string) { print(text, "\n") }

// Helpers are the host's pure functions for plugins that run natively; a module imports them. Package
// plugintest sets it; Windlass's own tests set it to module.CallHelper of package host/plugins/module.
var Helpers func(name string, argument []byte) []byte

// CallHelper calls one of [Helpers].
func CallHelper(name string, argument []byte) []byte {
	if Helpers == nil {
		return []byte("\x01no helpers outside of package plugintest: run the sync with plugintest.Golden or plugintest.Run")
	}
	return Helpers(name, argument)
}
