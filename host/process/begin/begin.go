// Package begin has a process begin as what it was started as, before the rest of it begins. Importing it is the call.
//
// A guardian that waited for main would have taken the memory of Kubernetes' libraries by then, and a manager that
// started itself anew there would initialise them twice. Go initialises packages in the order of their import paths as
// far as what they import allows (see "Program initialization" in Go's specification), so this one, which imports next
// to nothing, comes before those. It must stay so.
//
// A process of package sandbox's that compiles a module is none of these: it has its name, and no environment.
package begin

import "github.com/windlass-dev/windlass/host/process/guardian"

func init() {
	guardian.Begin() // a guardian guards, and ends here
	lateWakeUps()    // a manager starts itself anew, once
}
