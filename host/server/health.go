package server

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"k8s.io/component-base/metrics/prometheus/slis"

	"github.com/windlass-dev/windlass/host/guard"
)

// Check is one thing that can be unhealthy.
type Check struct {
	// Name is the last part of the check's path, as in /healthz/replicaset-controller.
	Name string
	// Check returns what is wrong. It is called by many requests at once and must not wait.
	Check func() error
}

// ping is upstream's check of the server itself.
var ping = Check{"ping", func() error { return nil }}

// checksOf joins lists of checks that are made anew for each request: controllers come and go.
func checksOf(lists ...func() []Check) func() []Check {
	return func() []Check {
		all := []Check{ping}
		for _, list := range lists {
			if list != nil {
				all = append(all, list()...)
			}
		}
		return all
	}
}

// serveChecks serves path, and path/<check> for each check, in the form of upstream's health endpoints: "ok", or 500
// with a line for each check. ?verbose gives the lines in any case, ?exclude=<check> leaves one out.
func serveChecks(mux *recorder, path string, checks func() []Check) {
	name := strings.TrimPrefix(path, "/")
	mux.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) {
		excluded := r.URL.Query()["exclude"]
		var lines strings.Builder
		failed := false
		for _, c := range checks() {
			if slices.Contains(excluded, c.Name) {
				fmt.Fprintf(&lines, "[+]%s excluded: ok\n", c.Name)
			} else if err := observed(r.Context(), name, c); err != nil {
				failed = true
				fmt.Fprintf(&lines, "[-]%s failed: %s\n", c.Name, visibleReason(r, err))
			} else {
				fmt.Fprintf(&lines, "[+]%s ok\n", c.Name)
			}
		}
		switch {
		case failed:
			writeText(w, http.StatusInternalServerError, lines.String()+name+" check failed\n")
		case r.URL.Query().Has("verbose"):
			writeText(w, http.StatusOK, lines.String()+name+" check passed\n")
		default:
			writeText(w, http.StatusOK, "ok")
		}
	})

	mux.HandleFunc("GET "+path+"/{check}", func(w http.ResponseWriter, r *http.Request) {
		all := checks()
		i := slices.IndexFunc(all, func(c Check) bool { return c.Name == r.PathValue("check") })
		if i < 0 {
			writeText(w, http.StatusNotFound, fmt.Sprintf("no check of that name: see %s?verbose\n", path))
		} else if err := all[i].Check(); err != nil {
			writeText(w, http.StatusInternalServerError, "internal server error: "+visibleReason(r, err)+"\n")
		} else {
			writeText(w, http.StatusOK, "ok")
		}
	})
}

// observed runs a check and keeps upstream's metrics of it, kubernetes_healthcheck and kubernetes_healthchecks_total,
// as upstream does: where all of a path are run.
func observed(ctx context.Context, path string, c Check) error {
	err, status := c.Check(), slis.Success
	if err != nil {
		status = slis.Error
	}
	_ = slis.ObserveHealthcheck(ctx, c.Name, path, status) // it gives no error
	return err
}

// visibleReason returns what is wrong, for those who are known: errors may name objects. Others are told that something
// is, as by upstream.
func visibleReason(r *http.Request, err error) string {
	if guard.UserOf(r.Context()) == nil {
		return "reason withheld"
	}
	return oneLine(err)
}

// oneLine keeps an error's text from looking like another check's line.
func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }

func writeText(w http.ResponseWriter, code int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-cache, no-store")
	w.WriteHeader(code)
	_, _ = w.Write([]byte(text))
}
