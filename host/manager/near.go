package manager

import (
	"net"
	"net/netip"
	"net/url"
	"strings"

	"k8s.io/client-go/rest"
)

// uncompressed does without compression where the API server runs on this machine: it would pack each event of a watch
// by itself, and this process unpack it, to spare a network that isn't there.
func uncompressed(r *rest.Config) *rest.Config {
	if isLocalServer(r.Host) {
		r.DisableCompression = true
	}
	return r
}

// isLocalServer reports whether a server's address is one of this machine's. Names other than localhost aren't looked
// up: they may lead elsewhere tomorrow.
func isLocalServer(server string) bool {
	if !strings.Contains(server, "://") {
		server = "https://" + server
	}
	u, err := url.Parse(server)
	if err != nil {
		return false
	}
	if u.Hostname() == "localhost" {
		return true
	}

	ip, err := netip.ParseAddr(u.Hostname())
	if err != nil {
		return false
	}
	if ip = ip.Unmap(); ip.IsLoopback() {
		return true
	}

	own, err := net.InterfaceAddrs()
	if err != nil {
		return false
	}

	for _, a := range own {
		if n, err := netip.ParsePrefix(a.String()); err == nil && n.Addr().Unmap() == ip {
			return true
		}
	}
	return false
}
