package cache

import (
	"encoding/hex"
	"strings"
)

// goneMax is how many deleted objects are remembered: 16 bytes each, and a map's place.
const goneMax = 32768

// uid packs a UID; false for one that is no UUID, as no API server makes.
func uid(s string) (b [16]byte, ok bool) {
	if len(s) != 36 {
		return b, false
	}
	n, err := hex.Decode(b[:], []byte(strings.ReplaceAll(s, "-", "")))
	return b, err == nil && n == len(b)
}

// lose remembers that an object was deleted. UIDs are never used again, so it is gone for good, unless etcd is restored from a backup.
func (c *Cache) lose(o *Object) {
	if b, ok := uid(string(o.UID)); ok {
		c.gone.Add(b)
	}
}

// Gone tells whether an object with the UID is known to have been deleted. That it isn't known says nothing.
func (c *Cache) Gone(s string) bool {
	b, ok := uid(s)
	return ok && c.gone.Has(b)
}
