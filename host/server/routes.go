package server

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/pprof"
	"os"
	"runtime"
	"strings"
	"time"

	"k8s.io/component-base/logs"
	"k8s.io/component-base/metrics/prometheus/slis"

	"github.com/windlass-dev/windlass/host/process"
)

// configName is under which name /configz has the configuration. Upstream's is kubecontrollermanager.config.k8s.io, and
// another type.
const configName = "controllermanager.config.windlass.dev"

// levelMax bounds the body of a request that sets the log's level.
const levelMax = 64

// recorder is a mux that knows what it serves.
type recorder struct {
	*http.ServeMux
	patterns []string
}

// Handle is that of http.ServeMux.
func (m *recorder) Handle(pattern string, h http.Handler) {
	m.patterns = append(m.patterns, pattern)
	m.ServeMux.Handle(pattern, h)
}

// HandleFunc is that of http.ServeMux.
func (m *recorder) HandleFunc(pattern string, h func(http.ResponseWriter, *http.Request)) {
	m.Handle(pattern, http.HandlerFunc(h))
}

// newRoutes returns all that is served (k8s.io/controller-manager/app/serve.go,
// cmd/kube-controller-manager/app/controllermanager.go).
func (s *Server) newRoutes() *recorder {
	o := &s.options
	mux := &recorder{ServeMux: http.NewServeMux()}
	for path, h := range o.Handle {
		mux.Handle(path, h)
	}

	serveChecks(mux, "/healthz", checksOf(o.Checks))
	serveChecks(mux, "/livez", checksOf())
	serveChecks(mux, "/readyz", checksOf(o.Checks, o.Ready))
	mux.Handle("GET /metrics", gathered(o.Registry))
	slis.SLIMetricsWithReset{}.Install(mux) // /metrics/slis
	mux.HandleFunc("GET /configz", func(w http.ResponseWriter, _ *http.Request) {
		all := map[string]any{}
		if o.Configuration != nil {
			all[configName] = o.Configuration()
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(all)
	})

	mux.Handle("/flagz", s.flagzPage())
	mux.Handle("/statusz", s.statuszPage())
	mux.HandleFunc("GET /windlass/v1/flagz", func(w http.ResponseWriter,
		_ *http.Request) {
		writeText(w, http.StatusOK, s.flagsText())
	})

	mux.HandleFunc("GET /windlass/v1/statusz", func(w http.ResponseWriter,
		_ *http.Request) {
		writeText(w, http.StatusOK, s.statusText())
	})
	for path, h := range map[string]http.HandlerFunc{
		"/debug/pprof/": pprof.Index, "/debug/pprof/cmdline": pprof.Cmdline, "/debug/pprof/profile": pprof.Profile,
		"/debug/pprof/symbol": pprof.Symbol, "/debug/pprof/trace": pprof.Trace,
		"PUT /debug/flags/v": setLevel,
	} {
		mux.HandleFunc(path, s.profiling(h))
	}
	return mux
}

// serveOpen serves what is anybody's, and leaves the rest to next.
func (s *Server) serveOpen(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if h := s.options.Open[r.URL.Path]; h != nil && r.Method == http.MethodGet {
			h.ServeHTTP(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// profiling serves something only where profiling is on.
func (s *Server) profiling(h http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if !s.now.Load().Profiling {
			writeText(w, http.StatusNotFound, "profiling is off: set serving.profiling\n")
			return
		}
		h(w, r)
	}
}

// setLevel sets how much is logged, as upstream's handler does.
func setLevel(w http.ResponseWriter, r *http.Request) {
	b, err := io.ReadAll(io.LimitReader(r.Body, levelMax))
	if err != nil {
		writeText(w, http.StatusBadRequest, err.Error()+"\n")
		return
	}
	said, err := logs.GlogSetter(strings.TrimSpace(string(b)))
	if err != nil {
		writeText(w, http.StatusBadRequest, fmt.Sprintf("%v: the body must be a number, such as 2\n", err))
		return
	}
	writeText(w, http.StatusOK, said+"\n")
}

// contend has contention over locks profiled, or not.
func contend(on bool) {
	rate := 0
	if on {
		rate = 1
	}
	runtime.SetBlockProfileRate(rate)
}

// flagsText returns the text of /windlass/v1/flagz.
func (s *Server) flagsText() string {
	return "windlass flagz\nThe configuration that comes of these and of the file is in /configz.\n\n" + s.flagLines("=")
}

// statusText returns the text of /windlass/v1/statusz: what upstream's page has no place for, too.
func (s *Server) statusText() string {
	var text strings.Builder
	fmt.Fprintf(&text, "windlass statusz\nWarning: this page is for people; its form isn't promised.\n\nStarted: %s\nUp: %s\nGo version: %s\nBinary version: %s\nProcess: %d\n",
		s.started.Format(time.RFC3339), time.Since(s.started).Round(time.Second), runtime.Version(), process.Built().Version,
		os.Getpid())
	fmt.Fprintf(&text, "Certificate: %s, until %s\n", s.Certificate().Leaf.Subject,
		s.Certificate().Leaf.NotAfter.Format(time.RFC3339))
	if err := s.Problems(); err != nil {
		fmt.Fprintf(&text, "Serving: %s\n", oneLine(err))
	}
	text.WriteString("Paths:\n")
	for _, p := range s.Patterns() {
		fmt.Fprintf(&text, "  %s\n", p)
	}
	return text.String()
}
