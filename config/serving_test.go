package config

import (
	"strings"
	"testing"
)

func TestServingIsChecked(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"a host": {"{bindAddress: localhost}",
			`serving.bindAddress: Invalid value: "localhost": must be an IP address`},
		"no address": {`{bindAddress: ""}`, "serving.bindAddress: Invalid value"},
		"port":       {"{port: 65536}", "serving.port: Invalid value: 65536: must be from 1 to 65535"},
		"port below": {"{port: -2}", "serving.port: Invalid value: -2"},
		"no key": {"{tls: {certFile: /c}}",
			"serving.tls.keyFile: Required value: certFile and keyFile go together"},
		"no certificate": {"{tls: {keyFile: /k}}", "serving.tls.certFile: Required value"},
		"folder":         {"{tls: {certDir: /etc/hosts}}", `serving.tls.certDir: Invalid value: "/etc/hosts": is a file`},
		"version": {"{tls: {minVersion: VersionTLS11}}",
			`serving.tls.minVersion: Unsupported value: "VersionTLS11"`},
		"suite": {"{tls: {cipherSuites: [TLS_FOO]}}",
			`serving.tls.cipherSuites[0]: Unsupported value: "TLS_FOO"`},
		"insecure": {"{tls: {cipherSuites: [TLS_RSA_WITH_RC4_128_SHA]}}",
			`serving.tls.cipherSuites[0]: Invalid value: "TLS_RSA_WITH_RC4_128_SHA": is insecure`},
		"header": {"{authentication: {requestHeader: {groupHeaders: ['a: b']}}}",
			`serving.authentication.requestHeader.groupHeaders[0]: Invalid value: "a: b": must be a header's name`},
		"no header": {"{authentication: {requestHeader: {usernameHeaders: []}}}",
			"serving.authentication.requestHeader.usernameHeaders: Required value"},
		"time of a token": {"{authentication: {tokenCacheTTL: 11m}}",
			`serving.authentication.tokenCacheTTL: Invalid value: "11m0s": must be from 0s to 10m0s`},
		"time of a no": {"{authorization: {denyCacheTTL: -1s}}", "serving.authorization.denyCacheTTL: Invalid value"},
		"path": {"{authorization: {alwaysAllowPaths: [healthz]}}",
			`serving.authorization.alwaysAllowPaths[0]: Invalid value: "healthz": must be a path that begins with /`},
		"star in the midst": {"{authorization: {alwaysAllowPaths: [/a/*/b]}}",
			"serving.authorization.alwaysAllowPaths[0]: Invalid value"},
		"misspelt": {"{tls: {cert: /c}}",
			`serving.tls.cert: Unsupported value: "cert": unknown field: did you mean certDir, certFile?`},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := loadText(t, head+"serving: "+c.text+"\n"); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got:  %v\nwant: %s", err, c.want)
			}
		})
	}
}
