// Package x509 has the host read certificates and requests for them: crypto/x509 is more than a module can carry.
//
// What is read is text in PEM of at most 64 KiB. All three are pure functions: they say nothing of whether somebody
// trusts what is read.
package x509

import (
	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/sdk"
)

// Certificate is a certificate; of several in a text the first counts.
func Certificate(pem []byte) (*abi.X509, error) { return parse("certificate", pem) }

// Request is a request for a certificate. Whether it is signed with its key isn't looked at.
func Request(pem []byte) (*abi.X509, error) { return parse("request", pem) }

// SignedRequest is [Request], and an error where it isn't signed with the key that it is for, or that is an RSA key of
// more than 8192 bits.
func SignedRequest(pem []byte) (*abi.X509, error) { return parse("signed request", pem) }

func parse(what string, pem []byte) (*abi.X509, error) {
	argument := make([]byte, 0, len(what)+1+len(pem))
	argument = append(append(append(argument, what...), '\n'), pem...)
	result := helper(argument)
	switch {
	case len(result) == 0:
		return nil, sdk.Errors("the host's answer is empty")
	case result[0] != 0:
		return nil, sdk.Errors(string(result[1:]))
	}

	x := &abi.X509{}
	if err := abi.DecodeX509(result[1:], x); err != nil {
		return nil, err
	}
	return x, nil
}
