package pod

import (
	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/sdk"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
	"github.com/windlass-dev/windlass/sdk/owner"
)

// The reasons of the events on the owner of pods that are created and deleted.
const (
	SuccessfulCreate = "SuccessfulCreate"
	FailedCreate     = "FailedCreate"
	SuccessfulDelete = "SuccessfulDelete"
	FailedDelete     = "FailedDelete"
)

// New is a pod from a template, controlled by the owner, whose name the host makes from the owner's. It shares the
// template's memory.
func New(controller sdk.Object, template *corev1.PodTemplateSpec) *corev1.Pod {
	m, t := controller.GetObjectMeta(), &template.ObjectMeta
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:       m.Namespace,
			GenerateName:    namePrefix(m.Name),
			Labels:          t.Labels,
			Annotations:     t.Annotations,
			Finalizers:      t.Finalizers,
			OwnerReferences: []metav1.OwnerReference{owner.Ref(controller)},
		},
		Spec: template.Spec,
	}
}

// namePrefix returns the name with a dash, unless that is too long for a pod's name.
func namePrefix(name string) string {
	if len(name)+1 > nameMax {
		return name
	}
	return name + "-"
}

// nameMax is how long a pod's name may be.
const nameMax = 253

// Create creates pods now, 1, 2, 4, … at once while none fails, tells of each on the owner, and gives the first
// failure. A namespace on its way out is none: no pod can come to be there any more. A pod may be in the list many
// times, as long as the host makes its name; what the list's pods hold afterwards is undefined.
func Create(c *sdk.Call, owner sdk.Object, pods []*corev1.Pod) error {
	_, _, err := CreateCounted(c, owner, pods)
	return err
}

// CreateCounted is Create that tells how many pods there are now, and how many were refused; the rest wasn't tried.
func CreateCounted(c *sdk.Call, owner sdk.Object, pods []*corev1.Pod) (created, failed int, err error) {
	effects := make([]sdk.Effect, len(pods))
	for i, p := range pods {
		if len(p.Labels) == 0 {
			return 0, 0, sdk.Errors("unable to create pods, no labels")
		}
		effects[i] = sdk.Create(p, sdk.Tolerate(abi.TolerateNamespaceTerminating))
	}
	outcomes, err := c.DoAll(sdk.SlowStart(effects...))
	err = reportOutcomes(c, owner, outcomes, err, func(i int, o *abi.Outcome) (reason, message string, err error) {
		switch {
		case o.Code == abi.CodeFailed:
			failed++
			return FailedCreate, "Error creating: " + o.Message, &sdk.Error{Reason: o.Reason, Message: o.Message}
		case o.Code == abi.CodeOK && o.Reason == "":
			created++
			return SuccessfulCreate, "Created pod: " + o.Name, nil
		}
		return "", "", nil
	})
	return created, failed, err
}

// Delete deletes pods now, all at once, tells of each on the owner, and returns the first failure. A pod that is gone
// already is none.
func Delete(c *sdk.Call, owner sdk.Object, pods []*corev1.Pod) error {
	effects := make([]sdk.Effect, len(pods))
	for i, p := range pods {
		effects[i] = sdk.Delete(p, sdk.Tolerate(abi.TolerateNotFound))
	}
	outcomes, err := c.DoAll(sdk.Parallel(effects...))
	return reportOutcomes(c, owner, outcomes, err, func(i int, o *abi.Outcome) (reason, message string, err error) {
		switch {
		case o.Code == abi.CodeFailed:
			return FailedDelete, "Error deleting: " +
				o.Message, &sdk.Error{Reason: o.Reason, Message: "unable to delete pods: " + o.Message}
		case o.Code == abi.CodeOK && o.Reason == "":
			return SuccessfulDelete, "Deleted pod: " + pods[i].Name, nil
		}
		return "", "", nil
	})
}

// reportOutcomes makes an event on the owner of each outcome that tell has a reason for, and gives the first of its
// errors.
func reportOutcomes(c *sdk.Call, owner sdk.Object, outcomes []abi.Outcome, failed error,
	tell func(int, *abi.Outcome) (reason, message string, err error)) error {
	if len(outcomes) == 0 {
		return failed
	}
	var first error
	for i := range outcomes[0].Members {
		reason, message, err := tell(i, &outcomes[0].Members[i])
		if err != nil && first == nil {
			first = err
		}
		switch {
		case err != nil:
			c.Event(owner, corev1.EventTypeWarning, reason, message)
		case reason != "":
			c.Event(owner, corev1.EventTypeNormal, reason, message)
		}
	}
	if first == nil {
		return failed
	}
	return first
}
