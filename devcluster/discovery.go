package main

import (
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/kubernetes/cmd/kubeadm/app/apis/kubeadm"
	"k8s.io/kubernetes/cmd/kubeadm/app/discovery/token"
)

// kubeadmDiscoveryCommand finds a cluster as kubeadm join does, with kubeadm's own code: by a token that vouches for
// what anybody may read, and the hash of the authority's public key.
func kubeadmDiscoveryCommand() *cobra.Command {
	var patience time.Duration
	found := &kubeadm.BootstrapTokenDiscovery{}
	cmd := &cobra.Command{
		Use:   "kubeadm-discovery",
		Short: "Print the kubeconfig that kubeadm join has of a cluster, once kubeadm trusts it",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			config, err := token.RetrieveValidatedConfigInfo(nil, &kubeadm.Discovery{BootstrapToken: found}, patience)
			if err != nil {
				return err
			}
			text, err := clientcmd.Write(*config)
			if err != nil {
				return err
			}
			_, err = cmd.OutOrStdout().Write(text)
			return err
		},
	}
	f := cmd.Flags()
	f.StringVar(&found.APIServerEndpoint, "server", "", "the API server's host and port")
	f.StringVar(&found.Token, "token", "", "bootstrap token: id.secret")
	f.StringSliceVar(&found.CACertHashes, "ca-hash", nil, "sha256:HEX of the public key of the cluster's authority")
	f.DurationVar(&patience, "timeout", time.Minute, "how long it is tried")
	return cmd
}
