package record

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/windlass-dev/windlass/abi"
)

func testFile() *File {
	call := request(100)
	return &File{
		Controller: "c", Saved: time.Unix(1000, 0).UTC(), Reason: "asked for", Sources: []Source{*testSource("p")},
		Syncs: []Sync{
			{Key: abi.KeyRef{Namespace: "default", Name: "web"}, Start: time.Unix(1, 2), Took: 3, Result: "ok", Request: call,
				Answer: []byte{}, Answered: true, Bytes: 9},
			{Key: abi.KeyRef{Name: "x"}, Start: time.Unix(2, 0), Result: "trap", Error: "it trapped", Request: call,
				Performs: []Perform{{In: []byte{}, Out: []byte{}}, {In: []byte{}, Refused: "no"}}},
			{Key: abi.KeyRef{Name: "large"}, Start: time.Unix(3, 0), Result: "ok", Cut: true, Bytes: 1 << 30},
		},
	}
}

func encoded(t testing.TB, f *File) []byte {
	t.Helper()
	b, err := f.Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

var equal = cmp.Options{cmpopts.IgnoreUnexported(Source{}), cmpopts.EquateEmpty()}

func TestFileRoundTrip(t *testing.T) {
	f := testFile()
	got, err := Parse(encoded(t, f))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(f, got, equal); d != "" {
		t.Error(d)
	}
}

// Wherever a file ends too early, or a byte of it is another one, it is told at which byte it stops being a recording.
func TestDamage(t *testing.T) {
	whole := encoded(t, testFile())
	damaged := func(b []byte, before int) {
		t.Helper()
		_, err := Parse(b)
		var d *DamagedError
		if !errors.As(err, &d) || d.Offset > before || !strings.Contains(err.Error(), fmt.Sprintf("at byte %d: ", d.Offset)) {
			t.Errorf("damaged at byte %d: %v", before, err)
		}
	}
	for n := range whole {
		damaged(whole[:n], n)
		for _, bit := range []byte{1, 0x80} {
			b := bytes.Clone(whole)
			b[n] ^= bit
			damaged(b, n)
		}
	}
	damaged(append(bytes.Clone(whole), 0), len(whole))
}

// Whatever bytes come as a file, they are a recording or an error; a recording that was read is the same when it is
// written and read again. Changed bytes hardly ever have a right checksum: fix gives them one.
func FuzzParsedIsWrittenAsItWas(f *testing.F) {
	whole := encoded(f, testFile())
	f.Add(whole, false)
	f.Add(whole, true)
	f.Add(encoded(f, secretSyncs(f)), true)
	f.Add([]byte(magic), true)
	f.Fuzz(func(t *testing.T, b []byte, fix bool) {
		if fix {
			b = withChecksums(b)
		}
		file, err := Parse(b)
		if err != nil {
			return
		}
		again := encoded(t, file)
		second, err := Parse(again)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(again, encoded(t, second)) {
			t.Error("written, read and written it is another one")
		}
	})
}

func withChecksums(b []byte) []byte {
	b = bytes.Clone(b)
	for at := len(magic); len(b)-at >= frameHead+frameTail; {
		end := at + frameHead + int(min(binary.LittleEndian.Uint32(b[at+1:]), uint32(len(b)-at-frameHead-frameTail)))
		binary.LittleEndian.PutUint32(b[at+1:], uint32(end-at-frameHead))
		binary.LittleEndian.PutUint32(b[end:], crc32.Checksum(b[at:end], castagnoli))
		at = end + frameTail
	}
	return b
}

const password = "correct-horse-battery"

// secretSyncs are syncs of a controller that meets a Secret in all ways that there are.
func secretSyncs(t testing.TB) *File {
	t.Helper()
	must := func(b []byte, err error) []byte {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return b
	}

	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "s", Namespace: "default", Annotations: map[string]string{
			lastApplied: `{"data":{"password":"` + base64.StdEncoding.EncodeToString([]byte(password)) + `"}}`, "kept": "kept",
		}},
		Data:       map[string][]byte{"password": []byte(password), "namespace": []byte("default")},
		StringData: map[string]string{"text": "another-" + password},
	}

	raw := must(secret.Marshal())
	config := must((&corev1.ConfigMap{Data: map[string]string{"copy": "x=" + password,
		"base64": base64.StdEncoding.EncodeToString([]byte(password))}}).Marshal())
	source := testSource("p")
	source.Manifest.Controllers[0].State = true
	source.Manifest.Controllers[0].Views[1].Fields = []string{"data"}
	source.Manifest.Settings = []abi.Setting{{Name: "key", File: true}, {Name: "plain"}}
	source.SetSettings([]string{"-----BEGIN PRIVATE KEY-----\n" + password + "-file\n-----END PRIVATE KEY-----\n", "x"})
	key := abi.KeyRef{Namespace: "default", Name: "web"}
	view := func(view int32, data []byte) []abi.ViewData {
		return []abi.ViewData{{View: view, Objects: []abi.ObjectData{{Data: data, ResourceVersion: "1"}}}}
	}
	call := func(views []abi.ViewData, state string) []byte {
		return abi.AppendRequest(nil, &abi.SyncRequest{Key: key, Now: 1, State: []byte(state), Views: views})
	}
	perform := func(e abi.Effect, o abi.Outcome) []Perform {
		return []Perform{{In: abi.AppendPerform(nil, &abi.PerformRequest{Effects: []abi.Effect{e}}),
			Out: abi.AppendPerformed(nil, &abi.PerformResponse{Outcomes: []abi.Outcome{o}})}}
	}

	answer := func(a abi.SyncResponse) []byte { return abi.AppendResponse(nil, &a) }
	object := abi.ObjectData{Data: raw}
	f := &File{Controller: "c", Sources: []Source{*source}, Saved: time.Unix(1000, 0).UTC(),
		Reason: "trap: it said " + password}
	for _, s := range []Sync{
		{Request: call(view(1, raw), "")},
		{Request: call(nil, "state of "+password)},
		{Request: call(nil, ""), Answered: true, Answer: answer(abi.SyncResponse{State: []byte("new state of " + password),
			Error: "cannot use " + password})},
		{Request: call(view(0, config), "")},
		{Request: call(nil, ""), Performs: perform(abi.Effect{Kind: abi.EffectGet, Resource: secrets},
			abi.Outcome{Object: object})},
		{Request: call(nil, ""), Performs: perform(abi.Effect{Kind: abi.EffectView, Ask: &abi.Ask{View: 1}},
			abi.Outcome{View: &view(1, raw)[0]})},
		{Request: call(nil, ""), Performs: perform(abi.Effect{Kind: abi.EffectGroup,
			Members: []abi.Effect{{Kind: abi.EffectCreate, Resource: secrets, Object: raw}}},
			abi.Outcome{Members: []abi.Outcome{{Object: object}}})},
		{Request: call(nil, ""), Performs: perform(abi.Effect{Kind: abi.EffectPatch, Resource: secrets,
			Object: []byte(`{"stringData":{"a":"` + password + `"}}`)}, abi.Outcome{})},
		{Request: call(nil, ""), Performs: perform(abi.Effect{Kind: abi.EffectRead, Resource: "v1/*",
			Path: "/api/v1/secrets"}, abi.Outcome{Object: abi.ObjectData{Data: []byte(password)}})},
		{Request: call(nil, ""), Performs: perform(abi.Effect{Kind: abi.EffectCreate, Resource: "v1/serviceaccounts",
			Subresource: "token"}, abi.Outcome{Object: abi.ObjectData{Data: []byte("token " + password)}})},
		{Request: call(nil, ""), Performs: []Perform{{In: []byte(password), Out: []byte(password)}},
			Error: "bad perform " + password},
		{Request: []byte(password)},
		{Request: call(nil, ""), Answered: true, Answer: answer(abi.SyncResponse{Effects: []abi.Effect{{Kind: abi.EffectApply,
			Resource: secrets, Object: []byte(`{"data":"` + password + `"}`)},
			{Kind: abi.EffectEvent, Event: &abi.EventData{Message: password}}}})},
		{Request: call(nil, ""), Answered: true, Answer: []byte("not an answer " + password)},
	} {
		s.Key, s.Start, s.Result = key, time.Unix(1, 0), "ok"
		f.Syncs = append(f.Syncs, s)
	}
	return f
}

