// The module of the job plugin.
package main

import (
	"github.com/windlass-dev/windlass/plugins/job"
	"github.com/windlass-dev/windlass/sdk"
)

func init() { sdk.Serve(job.Plugin) }

func main() {}
