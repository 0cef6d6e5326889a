//go:build !linux

package process

import "errors"

func populate([]byte) error { return errors.ErrUnsupported }