func TestNoSecretIsWrittenOut(t *testing.T) {
	f := secretSyncs(t)
	before := len(f.Syncs[0].Request)
	b := encoded(t, f)
	for _, value := range []string{password, base64.StdEncoding.EncodeToString([]byte(password)), "PRIVATE KEY"} {
		if i := bytes.Index(b, []byte(value)); i >= 0 {
			t.Errorf("%q is in the file at byte %d, near %q", value, i, b[max(0, i-100):i])
		}
	}

	got, err := Parse(b)
	if err != nil {
		t.Fatal(err)
	}

	for i := range got.Syncs {
		if !got.Syncs[i].Redacted {
			t.Errorf("sync %d isn't marked as redacted", i)
		}
	}

	// What was wiped has kept its length: the rest of the object is still there to be read.
	if len(got.Syncs[0].Request) != before {
		t.Errorf("a call of %d bytes has become one of %d", before, len(got.Syncs[0].Request))
	}

	var call abi.SyncRequest
	if err := abi.DecodeRequest(got.Syncs[0].Request, &call); err != nil {
		t.Fatal(err)
	}

	var s corev1.Secret
	if err := s.Unmarshal(call.Views[0].Objects[0].Data); err != nil {
		t.Fatal(err)
	}

	zeros := strings.Repeat("\x00", len(password))
	if string(s.Data["password"]) != zeros || s.Annotations["kept"] != "kept" || s.Name != "s" {
		t.Errorf("the redacted secret is %v", &s)
	}
	if !bytes.Contains(f.Syncs[0].Request, []byte(password)) {
		t.Error("the recording in memory was wiped too")
	}

	if x := got.Sources[0].Settings; len(x) != 2 || x[0].Value != "" || !strings.HasPrefix(x[0].Digest, "sha256:") ||
		x[1].Value != "x" {
		t.Errorf("settings are %+v", x)
	}
}

