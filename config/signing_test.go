package config

import (
	"slices"
	"strings"
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"
)

// Combinations that kube-controller-manager's options refuse are refused, whether or not anything is signed.
func TestSigningIsChecked(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"general and single": {"{certFile: /c, keyFile: /k, kubeletServing: {certFile: /c, keyFile: /k}}",
			"signing.kubeletServing: Forbidden: can't be set beside signing.certFile and signing.keyFile"},
		"half a general one": {"{keyFile: /k, kubeletClient: {certFile: /c, keyFile: /k}}",
			"signing.kubeletClient: Forbidden: can't be set beside signing.certFile and signing.keyFile"},
		"no key":         {"{legacyUnknown: {certFile: /c}}", "signing.legacyUnknown.keyFile: Required value"},
		"no certificate": {"{kubeletClient: {keyFile: /k}}", "signing.kubeletClient.certFile: Required value"},
		"no time":        {"{duration: 0s}", `signing.duration: Invalid value: "0s": must be more than 0s`},
		"misspelt":       {"{kubelet: {}}", "did you mean kubeletClient, kubeletServing?"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := loadText(t, head+"signing: "+c.text+"\n"); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got:  %v\nwant: %s", err, c.want)
			}
			if name == "misspelt" {
				return
			}
			off := head + "controllers: ['*', -csrsigning]\nsigning: " + c.text + "\n"
			if _, err := loadText(t, off); (err == nil) != (name == "no time") {
				t.Errorf("without the controller: %v", err)
			}
		})
	}
}

// One of the general files alone counts as none, and a signer with files of its own leaves the others without.
func TestSigningPairs(t *testing.T) {
	pair, other := KeyPair{"/c", "/k"}, KeyPair{"/c2", "/k2"}
	for name, c := range map[string]struct {
		signing Signing
		want    []string
	}{
		"nothing":       {Signing{}, nil},
		"general":       {Signing{KeyPair: pair}, []string{"/c", "/c", "/c", "/c"}},
		"half of it":    {Signing{KeyPair: KeyPair{CertFile: "/c"}}, nil},
		"single":        {Signing{KubeletClient: other}, []string{"/c2"}},
		"half and some": {Signing{KeyPair: KeyPair{KeyFile: "/k"}, KubeletClient: other}, []string{"/c2"}},
	} {
		t.Run(name, func(t *testing.T) {
			pairs := c.signing.Pairs()
			var got []string
			for _, p := range pairs {
				got = append(got, p.CertFile)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got %v, want %v", pairs, c.want)
			}
			if _, has := pairs[certificatesv1.KubeAPIServerClientKubeletSignerName]; has != (len(c.want) > 0) {
				t.Errorf("the kubelets' signer: %v", has)
			}
		})
	}
}
