package abi_test

import (
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/abi"
)

func TestPlaceholder(t *testing.T) {
	if got := abi.AppendPlaceholder(nil, [32]byte{}, 80); got != nil {
		t.Errorf("for a short credential it is %q", got)
	}
	whole := string(abi.AppendPlaceholder([]byte("x"), [32]byte{0xab}, 90))[1:]
	if len(whole) != 90 || !strings.HasPrefix(whole, "windlass-signature-ab00") {
		t.Errorf("it is %q", whole)
	}

	for text, want := range map[string]bool{
		whole: true, whole + "x": false, whole + ".": true, "": false, "windlass-signature-": false, whole[:84]: true,
		whole[:83]: false, strings.Replace(whole, "ab00", "xy00", 1): false, " " + whole: false,
	} {
		if abi.IsPlaceholder([]byte(text)) != want {
			t.Errorf("%q: want %v", text, want)
		}
	}
}
