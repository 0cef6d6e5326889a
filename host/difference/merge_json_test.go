package difference

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/abi/wire"
	"github.com/windlass-dev/windlass/host/schema"
)

var webApps = schema.Custom(abi.Resource{Group: "example.com", Version: "v1", Name: "webapps"}, "WebApp", true)

func encodeHybrid(t testing.TB, body string) []byte {
	t.Helper()
	raw, _, _, err := schema.FromJSON(nil, []byte(body), nil)
	if err != nil {
		t.Fatal(err)
	}
	return append([]byte{0x0a, 3, 0x0a, 1, 'a'}, raw...)
}

func bodyText(t testing.TB, raw []byte) string {
	t.Helper()
	parts, err := splitFields(raw)
	if err != nil {
		t.Fatal(err)
	}
	return string(jsonBody(partsOfField(parts, fieldBody)))
}

func TestBodiesAreMergedByMember(t *testing.T) {
	const base = `{"spec":{"a":1,"b":{"c":"x","d":null},"list":[{"n":"one","v":1}],"big":1152921504606846977,"f":1.0},` +
		`"status":{"ready":2}}`
	but := func(old, other string) string { return strings.Replace(base, old, other, 1) }
	for _, test := range []struct {
		name         string
		fields       []string // that the guest sees; none: all
		wanted, want string   // want "" for no change
	}{
		{"nothing", nil, base, ""},
		{"another order, other spellings", nil, `{"status":{"ready":2},"spec":{"f":1,"big":1152921504606846977,` +
			`"list":[{"v":1,"n":"\u006fne"}],"b":{"c":"x"},"a":1}}`, ""},
		{"a scalar", nil, but(`"a":1`, `"a":2`), but(`"a":1`, `"a":2`)},
		{"digits that a float doesn't hold", nil, but("977", "976"), but("977", "976")},
		{"a new member", []string{"spec.a", "spec.n"}, `{"spec":{"a":1,"n":{"m":1}}}`, but(`"f":1.0`, `"f":1.0,"n":{"m":1}`)},
		{"a removed member", nil, but(`"a":1,`, ``), but(`"a":1,`, ``)},
		{"what was null may be absent", nil, but(`,"d":null`, ``), ""},
		{"zeros for nothing", nil, but(`"a":1`, `"a":1,"e":null,"g":{"h":0,"i":{"j":""}},"k":[],"l":false`), ""},
		{"zeros for what wasn't seen", []string{"spec.a"}, `{"spec":{"a":1,"b":{"c":""},"big":0,"list":[]},"status":{}}`, ""},
		{"a zero for what was there", nil, but(`"a":1`, `"a":0`), but(`"a":1`, `"a":0`)},
		{"another kind of value", nil, but(`"a":1`, `"a":"1"`), but(`"a":1`, `"a":"1"`)},
		{"a list is replaced whole", nil, but(`[{"n":"one","v":1}]`, `[{"n":"two"}]`),
			but(`[{"n":"one","v":1}]`, `[{"n":"two"}]`)},
		{"a projection, untouched", []string{"spec.a"}, `{"spec":{"a":1}}`, ""},
		{"the rest stays", []string{"spec.a", "status"}, `{"spec":{"a":5},"status":{"ready":3}}`,
			strings.NewReplacer(`"a":1`, `"a":5`, `"ready":2`, `"ready":3`).Replace(base)},
		{"what was seen goes, and nothing else", []string{"spec.a"}, `{}`, but(`"a":1,`, ``)},
		{"an empty status is none", []string{"spec.a", "metadata"}, `{"spec":{"a":1},"status":{}}`, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			mask := webApps.Message.Whole()
			if test.fields != nil {
				var err error
				if mask, err = webApps.Message.Mask(append(test.fields, "metadata")...); err != nil {
					t.Fatal(err)
				}
			}

			whole := encodeHybrid(t, base)
			seen, err := mask.Project(nil, whole)
			if err != nil {
				t.Fatal(err)
			}
			merged, changed, err := Merge(webApps.Message, whole, seen, encodeHybrid(t, test.wanted), mask.Keeps)
			if err != nil {
				t.Fatal(err)
			}
			if changed != (test.want != "") {
				t.Fatalf("changed %v: %s", changed, bodyText(t, merged))
			}
			if !changed {
				return
			}

			var got, want any
			if err := json.Unmarshal([]byte(bodyText(t, merged)), &got); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal([]byte(test.want), &want); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

// In an update of status a zero that the guest wrote at a path that it sees is a value, as required fields need it.
func TestZerosOfAStatusAreWritten(t *testing.T) {
	for _, test := range []struct {
		name               string
		fields             []string // that the guest sees
		base, wanted, want string   // want "" for no change
	}{
		{"of each kind, where there was nothing", []string{"status"}, `{"spec":{}}`,
			`{"status":{"n":0,"s":"","b":false,"l":[],"o":{},"in":{"n":0}}}`,
			`{"spec":{},"status":{"n":0,"s":"","b":false,"l":[],"o":{},"in":{"n":0}}}`},
		{"null is none", []string{"status"}, `{"status":{"a":1}}`, `{"status":{"a":1,"n":null,"in":{"n":null}}}`,
			`{"status":{"a":1,"in":{}}}`},
		{"once it is there it is no change", []string{"status"}, `{"status":{"n":0,"l":[{"n":0}]}}`,
			`{"status":{"l":[{"n":0}],"n":0}}`, ""},
		{"one that is left out stays", []string{"status"}, `{"status":{"n":0,"a":1,"o":{}}}`, `{"status":{"a":2}}`,
			`{"status":{"n":0,"a":2,"o":{}}}`},
		{"for another value", []string{"status"}, `{"status":{"n":3}}`, `{"status":{"n":0}}`, `{"status":{"n":0}}`},
		{"for null", []string{"status"}, `{"status":{"n":null}}`, `{"status":{"n":0}}`, `{"status":{"n":0}}`},
		{"at a path that isn't seen", []string{"status.a"}, `{"status":{"a":1,"n":7}}`,
			`{"status":{"a":1,"n":0,"o":{},"in":{"n":0}}}`, ""},
		{"in what is seen in parts", []string{"status.in.n"}, `{"spec":{}}`,
			`{"status":{"a":0,"in":{"n":0,"m":0},"other":{"n":0}}}`, `{"spec":{},"status":{"in":{"n":0}}}`},
		{"in a list", []string{"status"}, `{"status":{"l":[{"a":1}]}}`, `{"status":{"l":[{"a":1,"n":0}]}}`,
			`{"status":{"l":[{"a":1,"n":0}]}}`},
		{"left out in a list", []string{"status"}, `{"status":{"l":[{"a":1,"n":0}]}}`, `{"status":{"l":[{"a":1}]}}`, ""},
		{"an empty status", []string{"status"}, `{"spec":{}}`, `{"status":{}}`, `{"spec":{},"status":{}}`},
		{"outside of status", []string{"spec", "status"}, `{"spec":{}}`, `{"spec":{"n":0,"o":{}}}`, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			mask, err := webApps.Message.Mask(append(test.fields, "metadata")...)
			if err != nil {
				t.Fatal(err)
			}
			whole, wanted := encodeHybrid(t, test.base), encodeHybrid(t, test.wanted)
			seen, err := mask.Project(nil, whole)
			if err != nil {
				t.Fatal(err)
			}

			merged, changed, err := MergeStatus(webApps.Message, whole, seen, wanted, mask.Keeps)
			if err != nil {
				t.Fatal(err)
			}
			want := test.want
			if want == "" {
				want = test.base
			}
			var a, b any
			err = errors.Join(json.Unmarshal([]byte(bodyText(t, merged)), &a), json.Unmarshal([]byte(want), &b))
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(b, a); d != "" || changed != (test.want != "") {
				t.Errorf("changed %v: %s", changed, d)
			}
		})
	}
}

// What a guest saw in parts it can't write whole, and what it never saw it can't write at all.
func TestUnseenPartsOfABodyAreNotWritten(t *testing.T) {
	const base = `{"spec":{"a":1,"list":[{"n":"one","v":1}],"o":{"p":1,"q":2}}}`
	for _, test := range []struct {
		fields []string
		wanted string
		path   string
	}{
		{[]string{"spec.list.n"}, `{"spec":{"list":[{"n":"two"}]}}`, "spec.list"},
		{[]string{"spec.list.n"}, `{"spec":{"list":[]}}`, "spec.list"},
		{[]string{"spec.a"}, `{"spec":{"a":1,"b":1}}`, "spec.b"},
		{[]string{"spec.o.p"}, `{"spec":{"o":{"p":1,"x.y":1}}}`, "spec.o[x.y]"},
		{[]string{"spec.o.p"}, `{"spec":{"o":7}}`, "spec.o"},
	} {
		mask, err := webApps.Message.Mask(append(test.fields, "metadata")...)
		if err != nil {
			t.Fatal(err)
		}

		whole := encodeHybrid(t, base)
		seen, err := mask.Project(nil, whole)
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = Merge(webApps.Message, whole, seen, encodeHybrid(t, test.wanted), mask.Keeps)
		if unseen := (*UnseenError)(nil); !errors.As(err, &unseen) || unseen.Path != test.path {
			t.Errorf("%v, %s: %v", test.fields, test.wanted, err)
		}
	}

	for _, body := range []string{`[]`, `{"a":`, `{"a":1}}`, `7`} {
		bad := wire.AppendBytes(nil, fieldBody, []byte(body))
		if _, _, err := Merge(webApps.Message, encodeHybrid(t, base), encodeHybrid(t, base), bad, nil); err == nil {
			t.Errorf("%s was taken", body)
		}
	}
}

func FuzzMergedBodiesAreJSON(f *testing.F) {
	f.Add([]byte(`{"a":{"b":1},"c":[1]}`), []byte(`{"a":{"b":1}}`), []byte(`{"a":{"b":2,"d":{}},"c":[]}`))
	f.Fuzz(func(t *testing.T, base, seen, wanted []byte) {
		merged, changed, err := (&differ{}).objects(base, seen, wanted, nil, 0)
		if err != nil || !changed {
			return
		}
		if json.Valid(base) && !json.Valid(merged) {
			t.Fatalf("%s", merged)
		}
		// Who sends that again changes nothing.
		if _, changed, err := (&differ{}).objects(merged, merged, merged, nil, 0); changed || err != nil {
			t.Fatal(changed, err)
		}

		status := func(body []byte) []byte { return append(append([]byte(`{"status":`), body...), '}') }
		base, seen, wanted = status(base), status(seen), status(wanted)
		merged, changed, err = (&differ{zeros: true}).objects(base, seen, wanted, nil, 0)
		if err == nil && changed && json.Valid(base) && !json.Valid(merged) {
			t.Fatalf("%s", merged)
		}
	})
}

// What is nested deeper than anybody nests things is refused: each level is read with all that is in it.
func TestNestedBodies(t *testing.T) {
	nested := func(depth int, inner string) []byte {
		return encodeHybrid(t, `{"spec":`+strings.Repeat(`{"a":`, depth)+inner+strings.Repeat("}", depth)+`}`)
	}
	for depth, want := range map[int]error{100: nil, 9000: errJSONNesting} {
		base := nested(depth, "1")
		for what, wanted := range map[string][]byte{
			"another value": nested(depth, "2"), "a list": nested(depth, `[{"b":{}}]`),
			"less": nested(depth-1, "{}"),
		} {
			if _, _, err := Merge(webApps.Message, base, base, wanted, nil); !errors.Is(err, want) {
				t.Errorf("%d levels, %s: %v", depth, what, err)
			}
		}
	}
}
