package golden

import (
	"fmt"
	"slices"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/author/guest"
)

// Undeclared names the shortest declarations that make the case come out as on whole objects, such as
// "view pods: spec.nodeName". It is for a case that comes out otherwise on the declared fields alone.
func (c *Case) Undeclared(g guest.Guest) ([]string, error) {
	index, err := c.controller(g.Manifest())
	if err != nil {
		return nil, c.errorf("%w", err)
	}
	out := func(cut bool, views []abi.View) (string, error) {
		h, _, err := c.runCase(g, cut, views)
		if err != nil {
			return "", c.errorf("%w", err)
		}

		return h.outputText()
	}
	whole, err := out(false, nil)
	if err != nil {
		return nil, err
	}

	return Missing(&g.Manifest().Controllers[index], func(views []abi.View) bool {
		text, err := out(true, views)
		return err == nil && text == whole
	})
}

// Missing finds what has to be declared for same to hold of the views, which holds with all fields of all objects: for
// each view that matters, the deepest path below which all the missing fields lie.
func Missing(c *abi.Controller, same func([]abi.View) bool) ([]string, error) {
	all, err := Unprojected(*c)
	if err != nil {
		return nil, err
	}

	// Whole views first: those that do without more fields go back to what they declare.
	trial := slices.Clone(all.Views)
	for i := range trial {
		trial[i].Quiet = c.Views[i].Quiet
		was := trial[i].Fields
		if trial[i].Fields = c.Views[i].Fields; !same(trial) {
			trial[i].Fields = was
		}
	}

	var missing []string
	for i := range trial {
		if slices.Equal(trial[i].Fields, c.Views[i].Fields) {
			continue
		}
		added := slices.Clone(trial[i].Fields)
		for changed := true; changed; {
			changed = false
			for j := 0; j < len(added); j++ {
				// Without it, or with what is below it in its place.
				without := slices.Delete(slices.Clone(added), j, j+1)
				trial[i].Fields = append(slices.Clone(c.Views[i].Fields), without...)
				if same(trial) {
					added, changed = without, true
					break
				}
				below := fieldsBelow(c.Views[i].Resource, added[j])
				if len(below) == 0 {
					continue
				}
				trial[i].Fields = append(append(slices.Clone(c.Views[i].Fields), without...), below...)
				if same(trial) {
					added, changed = append(without, below...), true
					break
				}
			}
		}
		trial[i].Fields = append(slices.Clone(c.Views[i].Fields), added...)
		for _, path := range added {
			missing = append(missing, fmt.Sprintf("view %s: %s", c.Views[i].Name, path))
		}
	}
	return missing, nil
}

// fieldsBelow are the paths one step below a path of a resource, none where it is a scalar, a map or unknown.
func fieldsBelow(r abi.Resource, path string) (paths []string) {
	res, err := resourceOf(r)
	if err != nil {
		return nil
	}
	p, err := res.Message.Path(path)
	if err != nil || p.Map() || p.Message() == nil {
		return nil
	}
	for _, f := range p.Message().Fields() {
		if f.JSON != "" {
			paths = append(paths, path+"."+f.JSON)
		}
	}
	return paths
}
