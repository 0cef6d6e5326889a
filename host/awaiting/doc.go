// Package awaiting knows which answers of the API server a controller's syncs wait for, and has a sync that waits for
// long give its worker back until the answer comes.
package awaiting
