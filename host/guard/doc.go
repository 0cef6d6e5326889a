// Package guard lets through to the server whom the cluster allows it.
//
// Anybody may ask for the always allowed paths. For any other path it counts who the request is from: by a client
// certificate, by the headers of a front proxy that has one, or by a token, about which the API server is asked
// (TokenReview); one that shows none of these is from system:anonymous, one that shows what isn't right is refused.
// Then members of system:masters may do all, and of others the API server says what they may (SubjectAccessReview of
// the path). Upstream has it in k8s.io/apiserver/pkg/server/options; RATIONALE.md tells why that isn't taken as it is.
package guard
