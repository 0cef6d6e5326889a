//go:build !linux

package trim

import "errors"

func populate([]byte) error { return errors.ErrUnsupported }
