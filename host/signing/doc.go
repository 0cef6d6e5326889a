// Package signing makes certificates with the cluster's keys, which stay in this process: a plugin names a request, and
// what it is given is signed by the rules here, whatever it asked for.
//
// The rules are those of the signers of kube-controller-manager (pkg/controller/certificates/signer and authority, and
// pkg/apis/certificates/helpers.go).
package signing
