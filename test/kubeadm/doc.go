// Package kubeadm checks that windlass takes kube-controller-manager's place in a static pod of kubeadm's with the
// image alone swapped: that it knows every flag of the native binary, and that it runs on exactly those that kubeadm
// v1.37 writes.
package kubeadm
