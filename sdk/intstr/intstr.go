// Package intstr reads amounts that are given as a number or as a percentage.
package intstr

import (
	"github.com/windlass-dev/windlass/sdk"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
	"github.com/windlass-dev/windlass/sdk/decimal"
)

// Scaled is the amount: a percentage is taken of total and rounded up or down. None is 0.
func Scaled(x *metav1.IntOrString, total int32, up bool) (int32, error) {
	switch {
	case x == nil:
		return 0, nil
	case x.StrVal == "":
		return x.IntVal, nil
	}
	n := len(x.StrVal) - 1
	if x.StrVal[n] != '%' {
		return 0, sdk.Errors("invalid value for IntOrString: invalid type: string is not a percentage")
	}
	percent, ok := decimal.Parse(x.StrVal[:n])
	if !ok {
		return 0, sdk.Errors("invalid value for IntOrString: invalid value \"", x.StrVal, "\": strconv.Atoi: parsing \"",
			x.StrVal[:n], "\": invalid syntax")
	}
	amount := int64(total) * percent
	if up {
		amount += 99
	}
	return int32(amount / 100), nil
}
