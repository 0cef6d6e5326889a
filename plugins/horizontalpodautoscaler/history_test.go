package horizontalpodautoscaler

import (
	"reflect"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/windlass-dev/windlass/sdk"
)

// A history that was kept comes back as it was.
func FuzzHistory_comes_back(f *testing.F) {
	f.Add(int32(3), int64(1767268800000), int32(0), int64(-1), uint8(0b1011))
	f.Add(int32(-1<<31), int64(-1<<63), int32(1<<31-1), int64(1<<63-1), uint8(0xff))
	f.Fuzz(func(t *testing.T, a int32, at int64, b int32, bt int64, where uint8) {
		var h history
		for i, list := range []*[]mark{&h.recommended, &h.up, &h.down} {
			if where>>i&1 != 0 {
				*list = append(*list, mark{a, at})
			}
			if where>>i&8 != 0 {
				*list = append(*list, mark{b, bt})
			}
		}
		if got := decodeHistory(h.encode()); !reflect.DeepEqual(got, h) {
			t.Errorf("%s came back as %s", h.encode(), got.encode())
		}
	})
}

// Whatever is read as a history is either none or one that is written in the same way.
func FuzzDecodeHistory_takes_what_encode_writes(f *testing.F) {
	for _, s := range []string{"", ";;", "1@2;;", "1@2,3@4;5@6;7@8", "1@2;", ";;;", "1;;", "1@;;", "@2;;", "1@2,;;",
		"99999999999@1;;", "1@2@3;;", "x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		h := decodeHistory([]byte(s))
		if again := decodeHistory(h.encode()); !reflect.DeepEqual(again, h) {
			t.Errorf("%q: %s, then %s", s, h.encode(), again.encode())
		}
		for _, list := range [][]mark{h.recommended, h.up, h.down} {
			if len(list) > len(s) {
				t.Errorf("%q: %d marks", s, len(list))
			}
		}
	})
}

// remember keeps what is young, and no more than one place for what is old each time.
func TestRemember(t *testing.T) {
	var l []mark
	most := 0
	for now := int64(0); now < 100000; now += 15 {
		l = remember(l, mark{int32(now), now}, now-300)
		young := 0
		for _, m := range l {
			if m.at >= now-300 {
				young++
			}
		}
		if want := int(min(now, 300)/15) + 1; young != want {
			t.Fatalf("at %d there are %d of the last 300, should be %d", now, young, want)
		}
		most = max(most, len(l))
	}
	if most > 22 {
		t.Errorf("%d marks were kept at once", most)
	}
}

// Amounts are written as apimachinery writes them.
func FuzzQuantity_as_upstream(f *testing.F) {
	for _, n := range []int64{0, 1, 1000, 1500, -2000, 1e6, 1024e3, 1536e3, 1023e3, 3 << 30 * 1000, 1 << 40 * 1000,
		1<<40*1000 + 1, 1<<63 - 1, 9e18} {
		f.Add(n)
	}
	f.Fuzz(func(t *testing.T, n int64) {
		if got, want := milliQuantity(n).Text, resource.NewMilliQuantity(n, resource.DecimalSI).String(); got != want {
			t.Errorf("%d: %s, should be %s", n, got, want)
		}
		if got, want := bytesQuantity(n).Text, resource.NewMilliQuantity(n, resource.BinarySI).String(); n >= 0 &&
			got != want {
			t.Errorf("%d bytes: %s, should be %s", n, got, want)
		}
	})
}

func TestSettings(t *testing.T) {
	good := []string{"15s", "5m", "0.1", "5m", "30s"}
	for _, x := range []struct {
		i         int
		value, is string
	}{
		{0, "1s", ""}, {0, "0s", "horizontal-pod-autoscaler-sync-period: 0s is not a time such as 15s"},
		{0, "15", "horizontal-pod-autoscaler-sync-period: 15 is not a time such as 15s"},
		{1, "0s", ""}, {1, "-1s", "horizontal-pod-autoscaler-downscale-stabilization: -1s is not a time such as 15s"},
		{2, "0", ""}, {2, "5e-2", ""}, {2, "", "horizontal-pod-autoscaler-tolerance:  is not a number such as 0.1"},
		{2, "-0.1", "horizontal-pod-autoscaler-tolerance: -0.1 is not a number such as 0.1"},
		{3, "x", "horizontal-pod-autoscaler-cpu-initialization-period: x is not a time such as 15s"},
		{4, "", "horizontal-pod-autoscaler-initial-readiness-delay:  is not a time such as 15s"},
	} {
		values := append([]string(nil), good...)
		values[x.i] = x.value
		is := ""
		if err := checkSettings(settingsOf(values)); err != nil {
			is = err.Error()
		}
		if is != x.is {
			t.Errorf("%q: %q, should be %q", x.value, is, x.is)
		}
	}
}

func settingsOf(values []string) *sdk.Settings {
	Plugin.Manifest() // numbers the settings
	return &sdk.Settings{Values: values}
}
