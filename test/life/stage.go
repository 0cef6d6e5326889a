package life

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"

	"github.com/windlass-dev/windlass/test/cluster"
	"github.com/windlass-dev/windlass/test/metricsapi"
)

// Stage is a cluster on which scripts are played.
type Stage struct {
	Cluster *cluster.Cluster
	Client  kubernetes.Interface
	Dynamic dynamic.Interface
	Metrics *metricsapi.Server // nil where no script sets any
	// Own returns the sum of a metric of Windlass's, where that runs
	Own func(t testing.TB, metric string, labels map[string]string) (float64, error)
	// Longer is for how much longer than otherwise each step waits, where nothing may happen for minutes.
	Longer time.Duration
	// AnswersLost is whether what has been asked may be asked again, because its answer was lost: requests of one verb
	// to one object count once where a script says how many there are at most, and an event that tells of a lost answer
	// stands for the one that a script waits for.
	AnswersLost bool

	mapper *restmapper.DeferredDiscoveryRESTMapper

	mu     sync.Mutex
	looked map[string][]glance // by the script's namespace
}

// glance is what a step has looked at.
type glance struct {
	step    string
	objects []unstructured.Unstructured
}

// NewStage is of a cluster that keeps an audit log.
func NewStage(t testing.TB, c *cluster.Cluster) *Stage {
	t.Helper()
	config := c.RESTConfig()
	config.WarningHandler = rest.NoWarnings{} // Endpoints are deprecated
	client := kubernetes.NewForConfigOrDie(config)
	return &Stage{
		Cluster: c, Client: client, Dynamic: dynamic.NewForConfigOrDie(config),
		looked: map[string][]glance{},
		mapper: restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(client.Discovery())),
	}
}

// resource has a kind's objects, in a namespace where they are in one.
func (s *Stage) resource(kind, namespace string) (dynamic.ResourceInterface, error) {
	full, short := schema.ParseKindArg(kind)
	find := func() (*meta.RESTMapping, error) {
		if full != nil {
			if m, err := s.mapper.RESTMapping(full.GroupKind(), full.Version); err == nil {
				return m, nil
			}
		}
		if short.Group == "" {
			return s.mappingByKind(short.Kind)
		}
		return s.mapper.RESTMapping(short)
	}
	m, err := find()
	if err != nil {
		s.mapper.Reset() // a definition may be new
		if m, err = find(); err != nil {
			return nil, err
		}
	}
	if m.Scope.Name() == meta.RESTScopeNameRoot {
		return s.Dynamic.Resource(m.Resource), nil
	}
	return s.Dynamic.Resource(m.Resource).Namespace(namespace), nil
}

// groups are looked in, in this order, for kinds without a group.
var groups = []string{"", "apps", "batch", "autoscaling", "discovery.k8s.io", "rbac.authorization.k8s.io", "policy",
	"apiextensions.k8s.io", "apiregistration.k8s.io", "storage.k8s.io", "networking.k8s.io",
	"life.example.com", "example.com"}

func (s *Stage) mappingByKind(kind string) (*meta.RESTMapping, error) {
	for _, g := range groups {
		m, err := s.mapper.RESTMapping(schema.GroupKind{Group: g, Kind: kind})
		if err == nil {
			return m, nil
		}
		if !meta.IsNoMatchError(err) {
			return nil, err
		}
	}
	return nil, fmt.Errorf("no resource has the kind %s", kind)
}

// listObjects lists what is meant, by name.
func (s *Stage) listObjects(ctx context.Context, w *Which, namespace string) ([]unstructured.Unstructured, error) {
	if w.Namespace != "" {
		namespace = w.Namespace
	}
	r, err := s.resource(w.Kind, namespace)
	if err != nil {
		return nil, err
	}
	o := metav1.ListOptions{LabelSelector: w.Selector}
	if w.Name != "" {
		o.FieldSelector = "metadata.name=" + w.Name
	}
	l, err := r.List(ctx, o)
	if err != nil {
		return nil, err
	}
	var all []unstructured.Unstructured
	for _, x := range l.Items {
		if w.Matches == nil || Matches(w.Matches, x.Object) == "" {
			all = append(all, x)
		}
	}
	return all, nil
}

// variable is what a string can hold.
var variable = regexp.MustCompile(`\$\(([^()]+)\)`)

// fillVariables replaces the variables in all strings of a value from YAML, and makes its numbers those that clients
// take.
func (s *Stage) fillVariables(ctx context.Context, v any, namespace string, i int) (any, error) {
	var wrong error
	var walk func(any) any
	replace := func(text string) string {
		return variable.ReplaceAllStringFunc(text, func(x string) string {
			value, err := s.variable(ctx, x[2:len(x)-1], namespace, i)
			wrong = errors.Join(wrong, err)
			return value
		})
	}

	walk = func(v any) any {
		switch v := v.(type) {
		case map[string]any:
			m := make(map[string]any, len(v))
			for k, x := range v {
				m[replace(k)] = walk(x)
			}
			return m
		case []any:
			l := make([]any, len(v))
			for k, x := range v {
				l[k] = walk(x)
			}
			return l
		case string:
			return replace(v)
		}
		return v
	}
	return walk(v), wrong
}

func (s *Stage) variable(ctx context.Context, name, namespace string, i int) (string, error) {
	words := strings.Fields(name)
	switch {
	case name == "namespace":
		return namespace, nil
	case name == "i":
		return strconv.Itoa(i), nil
	case len(words) == 3 && words[0] == "uid":
		r, err := s.resource(words[1], namespace)
		if err != nil {
			return "", err
		}
		o, err := r.Get(ctx, words[2], metav1.GetOptions{})
		if err != nil {
			return "", err
		}
		return string(o.GetUID()), nil
	}
	return "", fmt.Errorf("$(%s) means nothing", name)
}
