//go:build !linux

package leader

import (
	"net"
	"time"
)

func sinceBoot() time.Duration { return 0 }

func dropLate(net.Conn, time.Duration) {}

func disconnect(*net.TCPConn) {}
