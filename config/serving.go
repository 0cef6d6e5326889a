package config

import (
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	cliflag "k8s.io/component-base/cli/flag"
)

// Serving says how health, metrics and the manager's state are served, and to whom. It is always HTTPS.
//
// Changed contents of the files that it names are used within seconds. Changed fields are used as soon as the
// configuration is read anew, except for bindAddress and port.
type Serving struct {
	// BindAddress is the IP address to serve on; 0.0.0.0 or :: for all addresses. It is read at the start only. Default:
	// 127.0.0.1.
	BindAddress string `json:"bindAddress"`
	// Port is the port to serve on: 1 to 65535, 0 to serve nothing at all, -1 for any free port, which is logged. It is
	// read at the start only. Default: 10257.
	Port int32 `json:"port"`
	// TLS says which certificate to serve with.
	TLS ServingTLS `json:"tls"`
	// Authentication says how the users who send requests are identified.
	Authentication Authentication `json:"authentication"`
	// Authorization says which requests they may send.
	Authorization Authorization `json:"authorization"`
	// Profiling serves /debug/pprof and /debug/flags to users who may ask for them. Default: true.
	Profiling bool `json:"profiling"`
	// ContentionProfiling profiles contention over locks, too, where profiling is on. Default: false.
	ContentionProfiling bool `json:"contentionProfiling"`
}

// ServingTLS says which certificate to serve with.
type ServingTLS struct {
	// CertFile is the path of the server's certificate in PEM, followed by the intermediate certificates that lead to its
	// CA. Default: none, which serves with a self-signed certificate.
	CertFile string `json:"certFile"`
	// KeyFile is the path of the certificate's private key in PEM. Set both certFile and keyFile, or neither. Default:
	// none.
	KeyFile string `json:"keyFile"`
	// CertDir is a folder where the self-signed certificate is kept with its key, as kube-controller-manager.crt and .key,
	// so that the next start serves with the same one. It isn't used where there is a certFile. Default: none: the key
	// stays in memory, and each start makes another certificate.
	CertDir string `json:"certDir"`
	// MinVersion is the lowest version of TLS to accept: VersionTLS12 or VersionTLS13. Default: VersionTLS12.
	MinVersion string `json:"minVersion"`
	// CipherSuites are the cipher suites that are accepted with TLS 1.2, by their names in Go's crypto/tls; those of TLS
	// 1.3 can't be chosen. Default: none, which uses Go's.
	CipherSuites []string `json:"cipherSuites"`
}

// Authentication says how the users who send requests are identified: by a client certificate, by a front proxy that
// names them, or by a token, which the API server reviews.
type Authentication struct {
	// Kubeconfig is the path of a kubeconfig file of the API server that reviews tokens. Default: none, which uses
	// clientConnection.
	Kubeconfig string `json:"kubeconfig"`
	// ClientCAFile is the path of the CAs, in PEM, whose client certificates name a user (common name) and groups
	// (organizations). Default: none, which uses those that the API server publishes (ConfigMap
	// kube-system/extension-apiserver-authentication), unless skipLookup is true.
	ClientCAFile string `json:"clientCAFile"`
	// RequestHeader says which proxies may name users in headers. Default: none, which uses those that the API server
	// publishes in the same ConfigMap, unless skipLookup is true.
	RequestHeader RequestHeader `json:"requestHeader"`
	// SkipLookup ignores what the API server publishes in that ConfigMap. Default: false.
	SkipLookup bool `json:"skipLookup"`
	// TolerateLookupFailure has the manager go on without client certificates and proxies while that ConfigMap can't be
	// read, and try again. If it is false, the manager ends at its start. It is read at the start only. Default:
	// true.
	TolerateLookupFailure bool `json:"tolerateLookupFailure"`
	// TokenCacheTTL is how long the review of a token is cached: a duration up to 10m, 0s for not at all. Default: 10s.
	TokenCacheTTL metav1.Duration `json:"tokenCacheTTL"`
}

// RequestHeader says which proxies may name users in headers. Such a proxy shows a client certificate of a CA for
// proxies.
type RequestHeader struct {
	// ClientCAFile is the path of the CAs of these proxies in PEM. Default: none: the configuration allows no proxy.
	ClientCAFile string `json:"clientCAFile"`
	// AllowedNames are the common names that their certificates may have. Default: none, which allows all.
	AllowedNames []string `json:"allowedNames"`
	// UsernameHeaders are the headers that name the user; the first one that is there counts. Default: x-remote-user.
	UsernameHeaders []string `json:"usernameHeaders"`
	// UIDHeaders are the headers with the user's UID. Default: none.
	UIDHeaders []string `json:"uidHeaders"`
	// GroupHeaders are the headers with the user's groups; all of them count. Default: x-remote-group.
	GroupHeaders []string `json:"groupHeaders"`
	// ExtraHeaderPrefixes are the beginnings of headers with anything else that is known of the user. Default:
	// x-remote-extra-.
	ExtraHeaderPrefixes []string `json:"extraHeaderPrefixes"`
}

// Authorization says which requests users may send: members of system:masters all, others those that the API server
// allows (nonResourceURLs of the cluster's roles).
type Authorization struct {
	// Kubeconfig is the path of a kubeconfig file of the API server that is asked. Default: none, which uses
	// clientConnection.
	Kubeconfig string `json:"kubeconfig"`
	// AlwaysAllowPaths are the paths that need no authorization; one that ends in * stands for all paths that begin like
	// it. Default: /healthz, /readyz, /livez.
	AlwaysAllowPaths []string `json:"alwaysAllowPaths"`
	// AllowCacheTTL is how long a yes of the API server is cached: a duration up to 10m, 0s for not at all. Default: 10s.
	AllowCacheTTL metav1.Duration `json:"allowCacheTTL"`
	// DenyCacheTTL is how long a no of the API server is cached. Default: 10s.
	DenyCacheTTL metav1.Duration `json:"denyCacheTTL"`
}

