package differential

import (
	"github.com/go-logr/logr"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"
)

// What upstream's controllers log of failures that a world has planned would fill the screen.
func init() {
	klog.SetLogger(logr.Discard())
	utilruntime.ErrorHandlers = nil
}
