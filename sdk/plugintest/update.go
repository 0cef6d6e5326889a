package plugintest

import "flag"

var update = flag.Bool("update", false, "write what comes out of golden cases")
