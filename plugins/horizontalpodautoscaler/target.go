package horizontalpodautoscaler

import (
	"strconv"
	"strings"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/plugins/shared/scale"
	"github.com/windlass-dev/windlass/sdk"
	autoscalingv2 "github.com/windlass-dev/windlass/sdk/api/autoscaling/v2"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	"github.com/windlass-dev/windlass/sdk/labels"
)

// attempts is how often the scale is written while others change the target.
const attempts = 5

// fetchScale gets the scale of the autoscaler's target.
func (r *run) fetchScale() error {
	ref := &r.hpa.Spec.ScaleTargetRef
	where := "failed to query scale subresource for " + r.reference + ": "
	target, err := resourceOf(r.c, ref.APIVersion, ref.Kind)
	switch {
	case isSpecError(err):
		where = "invalid API version in scale target reference: "
	case err != nil:
		where = "unable to determine resource for scale target reference: "
	default:
		r.target, err = scale.Get(r.c, target.Resource, r.hpa.Namespace, ref.Name)
		if err == nil {
			err = r.parseSelector()
		}
	}
	if err == nil {
		return nil
	}
	r.addEvent(corev1.EventTypeWarning, "FailedGetScale", err.Error())
	r.setCondition(autoscalingv2.AbleToScale, false, "FailedGetScale",
		"the HPA controller was unable to get the target's current scale: "+err.Error())
	return wrapError(where, err)
}

// parseSelector takes the selector of the target's pods from its scale. A scale with one that isn't a selector is none,
// as it is for upstream's client, in staging/src/k8s.io/client-go/scale.
func (r *run) parseSelector() (err error) {
	r.selector = r.target.Status.Selector
	if r.selects, err = labels.Parse(r.selector); err != nil {
		return sdk.Errors("received an object from a /scale endpoint which was not convertible to autoscaling Scale: "+
			"failed to parse target selector: couldn't parse the selector string ", strconv.Quote(r.selector), ": ", err.Error())
	}
	return nil
}

// resourceOf finds the resource of a kind in a group; the version in a reference may be one that is served no longer.
func resourceOf(c *sdk.Call, apiVersion, kind string) (*abi.APIResource, error) {
	if strings.Count(apiVersion, "/") > 1 {
		return nil, &failure{text: "unexpected GroupVersion string: " + apiVersion, spec: true}
	}
	if apiVersion == "" {
		apiVersion = "v1"
	}
	found, err := c.ResourceOf(apiVersion, kind)
	if err == nil || !sdk.Failed(err, noKindMatch) {
		return found, err
	}
	group, _, named := strings.Cut(apiVersion, "/")
	if !named {
		group = ""
	} else if found, err = c.ResourceOf(group+"/*", kind); err == nil || !sdk.Failed(err, noKindMatch) {
		return found, err
	}
	return nil, sdk.Errors(`no matches for kind "`, kind, `" in group "`, group, `"`)
}

const noKindMatch = "NoKindMatch"

// updateScale writes the target's scale, anew on top of what others have changed meanwhile.
func (r *run) updateScale(replicas int32) error {
	for n := 1; ; n++ {
		r.target.Spec.Replicas = replicas
		err := r.target.Update(r.c)
		if n == attempts || !sdk.Failed(err, sdk.Conflict) {
			return err
		}
		if err := r.target.Refresh(r.c); err != nil {
			r.c.Log("error getting latest scale for " + r.reference + " during conflict retry: " + err.Error())
		}
	}
}
