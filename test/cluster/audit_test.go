package cluster

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const auditLines = `{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"Metadata","stage":"ResponseStarted","requestURI":"/api/v1/pods?watch=true","verb":"watch","user":{"username":"admin"},"objectRef":{"resource":"pods","apiVersion":"v1"},"responseStatus":{"metadata":{},"code":200},"stageTimestamp":"2026-01-01T00:00:01.000000Z"}
{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"Metadata","stage":"ResponseComplete","requestURI":"/apis/apps/v1/namespaces/n/replicasets/a/status","verb":"update","user":{"username":"admin"},"impersonatedUser":{"username":"system:serviceaccount:kube-system:replicaset-controller"},"userAgent":"u","objectRef":{"resource":"replicasets","namespace":"n","name":"a","apiGroup":"apps","apiVersion":"v1","subresource":"status"},"responseStatus":{"metadata":{},"code":409},"stageTimestamp":"2026-01-01T00:00:02.000000Z"}
{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"Metadata","stage":"ResponseComplete","requestURI":"/api/v1/namespaces/n/pods","verb":"create","user":{"username":"admin"},"objectRef":{"resource":"pods","namespace":"n","apiVersion":"v1"},"responseStatus":{"metadata":{},"code":201},"stageTimestamp":"2026-01-01T00:00:03.000000Z"}
{"kind":"Event","apiVersion":"audit.k8s.io/v1","stage":"ResponseCom`

const restOfLine = `plete","verb":"delete","user":{"username":"admin"},"objectRef":{"resource":"pods","namespace":"n","name":"a"},"responseStatus":{"code":200},"stageTimestamp":"2026-01-01T00:00:04.000000Z"}
`

func TestReadAudit(t *testing.T) {
	const (
		status = "update replicasets/status n/a by system:serviceaccount:kube-system:replicaset-controller: 409"
		create = "create pods n/ by admin: 201"
	)
	tests := []struct {
		name   string
		filter Filter
		want   []string
	}{
		{"all but the start of a watch and the half line", Filter{}, []string{status, create}},
		{"by verb", Filter{Verbs: []string{"create", "delete"}}, []string{create}},
		{"by who acted", Filter{Users: []string{"admin"}}, []string{create}},
		{"a subresource by its whole name", Filter{Resources: []string{"replicasets/status"}}, []string{status}},
		{"a resource without its subresources", Filter{Resources: []string{"replicasets"}}, nil},
		{"by code", Filter{Codes: []int{409}}, []string{status}},
		{"by namespace", Filter{Namespace: "elsewhere"}, nil},
	}
	// The file as it is, and then with the rest of its last line.
	path := filepath.Join(t.TempDir(), "audit.log")
	if err := os.WriteFile(path, []byte(auditLines), 0o600); err != nil {
		t.Fatal(err)
	}
	c := &Cluster{AuditLog: path}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) { expectEvents(t, c.Audit(t, test.filter), test.want) })
	}

	file, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := file.WriteString(restOfLine); err != nil {
		t.Fatal(err)
	}
	const last = "delete pods n/a by admin: 200"
	expectEvents(t, c.Audit(t, Filter{}), []string{status, create, last})
	expectEvents(t, c.Audit(t, Filter{Verbs: []string{"delete"}}), []string{last})

	if _, _, err := readAudit(strings.NewReader("nonsense\n")); err == nil {
		t.Error("a line that is no event was read without an error")
	}
}

func expectEvents(t *testing.T, events []Event, want []string) {
	t.Helper()
	var got []string
	for _, e := range events {
		got = append(got, e.String())
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got %q, want %q", got, want)
	}
}
