package oci

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"regexp"
	"strings"

	"oras.land/oras-go/v2/errdef"
	"oras.land/oras-go/v2/registry/remote/errcode"

	"github.com/windlass-dev/windlass/host/printable"
)

// Error is why an image couldn't be had, signed or pushed, with what to do about it.
type Error struct {
	Reference Reference
	What      string
	// Final tells that asking again can't help: what the digest names is wrong in itself.
	Final bool
	cause error
}

func (e *Error) Error() string { return fmt.Sprintf("image %s: %s", e.Reference, e.What) }

// Unwrap returns the error of the network, if it was one.
func (e *Error) Unwrap() error { return e.cause }

func newError(r Reference, format string, args ...any) *Error {
	return &Error{Reference: r, What: fmt.Sprintf(format, args...)}
}

// newFinalError returns an error that refuses what the digest itself names.
func newFinalError(r Reference, format string, args ...any) *Error {
	e := newError(r, format, args...)
	e.Final = true
	return e
}

// requestError says what went wrong between here and the registry. What others have written is made short and plain,
// and queries are left out: those of a redirect are often as good as a password.
func requestError(r Reference, doing string, err error) error {
	if ours := (*Error)(nil); errors.As(err, &ours) {
		return err
	}
	return &Error{Reference: r, What: fmt.Sprintf("%s: %s: %s", doing, hideSecrets(err.Error()), errorHint(r, err)),
		cause: err}
}

func errorHint(r Reference, err error) string {
	var response *errcode.ErrorResponse
	var authority x509.UnknownAuthorityError
	var without *plainError
	var network net.Error
	code := 0
	if errors.As(err, &response) {
		code = response.StatusCode
	}

	switch {
	case code == http.StatusUnauthorized || code == http.StatusForbidden || strings.Contains(err.Error(), "credential"):
		return "give credentials for " + r.registryHost() +
			" in a docker config file (registries.credentialsFile, --credentials-file); credential helpers that it names aren't run"
	case code == http.StatusNotFound || errors.Is(err, errdef.ErrNotFound):
		return "push it there, or correct the reference"
	case code == http.StatusTooManyRequests:
		return "the registry limits the rate of requests: try again later"
	case errors.As(err, &without):
		return "plain HTTP is for the registries listed in registries.plainHTTP (--plain-http) only"
	case errors.As(err, &authority):
		return "name the CA that signed the registry's certificate in registries.caFile (--ca-file)"
	case strings.Contains(err.Error(), "HTTP response to HTTPS client"):
		return "a registry without TLS has to be listed in registries.plainHTTP (--plain-http)"
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &network) && network.Timeout():
		return "the registry took too long: check it, or raise registries.timeout (--timeout)"
	}
	return "see whether the registry can be reached from here"
}

var (
	query     = regexp.MustCompile(`\?[^\s"']+`)
	userinfo  = regexp.MustCompile(`//[^/\s"'@]+@`)
	localPort = regexp.MustCompile(`\S+:\d+->`) // differs each time
)

// textMost bounds what is said of others' text, in bytes.
const textMost = 500

// hideSecrets makes others' text fit for a line in a log, without the secrets of addresses in it.
func hideSecrets(text string) string {
	text = query.ReplaceAllString(text, "?...")
	text = userinfo.ReplaceAllString(text, "//")
	text = localPort.ReplaceAllString(text, "")
	return printable.Line(text, textMost)
}
