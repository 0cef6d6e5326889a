package config

import (
	"net"
	"net/netip"
	"strconv"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// samplingMax is all of a million.
const samplingMax = 1_000_000

// Tracing says where spans of syncs are sent: to a collector that speaks OpenTelemetry's protocol over gRPC, as the API
// server's and the kubelet's tracing does.
type Tracing struct {
	// Endpoint is the collector's host:port; 4317 is its usual port. Default: none, nothing is traced.
	Endpoint string `json:"endpoint"`
	// SamplingRatePerMillion is how many syncs of a million are traced, 0 to 1000000. Default: 1000000, all of them.
	SamplingRatePerMillion int32 `json:"samplingRatePerMillion"`
	// TLS says how the connection to the endpoint is secured.
	TLS TracingTLS `json:"tls"`
}

// TracingTLS secures the connection to a collector.
type TracingTLS struct {
	// Enabled uses TLS, and verifies the collector's certificate. Default: false, as with kube-apiserver: the collector is
	// assumed to be on the same machine.
	Enabled bool `json:"enabled"`
	// CAFile is the path of certificates in PEM that are trusted in place of the system's. Default: none.
	CAFile string `json:"caFile"`
	// CertFile is the path of a client certificate in PEM, for a collector that asks for one. Set both certFile and
	// keyFile, or neither. Default: none.
	CertFile string `json:"certFile"`
	// KeyFile is the path of the certificate's private key in PEM. Default: none.
	KeyFile string `json:"keyFile"`
	// ServerName is the name in the collector's certificate. Default: the endpoint's host.
	ServerName string `json:"serverName"`
}

// Loopback reports whether the endpoint is on this machine.
func (t *Tracing) Loopback() bool {
	host, _, err := net.SplitHostPort(t.Endpoint)
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

func (t *Tracing) validate(p *field.Path) (errs field.ErrorList) {
	if r := t.SamplingRatePerMillion; r < 0 || r > samplingMax {
		errs = append(errs, field.Invalid(p.Child("samplingRatePerMillion"), r, "must be from 0 to 1000000"))
	}
	if t.Endpoint != "" {
		host, port, err := net.SplitHostPort(t.Endpoint)
		n, bad := strconv.ParseUint(port, 10, 16)
		if err != nil || bad != nil || n == 0 || host == "" {
			errs = append(errs, field.Invalid(p.Child("endpoint"), t.Endpoint,
				"must be host:port, without a scheme, such as localhost:4317"))
		}
	}

	tls := p.Child("tls")
	for _, f := range []struct{ name, file string }{{"caFile", t.TLS.CAFile}, {"certFile", t.TLS.CertFile},
		{"keyFile", t.TLS.KeyFile}} {
		switch {
		case f.file == "":
		case !t.TLS.Enabled:
			errs = append(errs, field.Invalid(tls.Child(f.name), f.file,
				"needs tls.enabled: set it to true, or remove the field"))
		default:
			if e := mustBeFile(tls.Child(f.name), f.file); e != nil {
				errs = append(errs, e)
			}
		}
	}

	if (t.TLS.CertFile == "") != (t.TLS.KeyFile == "") {
		errs = append(errs, field.Required(tls.Child("keyFile"), "certFile and keyFile go together: set both or none"))
	}
	if t.TLS.ServerName != "" && !t.TLS.Enabled {
		errs = append(errs, field.Invalid(tls.Child("serverName"), t.TLS.ServerName,
			"needs tls.enabled: set it to true, or remove the field"))
	}
	return errs
}
