// Package endless has mistakes that no check of the testing kit can look at: its syncs don't end.
package endless

import (
	"strings"
	"time"

	"github.com/windlass-dev/windlass/sdk"
	"github.com/windlass-dev/windlass/test/planted/correct"
)

// Plugin returns the plugin with one of the mistakes: tight is a loop without calls, calling one that calls something
// else, clock loops where the machine has another time than the call, and settings in its Check.
func Plugin(mistake string) *sdk.Plugin {
	p := correct.New(func(p *correct.Parts) {
		p.Wait = func(*sdk.Call, *correct.Set, []*correct.Shard) error {
			switch mistake {
			case "tight":
				spin()
			case "calling":
				search()
			case "clock":
				if time.Now().Year() == 2000 {
					spin()
				}
			}
			return nil
		}
	})
	if mistake == "settings" {
		p.Check = func(*sdk.Settings) error {
			spin()
			return nil
		}
	}

	return p
}

var n int

//go:noinline
func spin() {
	for n >= 0 {
		n ^= 1
	}
}

//go:noinline
func search() {
	for {
		n += strings.Index(strings.Repeat("a", 1000), "b") + 1
	}
}
