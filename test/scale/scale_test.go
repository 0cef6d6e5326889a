// Package scale measures either manager at work on many objects. It holds benchmarks alone.
package scale

const namespace = "default"

// account is a controller's user.
func account(name string) string { return "system:serviceaccount:kube-system:" + name }

// with is a controller, and that of the accounts that its pods want.
func with(controller string) []string { return []string{"serviceaccount-controller", controller} }
