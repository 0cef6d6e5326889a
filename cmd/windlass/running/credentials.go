package running

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strconv"

	"github.com/spf13/pflag"
	clientrest "k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/transport"

	windlassserver "github.com/windlass-dev/windlass/host/server"
)

// credentials say who asks a windlass, and how it is known to be the one that is meant. Nothing of a user's is sent to
// one that isn't known to be.
type credentials struct {
	kubeconfig, context, tokenFile   string
	authority, serverName, cert, key string
	insecure                         bool
}

func (k *credentials) addFlags(f *pflag.FlagSet) {
	f.StringVar(&k.kubeconfig, "kubeconfig", "",
		"kubeconfig file with the user's credentials (default: as kubectl, $KUBECONFIG, ~/.kube/config, "+
			"or in a pod its service account)")
	f.StringVar(&k.context, "context", "", "context of the kubeconfig (default: its current one)")
	f.StringVar(&k.tokenFile, "token-file", "", "file with a bearer token, instead of the kubeconfig's user")
	f.StringVar(&k.cert, "client-certificate", "", "client certificate in PEM, instead of the kubeconfig's user")
	f.StringVar(&k.key, "client-key", "", "private key of the client certificate, in PEM")
	f.StringVar(&k.authority, "certificate-authority", "",
		"CAs in PEM, one of which must have signed the certificate of the windlass to ask (default: the system's; on this machine the certificate that a windlass of the same user has stored)")
	f.StringVar(&k.serverName, "tls-server-name", "", "name that the certificate must have (default: that of --server)")
	f.BoolVar(&k.insecure, "insecure-skip-tls-verify", false,
		"don't verify the server's certificate: the user's token is sent to whoever answers")
}

// newClient returns a client for the windlass at an address.
func (k *credentials) newClient(address string) (*http.Client, error) {
	user, err := k.userConfig()
	if err != nil {
		return nil, err
	}
	c, err := user.TransportConfig()
	if err != nil {
		return nil, err
	}
	// The user is the kubeconfig's, the server isn't.
	c.TLS.Insecure, c.TLS.CAFile, c.TLS.CAData, c.TLS.ServerName = k.insecure, k.authority, nil, k.serverName
	c.Proxy = nil
	if !k.insecure && k.authority == "" {
		c.TLS.CAData, c.TLS.ServerName = k.pinnedCertificate(address)
	}
	rt, err := transport.New(c)
	if err != nil {
		return nil, err
	}
	return &http.Client{Transport: rt, CheckRedirect: func(*http.Request,
		[]*http.Request) error {
		return http.ErrUseLastResponse
	}}, nil
}

// userConfig returns the configuration of who asks.
func (k *credentials) userConfig() (*clientrest.Config, error) {
	if (k.cert == "") != (k.key == "") {
		return nil, errors.New("--client-certificate and --client-key go together")
	}
	switch {
	case k.tokenFile != "" && k.cert != "":
		return nil, errors.New("give either --token-file or --client-certificate, not both")
	case k.tokenFile != "":
		if _, err := os.Stat(k.tokenFile); err != nil {
			return nil, fmt.Errorf("--token-file: %w", err)
		}
		return &clientrest.Config{BearerTokenFile: k.tokenFile}, nil
	case k.cert != "":
		return &clientrest.Config{TLSClientConfig: clientrest.TLSClientConfig{CertFile: k.cert, KeyFile: k.key}}, nil
	}
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = k.kubeconfig
	c, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules,
		&clientcmd.ConfigOverrides{CurrentContext: k.context}).ClientConfig()
	if clientcmd.IsEmptyConfig(err) && k.kubeconfig == "" && k.context == "" {
		return &clientrest.Config{}, nil // what anybody may ask
	}
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	return c, nil
}

// pinnedCertificate returns the certificate that a windlass of this user's on this machine has left, and a name that it
// has; nothing where there is none.
func (k *credentials) pinnedCertificate(address string) (certificate []byte, name string) {
	host, port, err := net.SplitHostPort(address)
	number, portErr := strconv.Atoi(port)
	if err != nil || portErr != nil || !onLoopback(host) {
		return nil, k.serverName
	}

	b, _, err := windlassserver.Pinned(number)
	if err != nil {
		return nil, k.serverName
	}

	block, _ := pem.Decode(b)
	if block == nil {
		return nil, k.serverName
	}

	c, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil, k.serverName
	}

	switch { // it is known by itself: whichever of its names will do
	case k.serverName != "":
		return b, k.serverName
	case c.VerifyHostname(host) == nil:
		return b, ""
	case len(c.DNSNames) > 0:
		return b, c.DNSNames[0]
	case len(c.IPAddresses) > 0:
		return b, c.IPAddresses[0].String()
	}
	return b, ""
}

func onLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// explain adds what to do about an error of the connection.
func (k *credentials) explain(address string, err error) error {
	unknown, name, bad := x509.UnknownAuthorityError{}, x509.HostnameError{}, x509.CertificateInvalidError{}
	switch {
	case errors.As(err, &unknown), errors.As(err, &bad):
		where := "name the CA of its certificate with --certificate-authority"
		if host, port, splitErr := net.SplitHostPort(address); splitErr == nil && onLoopback(host) && k.authority == "" {
			number, _ := strconv.Atoi(port)
			if _, path, _ := windlassserver.Pinned(number); path != "" {
				where += fmt.Sprintf("; a windlass that this user runs on this machine leaves its certificate in %s", path)
			}
		}
		return fmt.Errorf("can't verify that %s is windlass, nothing was sent: %w: %s", address, err, where)
	case errors.As(err, &name):
		return fmt.Errorf("can't verify that %s is windlass, nothing was sent: %w: name it as its certificate does, in "+
			"--server or with --tls-server-name", address, err)
	}
	return fmt.Errorf("%w: does windlass run there, and is %s its serving.bindAddress and port?", err, address)
}
