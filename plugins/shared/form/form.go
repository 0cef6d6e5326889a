// Package form asks the host for the forms of built-in types that Go's reflection makes of them upstream, byte for
// byte.
package form

import (
	"strconv"
	"unsafe"

	"github.com/windlass-dev/windlass/abi/wire"
	"github.com/windlass-dev/windlass/sdk"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
)

const podTemplate = "v1/PodTemplateSpec"

// TemplateJSON is a pod template as encoding/json prints it, with sorted keys. With floats numbers have gone through a
// float64, which changes those above 2^53.
func TemplateJSON(t *corev1.PodTemplateSpec, floats bool) ([]byte, error) {
	head := podTemplate
	if floats {
		head += " floats"
	}
	return callHelper(jsonForm, head, templateBytes(t))
}

// ParseTemplate reads a pod template from JSON.
func ParseTemplate(json []byte) (*corev1.PodTemplateSpec, error) {
	b, err := callHelper(protobufForm, podTemplate, json)
	if err != nil {
		return nil, err
	}
	t := &corev1.PodTemplateSpec{}
	if err := wire.Unmarshal(b, unsafe.Pointer(t), &corev1.PodTemplateSpecTable); err != nil {
		return nil, err
	}
	return t, nil
}

// TemplateHash is upstream's hash of a pod template (controller.ComputeHash), in letters and digits that spell nothing.
// It may be another with each minor version.
func TemplateHash(t *corev1.PodTemplateSpec, collisions *int32) (string, error) {
	head := ""
	if collisions != nil {
		head = strconv.Itoa(int(*collisions))
	}
	b, err := callHelper(templateHash, head, templateBytes(t))
	return string(b), err
}

func templateBytes(t *corev1.PodTemplateSpec) []byte {
	return wire.Append(nil, unsafe.Pointer(t), &corev1.PodTemplateSpecTable)
}

func callHelper(helper func([]byte) []byte, head string, body []byte) ([]byte, error) {
	argument := make([]byte, 0, len(head)+1+len(body))
	argument = append(append(append(argument, head...), '\n'), body...)
	result := helper(argument)
	switch {
	case len(result) == 0:
		return nil, sdk.Errors("the host's answer is empty")
	case result[0] != 0:
		return nil, sdk.Errors("the host: ", string(result[1:]))
	}
	return result[1:], nil
}
