package schema

import (
	"bytes"
	"testing"

	"github.com/windlass-dev/windlass/host/schema/testpod"
)

// fuzzed is what the fuzz targets run on arbitrary bytes: masks, paths and leaves of every shape.
var fuzzed = []string{
	"metadata", "metadata.labels[team]", "metadata.annotations", "spec.containers.resources.limits",
	"spec.containers.resources.limits[cpu]", "spec.containers.name",
	"spec.containers.livenessProbe.httpGet.port", "spec.volumes.configMap.items.key", "status.conditions.type",
	"status.conditions.lastTransitionTime", "status.podIPs",
	"spec.securityContext.supplementalGroups", "spec.hostNetwork", "controller.uid", "owners.name",
}

func addSeeds(f *testing.F) {
	raw := marshal(f, testpod.New(1))
	f.Add(raw, raw)
	f.Add(raw[:len(raw)/2], raw)
	f.Add(raw[:100], raw[:101])
	f.Add([]byte{0x0a, 0x80, 0x80, 0x00}, []byte{0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f})
	f.Add([]byte{0x12, 0x02, 0x0a, 0x00, 0x0a, 0x00}, []byte{0x0b})
}

func FuzzProjectingTwiceIsProjectingOnce(f *testing.F) {
	addSeeds(f)
	m := mustFor(f, "", "v1", "pods").Message
	mask, err := m.Mask(fuzzed...)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, raw, _ []byte) {
		for _, k := range []*Mask{mask, m.Whole()} {
			before := bytes.Clone(raw)
			once, err := k.Project([]byte("x"), raw)
			if !bytes.Equal(raw, before) {
				t.Fatal("the object was written to")
			}
			if err != nil {
				continue
			}
			if len(once) > len(raw)+1 || once[0] != 'x' {
				t.Fatalf("%d bytes became %d", len(raw), len(once)-1)
			}
			twice, err := k.Project(nil, once[1:])
			if err != nil || !bytes.Equal(twice, once[1:]) {
				t.Fatalf("%x became %x, then %x (%v)", raw, once[1:], twice, err)
			}
		}
	})
}

func FuzzWhatDiffersIsFoundOrAnError(f *testing.F) {
	addSeeds(f)
	m := mustFor(f, "", "v1", "pods").Message
	leaves, err := m.Leaves(fuzzed)
	if err != nil {
		f.Fatal(err)
	}

	var masks []*Mask
	var paths []*Path
	for _, p := range fuzzed {
		k, err := m.Mask(p)
		if err != nil {
			f.Fatal(err)
		}
		if k, err = k.Without("metadata.resourceVersion"); err != nil {
			f.Fatal(err)
		}
		path, err := m.Path(p)
		if err != nil {
			f.Fatal(err)
		}
		masks, paths = append(masks, k), append(paths, path)
	}

	f.Fuzz(func(t *testing.T, old, now []byte) {
		var bits Bits
		err := leaves.Changed(old, now, &bits)
		for i, k := range masks {
			paths[i].Values(nil, old)
			paths[i].Raw(nil, now)
			if err != nil {
				continue
			}
			x, errX := k.Project(nil, old)
			y, errY := k.Project(nil, now)
			if errX == nil && errY == nil && !bytes.Equal(x, y) && !bits.Has(i) {
				t.Fatalf("%s differs and wasn't found: %x, %x", fuzzed[i], x, y)
			}
		}
	})
}
