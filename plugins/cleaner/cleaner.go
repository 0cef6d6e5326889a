// Package cleaner deletes what has served its time: requests for certificates that nobody waits for any more, bootstrap
// tokens that have expired, and tokens of service accounts that nobody has used for long.
//
// A request for a certificate goes an hour after it was denied or issued, or has failed, a day after it was made or
// approved with no certificate yet, and when its certificate has expired. A pod's request goes after a quarter of an
// hour. A bootstrap token goes when its expiration has passed. A generated token of a service account that nobody has
// used for the clean-up period, a year by default, and that no pod mounts, is marked as invalid, and deleted when it
// has been invalid for as long.
package cleaner

import (
	"time"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/sdk"
	certificatesv1 "github.com/windlass-dev/windlass/sdk/api/certificates/v1"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
)

var (
	cleanUpPeriod = &sdk.Setting{Name: "legacy-service-account-token-clean-up-period", Default: "8760h0m0s",
		Description: "How long a generated token of a service account is unused before it is marked as invalid, and then how long it is before it is deleted."}
	podCertificateRequest = sdk.Gate("PodCertificateRequest", true,
		"Whether requests of pods for certificates are deleted when they are old.")
)

// namespaceSystem is where bootstrap tokens are, and what the API server says of tokens.
const namespaceSystem = "kube-system"

// day is how often the tokens of service accounts are looked at.
const day = 24 * time.Hour

// Plugin is the cleaner module (pkg/controller/bootstrap/tokencleaner.go, pkg/controller/certificates/cleaner,
// pkg/controller/serviceaccount/legacy_serviceaccount_token_cleaner.go).
var Plugin = &sdk.Plugin{
	Name:    "cleaner",
	Version: "1.0.0",
	Description: "Deletes old requests for certificates, bootstrap tokens that have expired, and generated tokens of service " +
		"accounts that have long been unused.",
	Settings: []*sdk.Setting{cleanUpPeriod, podCertificateRequest},
	Check: func(s *sdk.Settings) error {
		if d, err := time.ParseDuration(cleanUpPeriod.In(s)); err != nil || d <= 0 {
			return sdk.Errors(cleanUpPeriod.Name, ": ", cleanUpPeriod.In(s), " is not a time such as 8760h")
		}
		return nil
	},
	Controllers: []*sdk.Controller{{
		Name:           "certificatesigningrequest-cleaner-controller",
		Alias:          "csrcleaner",
		Queue:          "csrcleaner",
		ServiceAccount: "certificate-controller",
		Reads:          sdk.Views{requests},
		Writes:         sdk.Writes{certificatesv1.CertificateSigningRequests.Verbs("delete")},
		Workers:        1,
		Sync:           syncRequest,
	}, {
		Name:              "token-cleaner-controller",
		Alias:             "tokencleaner",
		Queue:             "token_cleaner",
		ServiceAccount:    "token-cleaner",
		Reads:             sdk.Views{tokens},
		Writes:            sdk.Writes{corev1.Secrets.Verbs("delete").In(namespaceSystem)},
		Workers:           1,
		DisabledByDefault: true,
		Sync:              syncToken,
	}, {
		Name:           "podcertificaterequest-cleaner-controller",
		Queue:          "podcertificaterequestcleaner",
		ServiceAccount: "podcertificaterequestcleaner",
		Reads:          sdk.Views{podRequests},
		Writes:         sdk.Writes{certificatesv1.PodCertificateRequests.Verbs("delete")},
		Workers:        1,
		Sync:           syncPodRequest,
	}, {
		Name:           "legacy-serviceaccount-token-cleaner-controller",
		Alias:          "legacy-service-account-token-cleaner",
		ServiceAccount: "legacy-service-account-token-cleaner",
		Reads:          sdk.Views{legacyTokens, annotated, accounts, pods},
		Writes: sdk.Writes{corev1.ConfigMaps.Verbs("get").In(namespaceSystem).Named(tracking),
			corev1.Secrets.Verbs("patch", "delete")},
		By:      sdk.KeyedBy{Single: true, Every: int64(day)},
		Backoff: abi.Backoff{Base: int64(time.Minute), Max: int64(day)},
		Workers: 1,
		State:   true,
		Sync:    syncLegacyTokens,
	}},
}
