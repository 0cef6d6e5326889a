//go:build !race

package worlds

const raced = false