// A secret's value that a controller has put into a custom resource is quoted there.
func TestQuotedSecretsAreFound(t *testing.T) {
	const password = "it's \"<42>\" & more\n"
	r := redaction{found: map[string]bool{}}
	r.remember([]byte(password))
	html, err := json.Marshal(map[string]string{"spec": "x" + password})
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{string(html), strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`,
		"&").Replace(string(html)), `{"spec":"x` + password + `"}`} {
		if got := r.redactText(text); strings.Contains(got, "42") {
			t.Errorf("%s is left of %s", got, text)
		}
	}
}

// A controller that writes Secrets knows what is in them, whether or not it reads any: its state may have kept that,
// unless it is one of the project's own.
func TestStateOfWhoWritesSecrets(t *testing.T) {
	for _, x := range []struct {
		write          string
		trusted, wiped bool
	}{{"secrets", false, true}, {"configmaps", false, false}, {"secrets", true, false}} {
		source := testSource("p")
		source.Trusted = x.trusted
		source.Manifest.Controllers[0].State = true
		source.Manifest.Controllers[0].Views = nil
		written := abi.Resource{Version: "v1", Name: x.write}
		source.Manifest.Controllers[0].Writes = []abi.Write{{Resource: written, Verbs: []string{"create"}}}
		f := &File{Controller: "c", Sources: []Source{*source}, Syncs: []Sync{{
			Request: abi.AppendRequest(nil, &abi.SyncRequest{Now: 1, State: []byte("made " + password)}), Answered: true,
			Answer: abi.AppendResponse(nil, &abi.SyncResponse{State: []byte("made another-" + password)}),
		}}}

		got, err := Parse(encoded(t, f))
		if err != nil {
			t.Fatal(err)
		}
		for what, b := range map[string][]byte{"state": got.Syncs[0].Request, "new state": got.Syncs[0].Answer} {
			if wiped := !bytes.Contains(b, []byte(password)); wiped != x.wiped {
				t.Errorf("the %s of a controller that writes %s: wiped %v, expected %v", what, x.write, wiped, x.wiped)
			}
		}
	}
}

// Of a secret's metadata alone nothing has to be wiped: the sync can be run again.
func TestMetadataOfSecretsStay(t *testing.T) {
	raw, err := (&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "s", Labels: map[string]string{"a": "b"}}}).Marshal()
	if err != nil {
		t.Fatal(err)
	}
	f := testFile()
	f.Syncs = f.Syncs[:1]
	f.Syncs[0].Request = abi.AppendRequest(nil, &abi.SyncRequest{Now: 1,
		Views: []abi.ViewData{{View: 1, Objects: []abi.ObjectData{{Data: raw}}}}})
	got, err := Parse(encoded(t, f))
	if err != nil {
		t.Fatal(err)
	}
	if got.Syncs[0].Redacted || !bytes.Equal(got.Syncs[0].Request, f.Syncs[0].Request) {
		t.Error("it was redacted")
	}
}

func TestSaver(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "recordings")
	s, err := NewSaver(SaverOptions{Folder: folder, Files: 3, Bytes: 40_000, Every: time.Nanosecond})
	if err != nil {
		t.Fatal(err)
	}

	files := func() (names []string, bytes int64) {
		t.Helper()
		s.Wait()
		entries, err := os.ReadDir(folder)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			info, err := e.Info()
			if err != nil {
				t.Fatal(err)
			}
			if info.Mode().Perm() != 0o600 {
				t.Errorf("%s has mode %v", e.Name(), info.Mode())
			}
			names, bytes = append(names, e.Name()), bytes+info.Size()
		}
		return names, bytes
	}

	r := NewRing("c", 12_000)
	s.Watch(r)
	recorder := r.Recorder(testSource("p"))
	fail := func(result string, err error) {
		rec := recorder.Begin(abi.KeyRef{Name: "web"}, time.Now())
		rec.Request(request(5000))
		rec.End(result, err)
	}

	fail("ok", nil)
	if names, _ := files(); len(names) != 0 {
		t.Errorf("a sync that went well left %v", names)
	}

	fail("trap", errors.New("unreachable"))
	names, _ := files()
	if len(names) != 1 {
		t.Fatalf("a trap left %v", names)
	}

	f, err := Open(filepath.Join(folder, names[0]))
	if err != nil {
		t.Fatal(err)
	}
	if f.Reason != "trap: unreachable" || len(f.Syncs) != 2 || f.Syncs[1].Error != "unreachable" {
		t.Errorf("saved %q, %d syncs", f.Reason, len(f.Syncs))
	}

	for range 10 {
		fail("refused", errors.New("no right"))
		if names, bytes := files(); len(names) > 3 || bytes > 40_000 {
			t.Errorf("%d files, %d bytes", len(names), bytes)
		}
	}

	s.Every = time.Hour
	s.next = map[*Ring]time.Time{}
	fail("trap", errors.New("first"))
	before, _ := files()
	fail("trap", errors.New("second"))
	if after, _ := files(); !cmp.Equal(before, after) {
		t.Errorf("within an hour %v became %v", before, after)
	}
}
