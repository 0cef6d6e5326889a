package guard

import (
	"errors"
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
	strangerPerSecond  = 50 // from one address
	strangerAtOnce     = 150
)

// metFor is for how long a token that was good makes nobody a stranger. Whether it still is good is asked all the same.
const metFor = time.Hour

// strangers bounds what the API server is asked for those who show nothing that is known already: whose token that is,
// or what somebody anonymous may do.
type strangers struct {
	all       *rate.Limiter
	addresses *cache.LRUExpireCache // of an address, the limiter
}

func newStrangers() *strangers {
	return &strangers{all: rate.NewLimiter(strangersPerSecond, strangersAtOnce),
		addresses: cache.NewLRUExpireCache(answersMax)}
}

// errStrangers is of a question that isn't asked, since there are too many.
var errStrangers = errors.New("too many requests without a known token or client certificate: try again in a second")

// allow returns errStrangers where a request is a stranger's and the API server can't be asked about it now.
func (s *strangers) allow(p *policy, r *http.Request) error {
	if !p.isStranger(r) {
		return nil
	}
	address, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		address = r.RemoteAddr
	}
	one, ok := s.addresses.Get(address)
	if !ok {
		one = rate.NewLimiter(strangerPerSecond, strangerAtOnce)
	}
	s.addresses.Add(address, one, time.Hour)
	if !one.(*rate.Limiter).Allow() || !s.all.Allow() {
		return errStrangers
	}
	return nil
}

// isStranger reports whether a request shows a token that hasn't been good before, or nothing at all.
func (p *policy) isStranger(r *http.Request) bool {
	if token := bearerToken(r); token != "" {
		return !p.tokens.met(token)
	}
	return r.TLS == nil || len(r.TLS.PeerCertificates) == 0
}
