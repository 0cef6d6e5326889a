package kcm

import (
	"errors"
	"regexp"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/api/resource"
)

const (
	noSplit   = "logs are one stream, unbuffered"
	noMetrics = "no metric is hidden, deprecated or cut"
)

var process = []Group{
	{"metrics", []Flag{
		{Name: "show-hidden-metrics-for-version", Value: Text(""), Why: noMetrics},
		{Name: "disabled-metrics", Value: List(), Why: noMetrics},
		{Name: "allow-metric-labels", Value: func(fs *pflag.FlagSet, n, u string) {
			fs.StringToString(n, nil, u)
		}, Why: noMetrics},
		{Name: "allow-metric-labels-manifest", Value: Text(""), Why: noMetrics},
	}},
	{"logs", []Flag{
		{Name: "v", Does: "sets `logging.verbosity`: how much is logged"},
		{Name: "vmodule", Does: "how much is logged, by file"},
		{Name: "logging-format", Value: Text("text"), Check: oneOf("text", "json"), Does: "text or JSON"},
		{Name: "log-flush-frequency", Value: Duration(5 * time.Second), Why: noSplit},
		{Name: "log-text-split-stream", Value: Bool(false), Why: noSplit},
		{Name: "log-text-info-buffer-size", Value: Other(quantity), Why: noSplit},
		{Name: "log-json-split-stream", Value: Bool(false), Why: noSplit},
		{Name: "log-json-info-buffer-size", Value: Other(quantity), Why: noSplit},
	}},
	{"misc", []Flag{
		{Name: "kubeconfig", Value: Text(""), Sets: "clientConnection.kubeconfig",
			Usage: "path of a kubeconfig file; without one, $KUBECONFIG as kubectl takes it, else the service account of the pod"},
		{Name: "master", Value: Text(""), Sets: "clientConnection.server",
			Usage: "address of the API server, instead of the kubeconfig's"},
		{Name: "version", Does: "prints the versions and ends"},
		{Name: "help", Does: "prints the flags and ends"},
	}},
}

// size is a quantity without the exponents that resource.ParseQuantity computes for minutes, as in 1e999999999.
type size struct{ resource.QuantityValue }

var sizes = regexp.MustCompile(`^[0-9.]{1,15}([numkMGTPE]|[KMGTPE]i|[eE][0-9]{1,2})?$`)

func (s *size) Set(text string) error {
	if !sizes.MatchString(text) {
		return errors.New("must be a quantity such as 512, 64Ki or 1M")
	}
	return s.QuantityValue.Set(text)
}

func quantity() pflag.Value { return &size{} }
