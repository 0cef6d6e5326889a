package cleaner

import (
	"time"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/sdk"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
)

// expiration is the key of a bootstrap token's data that says until when it may be used.
const expiration = "expiration"

// tokens are the bootstrap tokens: of all that is in their Secrets only how long they are good for is read.
var tokens = sdk.Select(corev1.Secrets, sdk.In("metadata.namespace", namespaceSystem),
	sdk.In("type", string(corev1.SecretTypeBootstrapToken))).Named("tokens").
	Fields("data[" + expiration + "]").QuietOn(abi.QuietDelete)

// syncToken deletes a bootstrap token once it has expired. One that doesn't say when never does; one that says what is
// no time has.
func syncToken(c *sdk.Call) error {
	token, ok := tokens.Get(c)
	if !ok || len(token.Data.Get(expiration)) == 0 {
		return nil
	}

	expires, err := time.Parse(time.RFC3339, string(token.Data.Get(expiration)))
	if left := expires.Sub(c.Now().Std()); err == nil && left > 0 {
		return c.After(left)
	}
	return c.Delete(token, sdk.Tolerate(abi.TolerateNotFound|abi.TolerateConflict))
}
