package plugins

import (
	"encoding/pem"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/util/cert"

	"github.com/windlass-dev/windlass/abi"
)

// What gets published as a bundle of certificates has some, and nothing that is to be kept.
func TestCertificates(t *testing.T) {
	certificate, key, err := cert.GenerateSelfSignedCertKey("host", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	encrypted := pem.EncodeToMemory(&pem.Block{Type: "ENCRYPTED PRIVATE KEY", Bytes: []byte("x")})
	file := filepath.Join(t.TempDir(), "ca.crt")
	m := &abi.Manifest{Name: "p", Settings: []abi.Setting{{Name: "ca", File: true, Certificates: true}}}

	const secret, none = "ca.crt: it has a private key, which would be published", "data does not contain any valid"
	for name, x := range map[string]struct{ content, says string }{
		"a certificate":           {string(certificate), ""},
		"two, and a comment":      {"# ours\n" + string(certificate) + string(certificate), ""},
		"a key":                   {string(key), secret},
		"a certificate and a key": {string(certificate) + string(key), secret},
		"a key that is encrypted": {string(encrypted) + string(certificate), secret},
		"nothing":                 {"", none},
		"text":                    {"certificate", none},
		"a block that isn't one":  {"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", "x509: "},
	} {
		if err := os.WriteFile(file, []byte(x.content), 0o600); err != nil {
			t.Fatal(err)
		}
		got, _, err := Settings(m, map[string]string{"ca": file})
		switch {
		case x.says == "" && (err != nil || got.Values[0] != x.content):
			t.Errorf("%s: %v", name, err)
		case x.says != "" && (err == nil || !strings.Contains(err.Error(), x.says) ||
			!strings.HasPrefix(err.Error(), `plugin "p": settings[ca]: `)):
			t.Errorf("%s: %v, want %s", name, err, x.says)
		}

		// In place of a path there may be what would be in the file.
		if strings.HasPrefix(x.content, "-----BEGIN ") {
			_, _, err := Settings(m, map[string]string{"ca": x.content})
			why := strings.TrimPrefix(x.says, "ca.crt: ")
			if (err == nil) != (why == "") || err != nil && (!strings.Contains(err.Error(), why) ||
				strings.Contains(err.Error(), x.content)) {
				t.Errorf("%s, given itself: %v, want %s", name, err, why)
			}
		}
	}
}
