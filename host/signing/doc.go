// Package signing signs with the cluster's keys, which stay in this process: a plugin names what it wants signed, and
// what is signed goes by the rules here, whatever it asked for.
//
// The rules are those of the signers of kube-controller-manager (pkg/controller/certificates/signer and authority, and
// pkg/apis/certificates/helpers.go), of its controllers of service accounts' tokens (pkg/serviceaccount/jwt.go and
// legacy.go) and of the cluster's information (pkg/controller/bootstrap).
package signing
