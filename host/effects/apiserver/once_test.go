package apiserver

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/effects/envelope"
	"github.com/windlass-dev/windlass/host/schema/schematest"
	"github.com/windlass-dev/windlass/host/schema/testpod"
)

// What SendOnce sends, and what it makes of the answers, is what client-go's Request does.
func TestOnceIsRequest(t *testing.T) {
	refused := metav1.Status{Status: metav1.StatusFailure, Code: 409, Reason: metav1.StatusReasonConflict,
		Message: "it has changed", Details: &metav1.StatusDetails{Kind: "pods", Name: "web", RetryAfterSeconds: 3}}
	raw, err := refused.Marshal()
	if err != nil {
		t.Fatal(err)
	}

	inProtobuf := string(envelope.Wrap("v1", "Status", raw))
	const inJSON = `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"no","reason":"Forbidden","code":403}`
	answers := map[string]struct {
		code             int
		form, body, wait string
	}{
		"done":                       {200, envelope.Protobuf, string(envelope.Wrap("v1", "Pod", []byte("pod"))), ""},
		"created":                    {201, envelope.Protobuf, strings.Repeat("long", 10000), ""},
		"done without a word":        {200, "", "", ""},
		"refused in protobuf":        {409, envelope.Protobuf, inProtobuf, ""},
		"refused in JSON":            {403, "application/json", inJSON, ""},
		"refused in JSON with a set": {403, "application/json; charset=utf-8", inJSON, ""},
		"refused in no form":         {403, "", inJSON, ""},
		"refused without a word":     {401, "", "", ""},
		"refused with half a word":   {403, "application/json", inJSON[:20], ""},
		"refused with another word":  {500, envelope.Protobuf, string(envelope.Wrap("v1", "Pod", nil)), ""},
		"not done, but no failure": {404, "application/json", `{"kind":"Status","apiVersion":"v1","status":"Success"}`,
			""},
		"too many":                     {429, "text/plain; charset=utf-8", "too many\n", "2"},
		"too many, in protobuf":        {429, envelope.Protobuf, inProtobuf, "2"},
		"a proxy's text":               {502, "text/html", strings.Repeat("<p>", 2000), "soon"},
		"a proxy's other text":         {503, "application/octet-stream", "?", ""},
		"a teapot":                     {418, "application/problem+json", `{}`, ""},
		"the server has to be shut up": {504, "text/plain", "", ""},
	}

	var answer string
	var seen []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		seen = append(seen, fmt.Sprintln(r.Method, r.RequestURI, r.ContentLength, r.Header, string(body)))
		a := answers[answer]
		w.Header()["Content-Type"] = nil
		if a.form != "" {
			w.Header().Set("Content-Type", a.form)
		}
		if a.wait != "" {
			w.Header().Set("Retry-After", a.wait)
		}
		w.WriteHeader(a.code)
		_, _ = io.WriteString(w, a.body)
	}))
	defer s.Close()
	c, err := NewClient(&rest.Config{Host: s.URL + "/behind/", UserAgent: "test", BearerToken: "secret"},
		rest.HTTPClientFor, nil)
	if err != nil {
		t.Fatal(err)
	}

	pods := abi.Resource{Version: "v1", Name: "pods"}
	requests := []*Request{
		{Method: "POST", Verb: "create", Resource: pods, Namespace: "default", ContentType: envelope.Protobuf, Body: []byte("pod"),
			Params: map[string]string{"dryRun": "All", "fieldManager": "me & you"}},
		{Method: "PUT", Verb: "update", Resource: abi.Resource{Group: "example.com", Version: "v1", Name: "webs"},
			Name: "100%/ü", Subresource: "status", ContentType: "application/json", Accept: "application/json",
			Body: []byte("{}")},
		{Method: "DELETE", Verb: "delete", Resource: pods, Namespace: "default", Name: "web"},
		{Method: "GET", Verb: "list", Resource: pods, Accept: envelope.AcceptMetadataList,
			Params: map[string]string{"fieldSelector": "metadata.name=web"}},
	}

	for name := range maps.Keys(answers) {
		for _, r := range requests {
			answer, seen = name, nil
			body, sent, err := c.SendOnce(t.Context(), r, 7*time.Second)
			if !sent {
				t.Errorf("%s: %s: it says that nothing was sent", name, r)
			}
			res := clientGo(c, r, 7*time.Second).Do(t.Context())
			want, _ := res.Raw()
			if err != nil {
				want = nil // what a refusal says is in the error
			}
			if string(body) != string(want) {
				t.Errorf("%s: %s: got %.40q, client-go %.40q", name, r, body, want)
			}
			if e, w := described(err), described(res.Error()); !reflect.DeepEqual(e, w) {
				t.Errorf("%s: %s:\n   got %+v\n  want %+v", name, r, e, w)
			}
			if len(seen) != 2 || seen[0] != seen[1] {
				t.Errorf("%s: %s: the server has seen\n%s", name, r, strings.Join(seen, ""))
			}
		}
	}
}

// described is what an error says; of a Status all of it but the type, which is the same for all.
func described(err error) any {
	var s apierrors.APIStatus
	if !errors.As(err, &s) {
		return err
	}
	status := s.Status()
	status.TypeMeta = metav1.TypeMeta{}
	return status
}

// BenchmarkOnce sends a create of a pod of 2.9 KB as SendOnce does and as client-go's Request does, to a server that
// answers with what it was sent.
func BenchmarkOnce(b *testing.B) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", envelope.Protobuf)
		w.Header().Set("Content-Length", fmt.Sprint(len(body)))
		w.WriteHeader(http.StatusCreated)
		_, _ = w.Write(body)
	}))
	defer s.Close()
	c, err := NewClient(&rest.Config{Host: s.URL, UserAgent: "bench"}, rest.HTTPClientFor, nil)
	if err != nil {
		b.Fatal(err)
	}
	r := &Request{Method: "POST", Verb: "create", Resource: abi.Resource{Version: "v1", Name: "pods"},
		Namespace: "default", ContentType: envelope.Protobuf, Params: map[string]string{"fieldManager": "bench"},
		Body: envelope.Wrap("v1", "Pod", schematest.Marshal(b, testpod.New(0)))}

	for name, send := range map[string]func() ([]byte, error){
		"SendOnce": func() ([]byte, error) {
			body, _, err := c.SendOnce(b.Context(), r, time.Minute)
			return body, err
		},
		"client-go": func() ([]byte, error) { return clientGo(c, r, time.Minute).Do(b.Context()).Raw() },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			before := processorTime(b)
			defer func() { b.ReportMetric(float64(processorTime(b)-before)/float64(b.N), "cpu-ns/op") }()
			for b.Loop() {
				if body, err := send(); err != nil || len(body) != len(r.Body) {
					b.Fatal(len(body), err)
				}
			}
		})
	}
}

// processorTime is what the process has had of the processors so far, which other processes take no part of.
func processorTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// clientGo is the request as client-go's Request has it.
func clientGo(c Client, r *Request, timeout time.Duration) *rest.Request {
	q := c.Verb(r.Method).AbsPath(r.path()...).MaxRetries(0).Timeout(timeout).SetHeader("Accept",
		cmp.Or(r.Accept, envelope.Accepted))
	for k, v := range r.Params {
		q.Param(k, v)
	}
	if r.Body != nil {
		q.SetHeader("Content-Type", r.ContentType).Body(r.Body)
	}
	return q
}
