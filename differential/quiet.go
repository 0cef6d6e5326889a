package differential

import (
	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
)

// What upstream's controllers log of failures that a world has planned would fill the screen.
func init() {
	klog.SetLogger(logr.Discard())
}
