package sandbox

import (
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
)

// What a guest may log. A call's messages come in a burst; a plugin's bytes are bounded over time as well, for it can
// have thousands of calls a second.
const (
	maxLogs       = 1000 // in a call
	maxLogBytes   = 64 << 10
	maxLogMessage = 8 << 10

	logBurst         = 1 << 20 // of all calls of a plugin
	logFee           = 64      // what a message counts beside its own bytes: the log's line around it
	DefaultLogPerSec = 64 << 10
)

// Logs bounds what a plugin may log over time, whichever of its modules runs.
type Logs struct {
	limiter *rate.Limiter
	dropped atomic.Int64
}

// NewLogs makes a bound of so many bytes a second on average.
func NewLogs(perSecond int64) *Logs {
	return &Logs{limiter: rate.NewLimiter(rate.Limit(perSecond), logBurst)}
}

// Set changes the bound; what was logged before counts.
func (l *Logs) Set(perSecond int64) {
	if rate.Limit(perSecond) != l.limiter.Limit() {
		l.limiter.SetLimit(rate.Limit(perSecond))
	}
}

// Allow reports whether so many bytes more may be logged on the plugin's account now; else they count as dropped.
func (l *Logs) Allow(bytes int) bool {
	if l.limiter.AllowN(time.Now(), bytes+logFee) {
		return true
	}
	l.dropped.Add(int64(bytes))
	return false
}

// Dropped is how many bytes the plugin has tried to log beyond its bounds.
func (l *Logs) Dropped() int64 { return l.dropped.Load() }

func (i *instance) logMessage(level int32, message []byte) {
	size := len(message)
	message = message[:min(size, maxLogMessage)]
	i.charge(fee + len(message))
	i.logs++
	i.logBytes += len(message)
	if i.call.log == nil || i.logs > maxLogs || i.logBytes > maxLogBytes ||
		!i.owner.options.Logs.limiter.AllowN(time.Now(), len(message)+logFee) {
		message = nil
	} else {
		i.call.log(level, strings.ToValidUTF8(string(message), "?"))
	}
	i.dropLog(size - len(message))
}

// dropLog counts bytes that did not reach the log.
func (i *instance) dropLog(bytes int) {
	if bytes > 0 {
		i.logDropped += int64(bytes)
		i.owner.options.Logs.dropped.Add(int64(bytes))
	}
}

// DroppedLogBytes is how many bytes the plugin has tried to log beyond its bounds.
func (m *Module) DroppedLogBytes() int64 { return m.options.Logs.Dropped() }
