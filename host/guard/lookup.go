package guard

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/windlass-dev/windlass/config"
)

// Where the API server publishes whom it trusts (k8s.io/apiserver/pkg/server/options/authentication.go).
const (
	publishedNamespace = "kube-system"
	publishedName      = "extension-apiserver-authentication"
)

// How often that is read, and how soon again at first after it couldn't be.
const (
	lookupPeriod = time.Minute
	lookupRetry  = time.Second
	lookupMax    = 5 * time.Second // for one request
)

// published is whom the API server trusts.
type published struct {
	clients *authority // nil: nobody
	proxies *proxies
}

// readPublished reads what the API server publishes.
func readPublished(ctx context.Context, c corev1client.ConfigMapsGetter) (*published, error) {
	ctx, cancel := context.WithTimeout(ctx, lookupMax)
	defer cancel()
	m, err := c.ConfigMaps(publishedNamespace).Get(ctx, publishedName, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("reading the client CAs of the API server: %w: bind the Role %s of "+
			"namespace %s to the manager's user, or set serving.authentication.clientCAFile and skipLookup",
			err, publishedName+"-reader", publishedNamespace)
	}
	p, err := parsePublished(m)
	if err != nil {
		return nil, fmt.Errorf("ConfigMap %s/%s: %w", publishedNamespace, publishedName, err)
	}
	return p, nil
}

func parsePublished(m *corev1.ConfigMap) (*published, error) {
	p := &published{}
	var err error
	if text := m.Data["client-ca-file"]; text != "" {
		if p.clients, err = parseAuthority([]byte(text)); err != nil {
			return nil, fmt.Errorf("client-ca-file: %w", err)
		}
	}

	text := m.Data["requestheader-client-ca-file"]
	if text == "" {
		return p, nil
	}

	p.proxies = &proxies{}
	if p.proxies.authority, err = parseAuthority([]byte(text)); err != nil {
		return nil, fmt.Errorf("requestheader-client-ca-file: %w", err)
	}

	h := &p.proxies.RequestHeader
	for key, list := range map[string]*[]string{
		"requestheader-allowed-names": &h.AllowedNames, "requestheader-username-headers": &h.UsernameHeaders,
		"requestheader-uid-headers":   &h.UIDHeaders,
		"requestheader-group-headers": &h.GroupHeaders, "requestheader-extra-headers-prefix": &h.ExtraHeaderPrefixes,
	} {
		if text := m.Data[key]; text != "" {
			if err := json.Unmarshal([]byte(text), list); err != nil {
				return nil, fmt.Errorf("%s: %w", key, err)
			}
		}
	}

	return p, nil
}

// errSameAuthority is of a configuration by which every client could say that it is somebody else.
var errSameAuthority = errors.New("the CA of front proxies is that of all clients, and no names of front proxies " +
	"are set: request headers are ignored, because any client could claim to be any user")

// joinTrust joins what the configuration's files say with what the API server publishes: a file takes the place of what
// is published of its kind.
func joinTrust(c *config.Authentication, clients, headers *authority, p *published) (*authority, *proxies, error) {
	var from *proxies
	if p != nil && !c.SkipLookup {
		if clients == nil {
			clients = p.clients
		}
		from = p.proxies
	}
	if headers != nil {
		from = &proxies{headers, c.RequestHeader}
	}
	if from != nil && len(from.AllowedNames) == 0 && from.authority.equal(clients) {
		return clients, nil, errSameAuthority
	}
	return clients, from, nil
}
