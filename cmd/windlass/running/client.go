package running

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/windlass-dev/windlass/host/record"
)

// server is a running windlass that commands ask. There is no other way from a command to a windlass.
type server struct {
	address string
	// misnamed is why the environment's address can't be one, where --server doesn't say another.
	misnamed error
	credentials
	client func() (*http.Client, error)
}

// serverVariable is the environment's variable for --server.
const serverVariable = "WINDLASS_SERVER"

// localServer is where a windlass on this machine serves by default.
const localServer = "127.0.0.1:10257"

// serverFlags adds to a command the flags that say which windlass it asks.
func serverFlags(c *cobra.Command) *server {
	s := newServer("")
	s.address = localServer
	c.Flags().Var((*serverAddress)(s), "server",
		"host:port of the windlass to ask; else that of $"+serverVariable)
	if text := os.Getenv(serverVariable); text != "" {
		if err := (*serverAddress)(s).Set(text); err != nil {
			s.misnamed = fmt.Errorf("%s=%q: %w", serverVariable, text, err)
		}
	}
	s.credentials.addFlags(c.Flags())
	return s
}

// serverAddress is a server's host:port as a flag, which may be written as a URL.
type serverAddress server

func (a *serverAddress) String() string { return a.address }

func (a *serverAddress) Type() string { return "string" }

func (a *serverAddress) Set(text string) error {
	rest := strings.TrimSuffix(strings.TrimPrefix(text, "https://"), "/")
	if host, port, err := net.SplitHostPort(rest); err != nil || host == "" || port == "" || strings.Contains(rest, "/") {
		return errors.New("must be host:port, where a windlass serves HTTPS")
	}
	a.address, a.misnamed = rest, nil
	return nil
}

// suggested are the commands that hints name and that ask a windlass.
var suggested = regexp.MustCompile(`\bwindlass (get [a-z]+|record|release)\b`)

// addressed has the commands in a hint ask the same windlass, where it isn't the one that they would ask anyway.
func (s *server) addressed(hint string) string {
	if s.address == cmp.Or(os.Getenv(serverVariable), localServer) {
		return hint
	}
	return suggested.ReplaceAllString(hint, "$0 --server "+s.address)
}

func newServer(address string) *server {
	s := &server{address: address}
	s.client = sync.OnceValues(func() (*http.Client, error) { return s.credentials.newClient(s.address) })
	return s
}

// unreachableError is that of a windlass that doesn't answer at all, or isn't known to be one.
type unreachableError struct{ err error }

func (e *unreachableError) Error() string {
	return e.err.Error()
}

func (e *unreachableError) Unwrap() error { return e.err }

// statusError is an answer that isn't 200.
type statusError struct {
	server string
	code   int
	text   string // the first KiB of what it says
}

func (e *statusError) Error() string {
	switch {
	case e.text == "":
		return fmt.Sprintf("%s: %d %s", e.server, e.code, http.StatusText(e.code))
	case e.code == http.StatusUnauthorized, e.code == http.StatusForbidden && strings.Contains(e.text, user.Anonymous):
		return fmt.Sprintf("%s: %d %s: ask as a user of the cluster, with --kubeconfig, --token-file or --client-certificate",
			e.server, e.code, e.text)
	}
	return fmt.Sprintf("%s: %s", e.server, e.text)
}

// sendRequest asks with the user's credentials. An error is that nobody answered.
func (s *server) sendRequest(ctx context.Context, method, path string, query url.Values) (*http.Response, error) {
	if s.misnamed != nil {
		return nil, s.misnamed
	}
	u := url.URL{Scheme: "https", Host: s.address, Path: path, RawQuery: query.Encode()}
	r, err := http.NewRequestWithContext(ctx, method, u.String(), nil)
	if err != nil {
		return nil, fmt.Errorf("--server %q: %w", s.address, err)
	}
	client, err := s.client()
	if err != nil {
		return nil, err
	}
	answer, err := client.Do(r)
	if err != nil {
		return nil, &unreachableError{s.explain(s.address, err)}
	}
	return answer, nil
}

// readResponse returns the whole answer, which must be 200 and not larger than the largest recording.
func (s *server) readResponse(ctx context.Context, method, path string, query url.Values) ([]byte, error) {
	answer, err := s.sendRequest(ctx, method, path, query)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	b, err := io.ReadAll(io.LimitReader(answer.Body, record.FileMax+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", s.address, err)
	case answer.StatusCode != http.StatusOK:
		text := s.addressed(strings.TrimSpace(string(b[:min(len(b), 1024)])))
		return nil, &statusError{s.address, answer.StatusCode, text}
	case len(b) > record.FileMax:
		return nil, fmt.Errorf("%s: an answer of more than 1 GiB", s.address)
	}
	return b, nil
}

func (s *server) get(ctx context.Context, path string, query url.Values) ([]byte, error) {
	return s.readResponse(ctx, http.MethodGet, path, query)
}
