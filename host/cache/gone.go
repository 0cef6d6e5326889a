package cache

// goneMax is how many deleted objects are remembered.
const goneMax = 32768

// rememberGone remembers that an object was deleted. UIDs are never used again, so it is gone for good, unless etcd is
// restored from a backup.
func (c *Cache) rememberGone(o *Object) {
	if o.UID != "" {
		c.gone.Add(string(o.UID))
	}
}

// Gone reports whether an object with the UID is known to have been deleted. That it isn't known says nothing.
func (c *Cache) Gone(uid string) bool { return c.gone.Has(uid) }
