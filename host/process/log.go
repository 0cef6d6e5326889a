package process

import (
	"fmt"
	"strconv"

	"k8s.io/component-base/logs"
	logsapi "k8s.io/component-base/logs/api/v1"
	_ "k8s.io/component-base/logs/json/register" // the format "json"
	"k8s.io/klog/v2"

	"github.com/windlass-dev/windlass/config"
)

// StartLog has klog, log and slog write as the configuration says, to stderr. It is called once, before anything else
// runs.
func StartLog(c *config.Logging) error {
	logs.InitLogs() // what writes to the log of the standard library, net/http for one, would have lines of another form
	o := logsapi.NewLoggingConfiguration()
	o.Format, o.Verbosity = c.Format, logsapi.VerbosityLevel(c.Verbosity)
	for _, m := range c.VModule {
		o.VModule = append(o.VModule, logsapi.VModuleItem{FilePattern: m.FilePattern,
			Verbosity: logsapi.VerbosityLevel(m.Verbosity)})
	}
	if err := logsapi.ValidateAndApply(o, nil); err != nil {
		return fmt.Errorf("logging: %w", err)
	}
	return nil
}

// FollowLog changes what of the log can be changed while the process runs: its verbosity. What PUT /debug/flags/v
// has set since stays, unless the configuration changes.
func FollowLog(was, now *config.Logging) {
	if was.Verbosity != now.Verbosity {
		if _, err := logs.GlogSetter(strconv.Itoa(int(now.Verbosity))); err != nil {
			klog.ErrorS(err, "Can't change the log's verbosity, keeping the current one")
		} else {
			klog.InfoS("Changed the log's verbosity", "verbosity", now.Verbosity)
		}
	}
}
