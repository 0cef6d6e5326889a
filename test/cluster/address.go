package cluster

import (
	"net"
	"strconv"
	"testing"
)

// FreePort returns a port on loopback that nobody has taken.
func FreePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// FreeAddress returns an address on loopback that nobody has taken, and its port.
func FreeAddress(t testing.TB) (address, port string) {
	t.Helper()
	n, err := FreePort()
	if err != nil {
		t.Fatal(err)
	}
	port = strconv.Itoa(n)
	return net.JoinHostPort("127.0.0.1", port), port
}
