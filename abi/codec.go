package abi

import (
	"unsafe"

	"github.com/windlass-dev/windlass/abi/wire"
)

// SizeRequest is the number of bytes that AppendRequest will write.
func SizeRequest(r *SyncRequest) int {
	n := sizeInt(uint64(uint32(r.Controller))) + sizeNested(sizeKey(&r.Key)) + sizeInt(uint64(r.Now)) +
		sizeInt(uint64(uint32(r.Attempt))) +
		sizeText(len(r.Settings)) + sizeText(len(r.State)) + sizeInt(uint64(r.Timer))
	for i := range r.Views {
		n += sizeNested(sizeView(&r.Views[i]))
	}
	return n
}

// AppendRequest writes a request; it is written by hand, not by table, because the host writes it straight into guest
// memory and must know its size first.
func AppendRequest(b []byte, r *SyncRequest) []byte {
	b = appendInt(b, 1, uint64(uint32(r.Controller)))
	b = wire.AppendTag(b, 2, wire.WireBytes)
	b = wire.AppendVarint(b, uint64(sizeKey(&r.Key)))
	b = appendText(b, 1, r.Key.Resource)
	b = appendText(b, 2, r.Key.Namespace)
	b = appendText(b, 3, r.Key.Name)
	b = appendInt(b, 3, uint64(r.Now))
	b = appendInt(b, 4, uint64(uint32(r.Attempt)))
	b = appendText(b, 5, r.Settings)

	b = appendBytes(b, 6, r.State)
	for i := range r.Views {
		v := &r.Views[i]
		b = wire.AppendTag(b, 7, wire.WireBytes)
		b = wire.AppendVarint(b, uint64(sizeView(v)))
		b = appendInt(b, 1, uint64(uint32(v.View)))
		b = appendText(b, 2, v.StoreVersion)
		for j := range v.Objects {
			o := &v.Objects[j]
			b = wire.AppendTag(b, 3, wire.WireBytes)
			b = wire.AppendVarint(b, uint64(sizeObject(o)))
			b = appendBytes(b, 1, o.Data)
			b = appendText(b, 2, o.ResourceVersion)
			b = appendText(b, 3, o.Resource)
			b = appendText(b, 4, o.Kind)
			b = appendInt(b, 5, uint64(o.Count))
		}
		b = appendInt(b, 4, uint64(v.Count))
		if v.Guarded {
			b = appendInt(b, 5, 1)
		}
		for _, r := range v.Unlisted {
			b = wire.AppendString(b, 6, r) // an empty one, too: it is an element
		}
		if v.Unserved {
			b = appendInt(b, 7, 1)
		}
	}

	return appendInt(b, 8, uint64(r.Timer))
}

func sizeKey(k *KeyRef) int {
	return sizeText(len(k.Resource)) + sizeText(len(k.Namespace)) + sizeText(len(k.Name))
}

func sizeView(v *ViewData) int {
	n := sizeInt(uint64(uint32(v.View))) + sizeText(len(v.StoreVersion)) + sizeInt(uint64(v.Count))
	if v.Guarded {
		n += 2
	}
	if v.Unserved {
		n += 2
	}
	for i := range v.Objects {
		n += sizeNested(sizeObject(&v.Objects[i]))
	}
	for _, r := range v.Unlisted {
		n += sizeNested(len(r))
	}
	return n
}

func sizeObject(o *ObjectData) int {
	return sizeText(len(o.Data)) + sizeText(len(o.ResourceVersion)) + sizeText(len(o.Resource)) + sizeText(len(o.Kind)) +
		sizeInt(uint64(o.Count))
}

// All field numbers here are below 16: a tag is one byte. Zero values are left out.
func sizeInt(v uint64) int {
	if v == 0 {
		return 0
	}
	return 1 + wire.SizeVarint(v)
}

func sizeText(n int) int {
	if n == 0 {
		return 0
	}
	return sizeNested(n)
}

func sizeNested(n int) int { return 1 + wire.SizeVarint(uint64(n)) + n }

func appendInt(b []byte, num uint32, v uint64) []byte {
	if v == 0 {
		return b
	}
	return wire.AppendVarint(wire.AppendTag(b, num, wire.WireVarint), v)
}

func appendText(b []byte, num uint32, s string) []byte {
	if s == "" {
		return b
	}
	return wire.AppendString(b, num, s)
}

func appendBytes(b []byte, num uint32, s []byte) []byte {
	if len(s) == 0 {
		return b
	}
	return wire.AppendBytes(b, num, s)
}

// DecodeRequest reads a SyncRequest; what it gives points into b.
func DecodeRequest(b []byte, r *SyncRequest) error {
	return wire.Unmarshal(b, unsafe.Pointer(r), &syncRequest)
}

// AppendResponse writes a SyncResponse.
func AppendResponse(b []byte, r *SyncResponse) []byte {
	return wire.Append(b, unsafe.Pointer(r), &syncResponse)
}

// DecodeResponse reads a SyncResponse; what it gives points into b.
func DecodeResponse(b []byte, r *SyncResponse) error {
	return wire.Unmarshal(b, unsafe.Pointer(r), &syncResponse)
}

// AppendPerform writes a PerformRequest.
func AppendPerform(b []byte, r *PerformRequest) []byte {
	return wire.Append(b, unsafe.Pointer(r), &performRequest)
}

// DecodePerform reads a PerformRequest; what it gives points into b.
func DecodePerform(b []byte, r *PerformRequest) error {
	return wire.Unmarshal(b, unsafe.Pointer(r), &performRequest)
}

// AppendPerformed writes a PerformResponse.
func AppendPerformed(b []byte, r *PerformResponse) []byte {
	return wire.Append(b, unsafe.Pointer(r), &performResponse)
}

// DecodePerformed reads a PerformResponse; what it gives points into b.
func DecodePerformed(b []byte, r *PerformResponse) error {
	return wire.Unmarshal(b, unsafe.Pointer(r), &performResponse)
}

// AppendSettings writes Settings.
func AppendSettings(b []byte, s *Settings) []byte {
	for _, v := range s.Values { // an empty value keeps its place
		b = wire.AppendString(b, 1, v)
	}
	return b
}

// DecodeSettings reads Settings; what it gives points into b.
func DecodeSettings(b []byte, s *Settings) error {
	return wire.Unmarshal(b, unsafe.Pointer(s), &settings)
}

// AppendManifest writes a manifest as JSON.
func AppendManifest(b []byte, m *Manifest) []byte {
	return wire.AppendJSON(b, unsafe.Pointer(m), &manifest)
}

func table[T any](fields ...wire.Field) wire.Type {
	var t T
	return wire.Type{Size: unsafe.Sizeof(t), New: wire.Grow[T], Fields: fields}
}
