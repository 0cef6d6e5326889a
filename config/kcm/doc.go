// Package kcm is what is known of kube-controller-manager's command line (Kubernetes v1.37): its flags with what they
// mean here, its controllers and its feature gates, as data.
//
// One table of flags drives what `windlass run` accepts, what a flag sets, what is said of one that sets nothing, and
// docs/flags.md. test/kubeadm compares it with the native binary. What the flags of single controllers mean follows
// from the table of plugins (package builtin), of which zz_builtins.go has what is needed here; go generate in
// plugins/builtin writes both.
package kcm

// Minor is the minor version of Kubernetes 1 whose kube-controller-manager this is about.
const Minor = 37
