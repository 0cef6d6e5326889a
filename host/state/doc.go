// Package state is what a running windlass says of itself: numbers, names and errors, never what is in objects. The
// manager serves it as JSON under /windlass/v1 and /debug, and those who ask decode it into the same types.
package state
