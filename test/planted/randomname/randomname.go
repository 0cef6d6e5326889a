// Package randomname has a mistake: it makes up names with random numbers.
package randomname

import (
	"math/rand"
	"strconv"

	"github.com/windlass-dev/windlass/test/planted/correct"
)

// Plugin is the plugin with the mistake.
var Plugin = correct.New(func(p *correct.Parts) {
	p.Name = func(s *correct.Set, index int) string { return s.Name + "-" + strconv.Itoa(rand.Int()) }
})