// cacheTTLMax bounds for how long what the API server said may be believed.
const cacheTTLMax = 10 * time.Minute

// defaultServing has upstream's values (k8s.io/apiserver/pkg/server/options, cmd/kube-controller-manager/app/options),
// but for the address and tolerateLookupFailure.
func defaultServing() Serving {
	ttl := metav1.Duration{Duration: 10 * time.Second}
	return Serving{
		BindAddress: "127.0.0.1",
		Port:        10257,
		TLS:         ServingTLS{MinVersion: "VersionTLS12"},
		Authentication: Authentication{
			TolerateLookupFailure: true,
			TokenCacheTTL:         ttl,
			RequestHeader: RequestHeader{
				UsernameHeaders: []string{"x-remote-user"}, GroupHeaders: []string{"x-remote-group"},
				ExtraHeaderPrefixes: []string{"x-remote-extra-"},
			},
		},
		Authorization: Authorization{AlwaysAllowPaths: []string{"/healthz", "/readyz", "/livez"}, AllowCacheTTL: ttl,
			DenyCacheTTL: ttl},
		Profiling: true,
	}
}

func (s *Serving) validate(p *field.Path) (errs field.ErrorList) {
	if net.ParseIP(s.BindAddress) == nil {
		errs = append(errs, field.Invalid(p.Child("bindAddress"), s.BindAddress,
			"must be an IP address, such as 127.0.0.1, or 0.0.0.0 or :: for all"))
	}
	if s.Port < -1 || s.Port > 65535 {
		errs = append(errs, field.Invalid(p.Child("port"), s.Port,
			"must be from 1 to 65535, 0 for none, -1 for any free one"))
	}
	errs = append(errs, s.TLS.validate(p.Child("tls"))...)
	errs = append(errs, s.Authentication.validate(p.Child("authentication"))...)
	return append(errs, s.Authorization.validate(p.Child("authorization"))...)
}

func (t *ServingTLS) validate(p *field.Path) (errs field.ErrorList) {
	if (t.CertFile == "") != (t.KeyFile == "") {
		missing := "keyFile"
		if t.CertFile == "" {
			missing = "certFile"
		}
		errs = append(errs, field.Required(p.Child(missing),
			"certFile and keyFile go together: name both, or none for a certificate that is signed by itself"))
	}
	if info, err := os.Stat(t.CertDir); t.CertDir != "" && err == nil && !info.IsDir() {
		errs = append(errs, field.Invalid(p.Child("certDir"), t.CertDir, "is a file: name a folder"))
	}
	// Go speaks older ones, too, to nobody's good.
	if versions := []string{"VersionTLS12", "VersionTLS13"}; !slices.Contains(versions, t.MinVersion) {
		errs = append(errs, field.NotSupported(p.Child("minVersion"), t.MinVersion, versions))
	}
	for i, name := range t.CipherSuites {
		switch {
		case slices.Contains(cliflag.InsecureTLSCipherNames(), name):
			errs = append(errs, field.Invalid(p.Child("cipherSuites").Index(i), name, "is insecure"))
		case !slices.Contains(cliflag.PreferredTLSCipherNames(), name):
			errs = append(errs, field.NotSupported(p.Child("cipherSuites").Index(i), name, cliflag.PreferredTLSCipherNames()))
		}
	}
	return errs
}

func (a *Authentication) validate(p *field.Path) (errs field.ErrorList) {
	errs = append(errs, validateTTL(p.Child("tokenCacheTTL"), a.TokenCacheTTL)...)
	h, p := &a.RequestHeader, p.Child("requestHeader")
	for name, list := range map[string][]string{"usernameHeaders": h.UsernameHeaders, "uidHeaders": h.UIDHeaders,
		"groupHeaders": h.GroupHeaders, "extraHeaderPrefixes": h.ExtraHeaderPrefixes, "allowedNames": h.AllowedNames} {
		for i, text := range list {
			if strings.TrimSpace(text) == "" || name != "allowedNames" && strings.ContainsAny(text, " \t:\r\n") {
				errs = append(errs, field.Invalid(p.Child(name).Index(i), text, "must be a header's name, such as X-Remote-User"))
			}
		}
	}
	if len(h.UsernameHeaders) == 0 {
		errs = append(errs, field.Required(p.Child("usernameHeaders"), "name at least one, such as X-Remote-User"))
	}
	return errs
}

func (a *Authorization) validate(p *field.Path) (errs field.ErrorList) {
	for i, path := range a.AlwaysAllowPaths {
		if !strings.HasPrefix(path, "/") || strings.Contains(strings.TrimSuffix(path, "*"), "*") {
			errs = append(errs, field.Invalid(p.Child("alwaysAllowPaths").Index(i), path,
				"must be a path that begins with /, such as /healthz or, for all paths that begin so, /healthz/*"))
		}
	}
	errs = append(errs, validateTTL(p.Child("allowCacheTTL"), a.AllowCacheTTL)...)
	return append(errs, validateTTL(p.Child("denyCacheTTL"), a.DenyCacheTTL)...)
}

func validateTTL(p *field.Path, d metav1.Duration) field.ErrorList {
	if d.Duration < 0 || d.Duration > cacheTTLMax {
		return field.ErrorList{field.Invalid(p, d.Duration.String(), fmt.Sprintf("must be from 0s to %v", cacheTTLMax))}
	}
	return nil
}
