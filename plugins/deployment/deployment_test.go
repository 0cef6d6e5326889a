package deployment

import (
	"strings"
	"testing"
)

func TestRemember(t *testing.T) {
	long := strings.Repeat("1234,", 399) + "1234" // 1999 characters
	for _, x := range []struct{ history, revision, want string }{
		{"", "5", "5"},
		{"1,3", "5", "1,3,5"},
		{long[:len(long)-1], "5", long[:len(long)-1] + ",5"}, // just fits
		{long, "5", long[5:] + ",5"},
		{long, "123456789", long[10:] + ",123456789"},
		{strings.Repeat("1", 3000), "5", "5"},
	} {
		if got := remember(x.history, x.revision); got != x.want || len(got) > historyMax {
			t.Errorf("%q and %q: %q, want %q", x.history, x.revision, got, x.want)
		}
	}
}
