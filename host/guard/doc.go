// Package guard lets through to the server whom the cluster allows it.
//
// Anybody may ask for the always allowed paths. For any other path the request must tell who it is from: by a client certificate, by the headers of a front proxy that has one, or by a
// token, about which the API server is asked (TokenReview). Then members of system:masters may do all, and of others the API server says what they may (SubjectAccessReview of the path). Nobody is let
// through anonymously, whatever the cluster allows to anonymous users. Upstream has it in k8s.io/apiserver/pkg/server/options; RATIONALE.md tells why that isn't taken as it is.
package guard
