package life

import (
	"bytes"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"strings"
	"time"
)

// describeCredential says what a certificate or a token in base64 is about, without what each has of its own: keys,
// serial numbers, times; "" of anything else.
func describeCredential(text string) string {
	content, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return ""
	}
	if bytes.HasPrefix(content, []byte("-----BEGIN CERTIFICATE-----")) {
		return describeCertificates(content)
	}
	return describeToken(string(content))
}

func describeCertificates(content []byte) string {
	var all []string
	for {
		var block *pem.Block
		if block, content = pem.Decode(content); block == nil {
			return strings.Join(all, ", ")
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return ""
		}
		all = append(all, fmt.Sprintf("certificate of %v %v %v for %d %v by %v, authority: %v, good for %v", c.Subject,
			c.DNSNames, c.IPAddresses, c.KeyUsage, c.ExtKeyUsage, c.Issuer, c.IsCA,
			c.NotAfter.Sub(c.NotBefore).Round(time.Minute)))
	}
}

// describeToken says what a JSON web token claims.
func describeToken(text string) string {
	parts := strings.Split(text, ".")
	if len(parts) != 3 {
		return ""
	}
	var said [2]map[string]any
	for i := range said {
		b, err := base64.RawURLEncoding.DecodeString(parts[i])
		if err != nil || json.Unmarshal(b, &said[i]) != nil {
			return ""
		}
	}
	delete(said[0], "kid")
	return fmt.Sprintf("token %v %v", said[0], said[1])
}
