package config

import (
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Default is the configuration of a manager that was told nothing.
func Default() *Configuration {
	return &Configuration{
		APIVersion: APIVersion,
		Kind:       Kind,
		// As kube-controller-manager's --kube-api-qps and --kube-api-burst.
		ClientConnection: ClientConnection{QPS: 20, Burst: 30},
		Controllers:      []string{"*"},
		Serving:          defaultServing(),
		ShutdownTimeout:  metav1.Duration{Duration: 10 * time.Second}, // as --controller-shutdown-timeout
		MinResyncPeriod:  metav1.Duration{Duration: 12 * time.Hour},   // as --min-resync-period
		// As host/sandbox's defaults; a test in host/plugins keeps them equal.
		Sandbox: Sandbox{Limits: Limits{
			Memory:   resource.MustParse("64Mi"),
			Deadline: metav1.Duration{Duration: 10 * time.Second},
			Fuel:     100_000_000_000,
		}, Rest: metav1.Duration{Duration: 5 * time.Minute}, TotalMemory: resource.MustParse("2Gi")},
		Signing:    defaultSigning(),
		Registries: Registries{Timeout: metav1.Duration{Duration: time.Minute}},
		// As host/record's defaults.
		Recordings: Recordings{Bytes: resource.MustParse("256Ki"), FolderFiles: 50,
			FolderBytes: resource.MustParse("64Mi")},
		LeaderElection: defaultLeaderElection(),
		Logging:        Logging{Format: LogText},
		Tracing:        Tracing{SamplingRatePerMillion: samplingMax},
	}
}
