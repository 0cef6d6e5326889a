package hostile

import (
	"fmt"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/abi"
)

// unsigned is what a plugin is told that has a right to sign in its manifest: the keys are the built-in plugins'.
const unsigned = "only built-in plugins sign with the cluster's keys"

// wanted is a request for a certificate, as a module names it.
var wanted = abi.Effect{Kind: abi.EffectSign, Resource: "certificates.k8s.io/v1/certificatesigningrequests",
	Name: "wanted", UID: "u", Version: "1", Sign: &abi.Sign{Kind: abi.SignCertificate}}

// signing are the modules that want something signed.
var signing = []attack{
	signs("sign-undeclared", "Has a certificate signed, which its manifest doesn't have.", "refused", undeclared, wanted),
	signs("sign-certificate", "Has a certificate signed, which its manifest has.", "error", unsigned, wanted,
		abi.Write{Resource: abi.Resource{Group: "certificates.k8s.io", Version: "v1", Name: "signers"}}),
	signs("sign-token", "Has a service account's token signed, which its manifest has.", "error", unsigned,
		abi.Effect{Kind: abi.EffectSign, Resource: "v1/secrets", Namespace: namespace, Name: "loot", UID: "u", Version: "1",
			Sign: &abi.Sign{Kind: abi.SignToken}},
		abi.Write{Resource: abi.Resource{Version: "v1", Name: "serviceaccounts"}}),
	signs("sign-bootstrap", "Has a config map signed with any Secret of kube-system, which its manifest has.", "error",
		unsigned,
		abi.Effect{Kind: abi.EffectSign, Resource: "v1/configmaps", Namespace: namespace, Name: "bystander", UID: "u",
			Version: "1", Sign: &abi.Sign{Kind: abi.SignBootstrap, Token: "loot"}},
		abi.Write{Resource: abi.Resource{Version: "v1", Name: "secrets"}}),
	signs("sign-token-undeclared", "Has a service account's token signed, which its manifest doesn't have.", "refused",
		undeclared, abi.Effect{Kind: abi.EffectSign, Resource: "v1/secrets", Namespace: namespace, Name: "loot", UID: "u",
			Version: "1", Sign: &abi.Sign{Kind: abi.SignToken}}),
	signs("sign-other", "Has a Secret signed as if it were a request for a certificate.", "refused",
		"a signature of kind 1 is one for certificates.k8s.io/v1/certificatesigningrequests",
		abi.Effect{Kind: abi.EffectSign, Resource: "v1/secrets", Namespace: namespace, Name: "loot", UID: "u", Version: "1",
			Sign: &abi.Sign{Kind: abi.SignCertificate}}),
	signs("sign-unknown", "Has something signed in a way that there isn't.", "refused", "unknown kind of signature 9",
		abi.Effect{Kind: abi.EffectSign, Resource: "v1/secrets", Namespace: namespace, Name: "loot", UID: "u", Version: "1",
			Sign: &abi.Sign{Kind: 9}}),
	signs("sign-blind", "Has a certificate signed of a request that it hasn't seen.", "refused",
		"it names no object with its UID, in the version that the plugin saw",
		abi.Effect{Kind: abi.EffectSign, Resource: wanted.Resource, Name: "wanted", Sign: wanted.Sign}),
}

// signs makes a module whose answer has something signed, with the right to it in its manifest where it names one.
func signs(name, about, result, says string, e abi.Effect, by ...abi.Write) attack {
	a := attack{name: name, about: about, stage: atEffects, result: result, says: says}
	a.build = func(t testing.TB) []byte {
		return moduleAnswering(t, name, func(c *abi.Controller) {
			for _, w := range by {
				w.Verbs = []string{"sign"}
				c.Writes = append(c.Writes, w)
			}
		}, e)
	}
	return a
}

// moduleAnswering returns a module whose answer has these effects.
func moduleAnswering(t testing.TB, name string, change func(*abi.Controller), effects ...abi.Effect) []byte {
	const at = 8192
	answer := abi.AppendResponse(nil, &abi.SyncResponse{Effects: effects})
	var data strings.Builder
	for _, b := range answer {
		fmt.Fprintf(&data, "\\%02x", b)
	}
	return assembleText(t, name, fmt.Sprintf(`(module
		(; plugin ;)
		(data (i32.const %d) "%s")
		(func (export "windlass_sync") (result i64) (i64.const 0x%08x%08x)))`, at, data.String(), at, len(answer)), change)
}
