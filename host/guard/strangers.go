package guard

import (
	"net"
	"net/http"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/util/cache"
)

// What strangers may have the API server asked, in the long run and at once: all of them half of what it is asked at
// most, so that those who are known don't wait behind them.
const (
	strangersPerSecond = questionsPerSecond / 2
	strangersAtOnce    = questionsAtOnce / 2
	strangerPerSecond  = 20 // from one address
	strangerAtOnce     = 100
)

// metFor is for how long a token that was good makes nobody a stranger. Whether it still is good is asked all the same.
const metFor = time.Hour

// strangers bounds the requests of those who show nothing that is known already: each is a question to the API server,
// whose token that is or what somebody anonymous may do.
type strangers struct {
	all       *rate.Limiter
	addresses *cache.LRUExpireCache // of an address, the limiter
}

func newStrangers() *strangers {
	return &strangers{all: rate.NewLimiter(strangersPerSecond, strangersAtOnce),
		addresses: cache.NewLRUExpireCache(answersMax)}
}

// allow reports whether a stranger's request may be gone into now.
func (s *strangers) allow(r *http.Request) bool {
	address, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		address = r.RemoteAddr
	}
	one, ok := s.addresses.Get(address)
	if !ok {
		one = rate.NewLimiter(strangerPerSecond, strangerAtOnce)
	}
	s.addresses.Add(address, one, time.Hour)
	return one.(*rate.Limiter).Allow() && s.all.Allow()
}

// isStranger reports whether a request shows a token that hasn't been good before, or nothing at all.
func (p *policy) isStranger(r *http.Request) bool {
	if token := bearerToken(r); token != "" {
		return !p.tokens.met(token)
	}
	return r.TLS == nil || len(r.TLS.PeerCertificates) == 0
}
