package rewrite

import "strings"

// ManifestSection is the custom section that holds the manifest, for those who want to read it without running the
// module. It is what the module itself gives when it is asked.
const ManifestSection = "windlass.manifest"

// Manifest returns the content of that section, nil where there is none. It looks at nothing else of the module.
func Manifest(wasm []byte) (manifest []byte, err error) {
	err = eachSection(wasm, func(custom string, content, _ []byte) {
		if custom == ManifestSection {
			manifest = content
		}
	})
	return manifest, err
}

// WithManifest returns a module that Parse takes with that section, in place of one that it has.
func WithManifest(wasm, manifest []byte) ([]byte, error) {
	return withCustom(wasm, ManifestSection, func([]byte) []byte { return manifest })
}

// WithShortNames returns a module that Parse takes with a part taken out of all names of functions, such as the path of
// the Go module that they are all from.
func WithShortNames(wasm []byte, part string) ([]byte, error) {
	return withCustom(wasm, nameSection, func(section []byte) []byte {
		n, names := eachFunctionName(section, func(index uint32, name string) (uint32, string) {
			return index, strings.ReplaceAll(name, part, "")
		})
		if names == nil {
			return nil
		}
		return nameSubsection(n, names)
	})
}

// Section is a part of a module.
type Section struct {
	Name string `json:"name"` // of a custom section, or the kind
	Size int    `json:"size"` // bytes, its header included
}

// Sections returns a module's sections in their order.
func Sections(wasm []byte) (all []Section, err error) {
	err = eachSection(wasm, func(custom string, _, section []byte) {
		name := custom
		if id := int(section[0]); id != customSection && id < len(sectionNames) {
			name = sectionNames[id]
		}
		all = append(all, Section{name, len(section)})
	})
	return all, err
}

const headerSize = 8 // the magic number and the version

// withCustom moves a custom section to the module's end, with its content changed; a nil one is left out.
func withCustom(wasm []byte, name string, change func(content []byte) []byte) ([]byte, error) {
	var out, content []byte
	err := eachSection(wasm, func(custom string, old, section []byte) {
		if custom == name {
			content = old
		} else {
			out = append(out, section...)
		}
	})
	if content = change(content); err != nil || content == nil {
		return append(wasm[:headerSize:headerSize], out...), err
	}
	content = append(appendName(nil, name), content...)
	return appendSection(append(wasm[:headerSize:headerSize], out...), customSection, content), nil
}

// eachSection calls f with each section and, of a custom one, its name and content.
func eachSection(wasm []byte, f func(custom string, content, section []byte)) error {
	r := &reader{b: wasm, pos: min(headerSize, len(wasm)), what: "module"}
	for r.hasMore() {
		from := r.pos
		id := r.byte()
		content := r.bytes(r.u32())
		name := ""
		if id == customSection {
			c := &reader{b: content, what: "custom section"}
			name = c.name()
			content = content[min(c.pos, len(content)):]
		}
		if r.err == nil {
			f(name, content, wasm[from:r.pos])
		}
	}
	return r.err
}
