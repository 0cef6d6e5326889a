package running

import "testing"

func TestServerAddress(t *testing.T) {
	for text, want := range map[string]string{
		"127.0.0.1:10257": "127.0.0.1:10257", "https://windlass.example:443/": "windlass.example:443",
		"https://[::1]:10257":    "[::1]:10257",
		"http://127.0.0.1:10257": "", "windlass.example": "", "https://windlass.example:443/x": "", ":10257": "", "": "",
	} {
		var a serverAddress
		if err := a.Set(text); string(a) != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v", text, a, err)
		}
	}
}
