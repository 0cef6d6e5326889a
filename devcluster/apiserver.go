package main

import (
	"context"
	_ "embed"
	"fmt"
	"net"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/client-go/rest"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"
	"k8s.io/kubernetes/cmd/kube-apiserver/app/options"
)

const (
	serviceCIDRs = "10.96.0.0/16,fd00:10:96::/112"
	// advertisedAddress is what the service default/kubernetes points to. Endpoints must not be loopback addresses,
	// and nobody ever connects to this one: it is from the block that is set aside for documentation.
	advertisedAddress = "192.0.2.1"
)

// auditPolicy records every request once, when it has been answered.
//
//go:embed audit-policy.yaml
var auditPolicy []byte

// runAPIServer serves on listener until ctx ends.
func runAPIServer(ctx context.Context, o clusterOptions, listener net.Listener, etcdURL string) error {
	in := func(name string) string { return filepath.Join(o.dir, name) }
	args := []string{
		"--etcd-servers=" + etcdURL,
		"--advertise-address=" + advertisedAddress,
		"--service-cluster-ip-range=" + serviceCIDRs,
		"--cert-dir=" + in("certs"),
		"--tls-cert-file=" + in("apiserver.crt"),
		"--tls-private-key-file=" + in("apiserver.key"),
		"--client-ca-file=" + in("ca.crt"),
		"--token-auth-file=" + in("tokens.csv"),
		"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
		"--service-account-key-file=" + in("sa.pub"),
		"--service-account-signing-key-file=" + in("sa.key"),
		"--authorization-mode=Node,RBAC",
		"--enable-bootstrap-token-auth", // as kubeadm does: nodes join with bootstrap tokens
		"--allow-privileged",
		"--profiling=false",
		"--max-requests-inflight=4000",
		"--max-mutating-requests-inflight=4000",
		"--runtime-config=" + o.runtimeConfig,
	}
	if o.auditLog != "" {
		policy := in("audit-policy.yaml")
		if err := os.WriteFile(policy, auditPolicy, 0o600); err != nil {
			return err
		}
		// Blocking: an event is in the file before its request is answered, so that a test may count without waiting.
		args = append(args, "--audit-policy-file="+policy, "--audit-log-path="+o.auditLog, "--audit-log-mode=blocking",
			"--audit-log-maxsize=10000")
	}

	s := options.NewServerRunOptions()
	flags := pflag.NewFlagSet("kube-apiserver", pflag.ContinueOnError)
	sets := s.Flags()
	for _, set := range sets.FlagSets {
		flags.AddFlagSet(set)
	}
	if err := flags.Parse(args); err != nil {
		return err
	}
	s.SecureServing.Listener = listener
	if err := s.GenericServerRunOptions.ComponentGlobalsRegistry.Set(); err != nil {
		return fmt.Errorf("feature gates: %w", err)
	}
	rest.SetDefaultWarningHandler(rest.NoWarnings{})
	completed, err := s.Complete(ctx)
	if err != nil {
		return err
	}
	if errs := completed.Validate(); len(errs) != 0 {
		return utilerrors.NewAggregate(errs)
	}
	return app.Run(ctx, completed)
}
