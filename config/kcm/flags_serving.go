package kcm

import (
	"net"
	"time"

	"github.com/spf13/pflag"
	cliflag "k8s.io/component-base/cli/flag"
)

// tlsAsGo is why curves and HTTP/2 can't be chosen.
const tlsAsGo = "curves, HTTP/2 and its limits are Go's"

var serving = []Group{
	{"debugging", []Flag{
		{Name: "profiling", Value: Bool(true), Sets: "serving.profiling",
			Usage: "serve /debug/pprof and /debug/flags, to users who are authorized for them"},
		{Name: "contention-profiling", Value: Bool(false), Sets: "serving.contentionProfiling",
			Usage: "profile contention over locks, too"},
	}},
	{"secure serving", []Flag{
		{Name: "bind-address", Value: func(fs *pflag.FlagSet, n, u string) {
			fs.IP(n, net.IPv4zero, u)
		}, Sets: "serving.bindAddress",
			Usage:   "IP address on which health, metrics and state are served; 0.0.0.0 or :: for all",
			Differs: "by default only this machine may connect"},
		{Name: "secure-port", Value: Int(10257), Sets: "serving.port",
			Usage: "port on which health, metrics and state are served, 0 for none, -1 for any free one"},
		{Name: "cert-dir", Value: Text(""), Sets: "serving.tls.certDir",
			Usage: "folder for the self-signed certificate that is made without --tls-cert-file; " +
				"without a folder, its key stays in memory"},
		{Name: "tls-cert-file", Value: Text(""), Sets: "serving.tls.certFile",
			Usage: "the server's certificate, with those that lead to its CA"},
		{Name: "tls-private-key-file", Value: Text(""), Sets: "serving.tls.keyFile", Usage: "the certificate's private key"},
		{Name: "tls-sni-cert-key", Value: Other(func() pflag.Value {
			return cliflag.NewNamedCertKeyArray(&[]cliflag.NamedCertKey{})
		}), Why: "there is one certificate, which may have many names"},
		{Name: "tls-min-version", Value: Text(""), Sets: "serving.tls.minVersion",
			Usage:   "lowest version of TLS to accept: VersionTLS12 or VersionTLS13",
			Differs: "it is the same version, by name"},
		{Name: "tls-cipher-suites", Value: List(), Sets: "serving.tls.cipherSuites",
			Usage: "cipher suites of TLS 1.2 to accept; insecure ones are left out"},
		{Name: "tls-curve-preferences", Value: func(fs *pflag.FlagSet, n, u string) {
			fs.Int32Slice(n, nil, u)
		}, Why: tlsAsGo},
		{Name: "disable-http2-serving", Value: Bool(false), Why: tlsAsGo},
		{Name: "http2-max-streams-per-connection", Value: Int(0), Why: tlsAsGo},
		{Name: "permit-address-sharing", Value: Bool(false), Why: "nothing else shares the address"},
		{Name: "permit-port-sharing", Value: Bool(false), Why: "nothing else shares the port"},
	}},
	{"authentication", []Flag{
		{Name: "authentication-kubeconfig", Value: Text(""), Sets: "serving.authentication.kubeconfig",
			Usage: "kubeconfig file of the API server that reviews tokens; without one, the manager's own"},
		{Name: "authentication-skip-lookup", Value: Bool(false), Sets: "serving.authentication.skipLookup",
			Usage: "don't read the CAs that the API server publishes"},
		{Name: "authentication-token-webhook-cache-ttl", Value: Duration(10 * time.Second),
			Sets: "serving.authentication.tokenCacheTTL", Usage: "how long the review of a token is cached"},
		{Name: "authentication-tolerate-lookup-failure", Value: Bool(false),
			Sets:    "serving.authentication.tolerateLookupFailure",
			Usage:   "go on even if the CAs that the API server publishes can't be read",
			Differs: "the controllers work without it"},
		{Name: "client-ca-file", Value: Text(""), Sets: "serving.authentication.clientCAFile",
			Usage: "CAs whose client certificates name users; without one, those that the API server publishes"},
		{Name: "requestheader-allowed-names", Value: List(), Sets: "serving.authentication.requestHeader.allowedNames",
			Usage: "common names that front proxies' certificates may have; none allows all"},
		{Name: "requestheader-client-ca-file", Value: Text(""), Sets: "serving.authentication.requestHeader.clientCAFile",
			Usage: "CAs of front proxies, which name users in headers"},
		{Name: "requestheader-extra-headers-prefix", Value: List("x-remote-extra-"),
			Sets:  "serving.authentication.requestHeader.extraHeaderPrefixes",
			Usage: "prefixes of the headers with other attributes of the user"},
		{Name: "requestheader-group-headers", Value: List("x-remote-group"),
			Sets: "serving.authentication.requestHeader.groupHeaders", Usage: "headers of the user's groups"},
		{Name: "requestheader-uid-headers", Value: List(), Sets: "serving.authentication.requestHeader.uidHeaders",
			Usage: "headers of the user's UID"},
		{Name: "requestheader-username-headers", Value: List("x-remote-user"),
			Sets: "serving.authentication.requestHeader.usernameHeaders", Usage: "headers of the user's name"},
	}},
	{"authorization", []Flag{
		{Name: "authorization-kubeconfig", Value: Text(""), Sets: "serving.authorization.kubeconfig",
			Usage: "kubeconfig file of the API server that authorizes users; without one, the manager's own"},
		{Name: "authorization-always-allow-paths", Value: List("/healthz", "/readyz", "/livez"),
			Sets:  "serving.authorization.alwaysAllowPaths",
			Usage: "paths that need no authorization; one that ends in * stands for all that begin so"},
		{Name: "authorization-webhook-cache-authorized-ttl", Value: Duration(10 * time.Second),
			Sets: "serving.authorization.allowCacheTTL", Usage: "how long a yes of the API server is cached"},
		{Name: "authorization-webhook-cache-unauthorized-ttl", Value: Duration(10 * time.Second),
			Sets: "serving.authorization.denyCacheTTL", Usage: "how long a no of the API server is cached"},
	}},
}
