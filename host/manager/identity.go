package manager

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/transport"
	"k8s.io/controller-manager/pkg/clientbuilder"
	"k8s.io/klog/v2"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/config"
	"github.com/windlass-dev/windlass/host/connections"
	"github.com/windlass-dev/windlass/host/plugins"
)

// The namespace of the controllers' service accounts.
const accountNamespace = "kube-system"

// Upstream's names: RBAC audits and managedFields show them.
const (
	userAgent    = "kube-controller-manager"
	fieldManager = "kube-controller-manager"
)

// restConfig is the manager's own identity, under which everything is read.
func restConfig(c *config.ClientConnection) (*rest.Config, error) {
	r, err := loadConfig(c)
	if err != nil {
		return nil, err
	}
	return uncompressed(withUserAgent(r)), nil
}

func loadConfig(c *config.ClientConnection) (r *rest.Config, err error) {
	switch {
	case c.Kubeconfig != "" || c.Server != "":
		if r, err = clientcmd.BuildConfigFromFlags(c.Server, c.Kubeconfig); err != nil {
			return nil, fmt.Errorf("clientConnection.kubeconfig: %w", err)
		}
	case os.Getenv(clientcmd.RecommendedConfigPathEnvVar) != "":
		r, err = clientcmd.NewNonInteractiveDeferredLoadingClientConfig(clientcmd.NewDefaultClientConfigLoadingRules(),
			&clientcmd.ConfigOverrides{}).ClientConfig()
		if err != nil {
			return nil, fmt.Errorf("$KUBECONFIG: %w", err)
		}
	default:
		if r, err = rest.InClusterConfig(); err != nil {
			return nil, fmt.Errorf("clientConnection.kubeconfig: not set, and windlass doesn't run in a pod: "+
				"set --kubeconfig or $KUBECONFIG: %w", err)
		}
	}
	return r, nil
}

// withUserAgent returns the configuration with what upstream sets: a name, and silence about deprecated APIs, which
// controllers can't help using.
func withUserAgent(r *rest.Config) *rest.Config {
	r.UserAgent = userAgent
	r.WarningHandlerWithContext = rest.NoWarnings{}
	return r
}

// awaitServer waits for the API server as long as upstream does.
func awaitServer(ctx context.Context, r *rest.Config, kubeconfig string) error {
	c := rest.CopyConfig(r)
	c.Timeout = 5 * time.Second
	c.QPS = -1 // the limiter's complaint of the deadline would hide why the server didn't answer
	client, err := kubernetes.NewForConfig(c)
	if err != nil {
		return fmt.Errorf("kubeconfig %s: %w", kubeconfig, err)
	}
	var last error
	err = wait.PollUntilContextTimeout(ctx, 250*time.Millisecond, 10*time.Second, true,
		func(ctx context.Context) (bool, error) {
			_, err := client.Discovery().RESTClient().Get().AbsPath("/healthz").DoRaw(ctx)
			if last == nil || ctx.Err() == nil { // that the time is over doesn't say why the server didn't answer
				last = err
			}
			return err == nil, nil
		})
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("the API server %s did not answer within 10 s: %w: check that it runs and that kubeconfig %s is right", r.Host, last, kubeconfig)
	}
	return ctx.Err()
}

// identities gives each controller the client configuration it writes with.
type identities struct {
	base    *rest.Config
	builder clientbuilder.ControllerClientBuilder // of the accounts; nil until one is needed
	// tokens are by account: one that a version has asked for serves the next versions, too.
	tokens map[string]*rest.Config
	share  transport.WrapperFunc // the writers' connections
	choose transport.WrapperFunc // the versions of resources; base has it already
}

func newIdentities(base *rest.Config, choose transport.WrapperFunc) *identities {
	return &identities{base: base, tokens: map[string]*rest.Config{}, share: connections.Share(), choose: choose}
}

// configOf returns what an account writes with, which is made where it is missing.
func (i *identities) configOf(account string) (*rest.Config, error) {
	if r := i.tokens[account]; r != nil {
		return r, nil
	}
	if i.builder == nil {
		unlimited := rest.CopyConfig(i.base)
		unlimited.QPS = -1 // a few requests per controller, which its first write waits for
		client, err := kubernetes.NewForConfig(unlimited)
		if err != nil {
			return nil, err
		}
		klog.InfoS("Controllers write as service accounts of their own", "namespace", accountNamespace)
		i.builder = clientbuilder.NewDynamicClientBuilder(rest.AnonymousClientConfig(i.base), client.CoreV1(),
			accountNamespace)
	}

	r, err := i.builder.Config(account)
	if err != nil {
		return nil, fmt.Errorf("credentials of service account %s/%s: %w", accountNamespace, account, err)
	}
	r.Wrap(i.choose)
	i.tokens[account] = r
	return r, nil
}

// configFor returns what a controller writes with, which has an account of its own where accounts is true. It isn't
// safe to call concurrently. Its user agent names it: in audit logs one sees who it was where all write as the manager,
// too.
func (i *identities) configFor(c *abi.Controller, p *config.Plugin, f *plugins.Plugin,
	accounts bool) (*rest.Config, error) {
	builtin := f.Origin == plugins.OriginBuiltin
	r, agent := rest.CopyConfig(i.base), c.Name
	if builtin {
		agent = cmp.Or(c.ServiceAccount, c.Name)
	}

	switch user, account := p.Impersonate.Username(), p.Account(builtin, c.ServiceAccount); {
	case user != "":
		r.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: p.Impersonate.Groups}
	case accounts && account != "":
		if why := validation.IsDNS1123Subdomain(account); len(why) > 0 {
			return nil, fmt.Errorf("controller %s: %q can't be a service account's name: set plugins[%s].serviceAccount", c.Name,
				account, p.Name)
		}
		with, err := i.configOf(account)
		if err != nil {
			return nil, fmt.Errorf("controller %s: %w", c.Name, err)
		}
		r = rest.CopyConfig(with)
	}

	r.UserAgent = userAgent + "/" + agent
	r.WrapTransport = transport.Wrappers(i.share, r.WrapTransport) // innermost: who waits for a token holds up nobody
	return r, nil
}
