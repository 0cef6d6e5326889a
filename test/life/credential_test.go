package life

import (
	"encoding/base64"
	"testing"
)

// Two tokens for the same account are alike, whatever signed them; what isn't a credential is left as it is.
func TestCredentials(t *testing.T) {
	token := func(kid, sub string) string {
		part := base64.RawURLEncoding.EncodeToString
		return base64.StdEncoding.EncodeToString([]byte(part([]byte(`{"alg":"RS256","kid":"`+kid+`"}`)) + "." +
			part([]byte(`{"sub":"`+sub+`"}`)) + "." + part([]byte(kid))))
	}
	a := normal{}.normalText(token("1", "a"))
	if a != "token map[alg:RS256] map[sub:a]" || a != (normal{}).normalText(token("2", "a")) {
		t.Errorf("a token is %q", a)
	}
	if a == (normal{}).normalText(token("1", "b")) {
		t.Error("another account's token is the same")
	}
	for _, text := range []string{"", "a", "YS5iLmM=", base64.StdEncoding.EncodeToString([]byte("-----BEGIN CERTIFICATE-----\n"))} {
		if got := (normal{}).normalText(text); got != text {
			t.Errorf("%q becomes %q", text, got)
		}
	}
}
