package running

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/windlass-dev/windlass/host/console"
)

func consoleCommand() *cobra.Command {
	var port uint16
	var from *server
	c := &cobra.Command{
		Use:   "console",
		Short: "Open the console of a windlass in a browser, with your own credentials",
		Example: `  windlass console
  windlass console --server windlass.kube-system:10257 --port 8080`,
		Long: `Serve the console of a windlass on a free port of this machine's loopback until Ctrl-C, and ask the windlass with your own credentials.

The address that it prints lets one browser in, once. Other users of this machine get the empty page and nothing behind it.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if _, err := from.fetchStatus(cmd.Context()); err != nil {
				return err // better here than in the browser
			}
			l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
			if err != nil {
				return fmt.Errorf("--port %d: %w: choose another one, or 0 for any", port, err)
			}
			d := newDoor(from, l.Addr().String())
			if _, err := fmt.Fprintf(cmd.OutOrStdout(),
				"The console of %s, until Ctrl-C; the address works once:\n\n  http://%s%s#once=%s\n\n", from.address, l.Addr(),
				console.Path, d.once); err != nil {
				return err
			}
			return d.serveConsole(cmd.Context(), l)
		},
	}
	c.Flags().Uint16Var(&port, "port", 0, "the port on 127.0.0.1; 0 takes a free one")
	from = serverFlags(c)
	return c
}

// door lets one browser through to a windlass. The page is anybody's; what is behind it needs the session's token,
// which is given once, for the token that only the user's terminal has shown. There are no cookies: those would go to
// each server on 127.0.0.1, whoever's it is.
type door struct {
	from  *server
	hosts []string // by which it may be called: a browser that was told another name for this address gets nothing

	mu      sync.Mutex
	once    string // empty once it was used
	session string
}

func newDoor(from *server, address string) *door {
	_, port, _ := net.SplitHostPort(address)
	return &door{from: from, hosts: []string{"127.0.0.1:" + port, "localhost:" + port}, once: rand.Text(),
		session: rand.Text()}
}

func (d *door) serveConsole(ctx context.Context, l net.Listener) error {
	s := &http.Server{Handler: d.handler(), ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 10 * time.Second,
		IdleTimeout: 90 * time.Second, MaxHeaderBytes: 64 << 10}
	stop := context.AfterFunc(ctx, func() { _ = s.Close() })
	defer stop()
	if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func (d *door) handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET "+console.Path, console.Handler())
	mux.Handle("GET /{$}", console.Redirect())
	mux.HandleFunc("POST /session", d.exchangeToken)
	for _, what := range []string{"status", "keys", "syncs", "differences"} {
		mux.HandleFunc("GET /windlass/v1/"+what, d.proxyRequest)
	}
	mux.HandleFunc("GET /debug/recordings/{controller}/sync", d.proxyRequest)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, h := range d.hosts {
			if strings.EqualFold(r.Host, h) {
				mux.ServeHTTP(w, r)
				return
			}
		}
		http.Error(w, "this is served as "+d.hosts[0]+" only", http.StatusMisdirectedRequest)
	})
}

// exchangeToken gives the session's token for the one-time token, once.
func (d *door) exchangeToken(w http.ResponseWriter, r *http.Request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.once == "" || !bearsToken(r, d.once) {
		http.Error(w, "this address works only once: run windlass console again for a new one", http.StatusForbidden)
		return
	}
	d.once = ""
	w.Header().Set("Cache-Control", "no-store")
	_, _ = io.WriteString(w, d.session)
}

func bearsToken(r *http.Request, token string) bool {
	return subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), []byte("Bearer "+token)) == 1
}

// proxyRequest asks the windlass with the user's credentials.
func (d *door) proxyRequest(w http.ResponseWriter, r *http.Request) {
	if !bearsToken(r, d.session) {
		http.Error(w, "open the address that windlass console has printed", http.StatusUnauthorized)
		return
	}
	answer, err := d.from.sendRequest(r.Context(), http.MethodGet, r.URL.Path, r.URL.Query())
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer answer.Body.Close()
	code := answer.StatusCode
	if code == http.StatusUnauthorized || code == http.StatusForbidden {
		code = http.StatusBadGateway // the page's own credentials are fine
	}
	w.Header().Set("Content-Type", answer.Header.Get("Content-Type"))
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(code)
	_, _ = io.Copy(w, answer.Body)
}
