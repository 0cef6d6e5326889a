package wire

import "unsafe"

// Entry is one entry of a Map.
type Entry[K ~string, V any] struct {
	Key   K
	Value V
}

// Dict is a map as a slice, so that it decodes without hashing. Its zero value is empty; a key is in it at most once.
type Dict[K ~string, V any] []Entry[K, V]

// KV is an entry of a StringMap.
type KV = Entry[string, string]

// StringMap is a Dict of text, such as labels.
type StringMap = Dict[string, string]

// Get returns the value of a key, zero where there is none.
func (m Dict[K, V]) Get(k K) V {
	v, _ := m.Lookup(k)
	return v
}

// Lookup returns the value of a key, and whether there is one.
func (m Dict[K, V]) Lookup(k K) (v V, ok bool) {
	if p := m.At(k); p != nil {
		return *p, true
	}
	return v, false
}

// Has reports whether there is the key.
func (m Dict[K, V]) Has(k K) bool { return m.At(k) != nil }

// At returns the place of a key's value, nil where there is none. It holds until the next Set or Delete.
func (m Dict[K, V]) At(k K) *V {
	for i := range m {
		if Same(string(m[i].Key), string(k)) {
			return &m[i].Value
		}
	}
	return nil
}

// Set sets the value of a key.
func (m *Dict[K, V]) Set(k K, v V) {
	if p := m.At(k); p != nil {
		*p = v
		return
	}
	*m = append(*m, Entry[K, V]{k, v})
}

// Delete removes a key.
func (m *Dict[K, V]) Delete(k K) {
	for i := range *m {
		if (*m)[i].Key == k {
			*m = append((*m)[:i:i], (*m)[i+1:]...)
			return
		}
	}
}

// Clone returns a copy with entries of its own; what their values point to is shared.
func (m Dict[K, V]) Clone() Dict[K, V] { return append(Dict[K, V](nil), m...) }

// EqualMaps reports whether two maps hold the same, in whatever order.
func EqualMaps[K ~string, V comparable](a, b Dict[K, V]) bool {
	return len(a) == len(b) && HoldsAll(a, b)
}

// HoldsAll reports whether a map has all entries of another one. Where both are in the same order, as the API server
// writes them, it takes one walk through them, however long they are.
func HoldsAll[K ~string, V comparable](all, some Dict[K, V]) bool {
	at := 0
	for i := range some {
		if at = all.indexFrom(some[i].Key, at); at < 0 || all[at].Value != some[i].Value {
			return false
		}
	}
	return true
}

// indexFrom returns the index of a key, which is looked for from an index on and then before that; -1: there is none.
func (m Dict[K, V]) indexFrom(k K, from int) int {
	for n := range m {
		i := from + n
		if i >= len(m) {
			i -= len(m)
		}
		if Same(string(m[i].Key), string(k)) {
			return i
		}
	}
	return -1
}

// StringEntry is the table of an entry of a StringMap.
var StringEntry = Type{Size: unsafe.Sizeof(KV{}), New: Grow[KV], Fields: []Field{
	{Num: 1, Kind: String, Keep: true},
	{Num: 2, Kind: String, Keep: true, Offset: unsafe.Offsetof(KV{}.Value)},
}}

// mapOrder returns the order of the keys, nil where the entries have it already.
func mapOrder(h *slice, t *Type) []int32 {
	key := func(i int32) string { return *(*string)(h.at(int(i), t)) }
	sorted := true
	for i := int32(1); int(i) < h.len; i++ {
		if key(i-1) > key(i) {
			sorted = false
			break
		}
	}

	if sorted {
		return nil
	}
	order := make([]int32, h.len)
	for i := range order {
		order[i] = int32(i)
	}

	less := func(a, b int32) bool {
		x, y := key(a), key(b)
		return x < y || x == y && a < b
	}
	for root := len(order)/2 - 1; root >= 0; root-- {
		siftDown(order, root, less)
	}

	for end := len(order) - 1; end > 0; end-- {
		order[0], order[end] = order[end], order[0]
		siftDown(order[:end], 0, less)
	}
	return order
}

// siftDown is the step of a heap sort; sort.Slice would bring reflection along.
func siftDown(l []int32, root int, less func(a, b int32) bool) {
	for {
		c := 2*root + 1
		if c >= len(l) {
			return
		}
		if c+1 < len(l) && less(l[c], l[c+1]) {
			c++
		}
		if !less(l[root], l[c]) {
			return
		}
		l[root], l[c] = l[c], l[root]
		root = c
	}
}

// sortMaps puts the maps of a struct in order; of entries with the same key the last one stays.
func sortMaps(p unsafe.Pointer, t *Type) {
	for i := range t.Fields {
		f := &t.Fields[i]
		if f.Kind != Map|Message {
			continue
		}
		h, et := (*slice)(unsafe.Add(p, f.Offset)), f.elem(t)
		order := mapOrder(h, et)
		if order == nil {
			order = make([]int32, h.len)
			for i := range order {
				order[i] = int32(i)
			}
		}
		to := slice{ptr: et.New(nil, 0, h.len), cap: h.len}
		for i, from := range order {
			q := h.at(int(from), et)
			if i+1 < len(order) && *(*string)(q) == *(*string)(h.at(int(order[i+1]), et)) {
				continue
			}
			cloneInto(to.at(to.len, et), q, et, true)
			to.len++
		}
		*h = to
	}
}
