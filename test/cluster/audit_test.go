package cluster

import (
	"strings"
	"testing"
)

const auditLines = `{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"Metadata","stage":"ResponseStarted","requestURI":"/api/v1/pods?watch=true","verb":"watch","user":{"username":"admin"},"objectRef":{"resource":"pods","apiVersion":"v1"},"responseStatus":{"metadata":{},"code":200},"stageTimestamp":"2026-01-01T00:00:01.000000Z"}
{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"Metadata","stage":"ResponseComplete","requestURI":"/apis/apps/v1/namespaces/n/replicasets/a/status","verb":"update","user":{"username":"admin"},"impersonatedUser":{"username":"system:serviceaccount:kube-system:replicaset-controller"},"userAgent":"u","objectRef":{"resource":"replicasets","namespace":"n","name":"a","apiGroup":"apps","apiVersion":"v1","subresource":"status"},"responseStatus":{"metadata":{},"code":409},"stageTimestamp":"2026-01-01T00:00:02.000000Z"}
{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"Metadata","stage":"ResponseComplete","requestURI":"/api/v1/namespaces/n/pods","verb":"create","user":{"username":"admin"},"objectRef":{"resource":"pods","namespace":"n","apiVersion":"v1"},"responseStatus":{"metadata":{},"code":201},"stageTimestamp":"2026-01-01T00:00:03.000000Z"}
{"kind":"Event","half a li`

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
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			events, read, err := readAudit(strings.NewReader(auditLines), test.filter)
			if err != nil {
				t.Fatal(err)
			}
			if whole := strings.LastIndexByte(auditLines, '\n') + 1; read != int64(whole) {
				t.Errorf("read %d bytes, the whole lines are %d", read, whole)
			}
			var got []string
			for _, e := range events {
				got = append(got, e.String())
			}
			if strings.Join(got, "\n") != strings.Join(test.want, "\n") {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
	if _, _, err := readAudit(strings.NewReader("nonsense\n"), Filter{}); err == nil {
		t.Error("a line that is no event was read without an error")
	}
}
