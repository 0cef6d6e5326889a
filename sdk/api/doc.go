// Package api holds Kubernetes' types as plugins see them: a package per group and version, generated from k8s.io/api.
//
// They have k8s.io/api's names and none of its dependencies; maps are slices (see wire.Dict). For a type T there is the
// table TTable, and for each kind that the API server stores or reviews a resource by its plural: corev1.Pods.
package api

//go:generate go run ../../hack/generate-api
