package manager

import (
	"net"
	"net/netip"
	"testing"

	"k8s.io/client-go/rest"
)

// What comes from this machine needn't be compressed; what comes over a network stays as client-go has it.
func TestUncompressed(t *testing.T) {
	for server, want := range map[string]bool{
		"https://127.0.0.1:6443": true, "https://[::1]:6443": true, "https://localhost:6443": true, "127.0.0.1:6443": true,
		"https://192.0.2.7:6443": false, "https://[2001:db8::7]:6443": false, "https://kubernetes.default.svc": false,
		"https://localhost.example.com": false, "https://[::1": false, "": false,
	} {
		if r := uncompressed(&rest.Config{Host: server}); r.DisableCompression != want {
			t.Errorf("%q: compression is disabled: %v", server, r.DisableCompression)
		}
	}
	own, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range own {
		ip := netip.MustParsePrefix(a.String()).Addr()
		if server := "https://" + netip.AddrPortFrom(ip, 6443).String(); !isLocalServer(server) {
			t.Errorf("%s is not here", server)
		}
	}
}
