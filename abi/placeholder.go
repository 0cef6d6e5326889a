package abi

import (
	"bytes"
	"encoding/hex"
)

// What a placeholder is made of: the prefix, 32 random bytes in hexadecimal, a dash, and dots up to the length of what
// it stands for.
const (
	placeholderPrefix = "windlass-signature-"
	placeholderRandom = 32
)

// AppendPlaceholder appends what stands in the sandbox for a credential of size bytes. It is nil where that is too
// short for one.
func AppendPlaceholder(to []byte, random [placeholderRandom]byte, size int) []byte {
	begun := len(to)
	to = append(hex.AppendEncode(append(to, placeholderPrefix...), random[:]), '-')
	dots := size - (len(to) - begun)
	if dots < 0 {
		return nil
	}
	return append(to, bytes.Repeat([]byte("."), dots)...)
}

// IsPlaceholder reports whether a text is one that stands for a credential, and so has nothing of it.
func IsPlaceholder(b []byte) bool {
	text, ok := bytes.CutPrefix(b, []byte(placeholderPrefix))
	const digits = 2 * placeholderRandom
	if !ok || len(text) <= digits || text[digits] != '-' || len(bytes.TrimLeft(text[digits+1:], ".")) > 0 {
		return false
	}
	_, err := hex.Decode(make([]byte, placeholderRandom), text[:digits])
	return err == nil
}
