// Package manager decides which controllers run in this process.
package manager
