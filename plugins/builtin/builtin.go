// Package builtin is the table of the built-in plugins, natively: one entry per folder plugins/NAME that has a module.
// Tests and generators range over it; windlass itself has the modules alone, and takes their names from package
// plugins.
//
// A new controller is a new folder, or one more in a plugin's list of controllers, and `go generate` writes the table
// anew.
package builtin

import (
	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/sdk"
)

//go:generate go run ../../hack/generate-builtin
//go:generate go run ../../hack/generate-controllers
//go:generate go run ../../hack/generate-flags
//go:generate go run ../../hack/generate-architecture

// Plugin is a built-in plugin: a folder, and one module.
type Plugin struct {
	Folder string // its name below plugins/, which is the plugin's
	Native *sdk.Plugin
}

// Controller is a row of the table: one of a plugin's controllers, which may have several.
type Controller struct {
	Name           string
	Alias          string // empty: none
	Queue          string
	ServiceAccount string // in kube-system
	PartOf         string // the controller whose second queue it is; such a one can't be turned on or off by itself
	Plugin         Plugin
	// Manifest is what the controller declares.
	Manifest abi.Controller
}

// Controllers returns all controllers, in the order of their plugins.
func Controllers() (all []Controller) {
	for _, p := range Plugins {
		all = append(all, p.Controllers()...)
	}
	return all
}

// Controllers returns the plugin's controllers, in its order.
func (p Plugin) Controllers() (all []Controller) {
	for _, c := range p.Native.Manifest().Controllers {
		all = append(all, Controller{
			Name: c.Name, Alias: c.Alias, Queue: c.Queue, ServiceAccount: c.ServiceAccount, PartOf: c.PartOf, Plugin: p,
			Manifest: c,
		})
	}
	return all
}

// Names returns the names by which controllers are turned on and off.
func Names() (names []string) {
	for _, c := range Controllers() {
		if c.PartOf == "" {
			names = append(names, c.Name)
		}
	}
	return names
}
