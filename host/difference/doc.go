// Package difference finds what a guest changed in an object of which it saw a part, and splices it into the whole
// object's bytes.
package difference
