package abi_test

import (
	"testing"

	"github.com/windlass-dev/windlass/abi"
)

// The cache keeps whole objects of what a controller updates, in whichever of its writes and subresources that is; of
// nothing else, and never pods and nodes.
func TestCachesWhole(t *testing.T) {
	in := func(group, version, name string) abi.Resource {
		return abi.Resource{Group: group, Version: version, Name: name}
	}
	write := func(r abi.Resource, subresource string, verbs ...string) abi.Write {
		return abi.Write{Resource: r, Subresource: subresource, Verbs: verbs}
	}
	sets, services, pods, nodes, secrets := in("apps", "v1", "replicasets"), in("", "v1", "services"),
		in("", "v1", "pods"), in("", "v1", "nodes"), in("", "v1", "secrets")

	for name, x := range map[string]struct {
		writes []abi.Write
		of     abi.Resource
		want   bool
	}{
		"updated":                      {[]abi.Write{write(sets, "", "get", "update")}, sets, true},
		"its status is updated":        {[]abi.Write{write(sets, "", "get"), write(sets, "status", "update")}, sets, true},
		"updated by the second of two": {[]abi.Write{write(sets, "", "create"), write(sets, "", "update")}, sets, true},
		"of the core group":            {[]abi.Write{write(services, "", "update")}, services, true},
		"patched":                      {[]abi.Write{write(sets, "", "patch", "create", "delete")}, sets, false},
		"another resource is updated":  {[]abi.Write{write(services, "", "update")}, sets, false},
		"of another version": {[]abi.Write{write(in("apps", "v1beta1", "replicasets"), "", "update")}, sets,
			false},
		"all resources may be updated": {[]abi.Write{write(in("", "", "*"), "", "update")}, sets, false},
		"signed with":                  {[]abi.Write{write(secrets, "", "sign")}, secrets, true},
		"signed for":                   {[]abi.Write{write(in("", "v1", "serviceaccounts"), "", "sign")}, secrets, false},
		"not written":                  {nil, sets, false},
		"pods": {[]abi.Write{write(pods, "", "update"), write(pods, "status", "update")}, pods,
			false},
		"nodes": {[]abi.Write{write(nodes, "", "update")}, nodes, false},
		"what others call pods or nodes": {[]abi.Write{write(in("metrics.k8s.io", "v1", "nodes"), "", "update")},
			in("metrics.k8s.io", "v1", "nodes"), true},
	} {
		c := &abi.Controller{Writes: x.writes}
		if got := c.CachesWhole(x.of); got != x.want {
			t.Errorf("%s: %v, expected %v", name, got, x.want)
		}
	}
}
