package versions

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/host/effects/envelope"
)

const group = "/apis/certificates.k8s.io/"

// server is a transport that takes requests to some paths.
type server struct {
	serves []string // what paths contain that are found
	asked  []string
	bodies []string // the versions that objects say
}

func (s *server) RoundTrip(r *http.Request) (*http.Response, error) {
	s.asked = append(s.asked, r.Method+" "+r.URL.Path)
	if r.Body != nil {
		b, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		if int64(len(b)) != r.ContentLength {
			return nil, io.ErrUnexpectedEOF
		}
		version, kind, raw, err := envelope.Unwrap(b)
		if err != nil {
			version = "no envelope: " + string(b)
		}
		s.bodies = append(s.bodies, strings.TrimSpace(version+" "+kind+" "+string(raw)))
	}
	a := &http.Response{StatusCode: http.StatusNotFound, Body: io.NopCloser(strings.NewReader(""))}
	for _, path := range s.serves {
		if strings.Contains(r.URL.Path, path) {
			a.StatusCode = http.StatusOK
		}
	}
	return a, nil
}

// expectAsked sends a request and looks at what has become of it.
func expectAsked(t *testing.T, rt http.RoundTripper, s *server, method, path string, body []byte, code int,
	want ...string) {
	t.Helper()
	s.asked, s.bodies = nil, nil
	var content io.Reader
	if body != nil {
		content = bytes.NewReader(body)
	}
	r, err := http.NewRequestWithContext(t.Context(), method, "https://server"+path, content)
	if err != nil {
		t.Fatal(err)
	}
	a, err := rt.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	a.Body.Close()
	if got, all := strings.Join(append(s.asked, s.bodies...), "\n"), strings.Join(want, "\n"); got != all ||
		a.StatusCode != code {
		t.Errorf("%s %s: %d, want %d; asked\n%s\nwant\n%s", method, path, a.StatusCode, code, got, all)
	}
}

// Where the newest version is served, no request is changed and there are no others.
func TestNewestIsServed(t *testing.T) {
	s := &server{serves: []string{"/v1/"}}
	rt := Choose()(s)
	expectAsked(t, rt, s, "GET", group+"v1/clustertrustbundles", nil, 200, "GET "+group+"v1/clustertrustbundles")
	body := envelope.Wrap("certificates.k8s.io/v1", "ClusterTrustBundle", []byte("x"))
	expectAsked(t, rt, s, "PUT", group+"v1/clustertrustbundles/a", body, 200, "PUT "+group+"v1/clustertrustbundles/a",
		"certificates.k8s.io/v1 ClusterTrustBundle x")
}

// Where an older version is served, who lists learns it, and all else goes there, whoever sends it.
func TestOlderIsServed(t *testing.T) {
	s := &server{serves: []string{"/v1alpha1/clustertrustbundles"}}
	choose := Choose()
	reads, writes := choose(s), choose(s)
	expectAsked(t, reads, s, "GET", group+"v1/clustertrustbundles", nil, 200, "GET "+group+"v1/clustertrustbundles",
		"GET "+group+"v1beta1/clustertrustbundles", "GET "+group+"v1alpha1/clustertrustbundles")
	expectAsked(t, reads, s, "GET", group+"v1/clustertrustbundles", nil, 200,
		"GET "+group+"v1alpha1/clustertrustbundles")
	body := envelope.Wrap("certificates.k8s.io/v1", "ClusterTrustBundle", []byte("x"))
	expectAsked(t, writes, s, "POST", group+"v1/clustertrustbundles", body, 200,
		"POST "+group+"v1alpha1/clustertrustbundles", "certificates.k8s.io/v1alpha1 ClusterTrustBundle x")
	options := envelope.Wrap("v1", "DeleteOptions", []byte("y"))
	expectAsked(t, writes, s, "DELETE", group+"v1/clustertrustbundles/a:b", options, 200,
		"DELETE "+group+"v1alpha1/clustertrustbundles/a:b", "v1 DeleteOptions y")
	expectAsked(t, writes, s, "PATCH", group+"v1/clustertrustbundles/a", []byte("{}"), 200,
		"PATCH "+group+"v1alpha1/clustertrustbundles/a", "no envelope: {}")
}

// An object that isn't there says nothing of versions.
func TestObjectIsNotFound(t *testing.T) {
	s := &server{}
	rt := Choose()(s)
	expectAsked(t, rt, s, "GET", group+"v1/clustertrustbundles/a", nil, 404, "GET "+group+"v1/clustertrustbundles/a")
	expectAsked(t, rt, s, "DELETE", group+"v1/clustertrustbundles/a", nil, 404,
		"DELETE "+group+"v1/clustertrustbundles/a")
}

// Where no version is served the answer says so, and the newest one is asked for first again. That may change.
func TestServedVersionChanges(t *testing.T) {
	v1, beta, alpha := "GET "+group+"v1/clustertrustbundles", "GET "+group+"v1beta1/clustertrustbundles",
		"GET "+group+"v1alpha1/clustertrustbundles"
	s := &server{}
	rt := Choose()(s)
	expectAsked(t, rt, s, "GET", group+"v1/clustertrustbundles", nil, 404, v1, beta, alpha)
	expectAsked(t, rt, s, "GET", group+"v1/clustertrustbundles", nil, 404, v1, beta, alpha)
	s.serves = []string{"/v1beta1/"}
	expectAsked(t, rt, s, "GET", group+"v1/clustertrustbundles", nil, 200, v1, beta)
	s.serves = []string{"/v1/"}
	expectAsked(t, rt, s, "GET", group+"v1/clustertrustbundles", nil, 200, beta, alpha, v1)
	expectAsked(t, rt, s, "GET", group+"v1/clustertrustbundles", nil, 200, v1)
}

// Other resources are let through, also those whose names begin alike.
func TestOtherResources(t *testing.T) {
	s := &server{}
	rt := Choose()(s)
	for _, path := range []string{"/api/v1/pods", group + "v1/certificatesigningrequests",
		group + "v1/clustertrustbundlesets", group + "v1"} {
		expectAsked(t, rt, s, "GET", path, nil, 404, "GET "+path)
	}
}
