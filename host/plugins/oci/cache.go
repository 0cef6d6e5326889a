package oci

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/windlass-dev/windlass/host/plugins/signature"
)

// cacheMax is how many bytes of modules are kept; what wasn't used for the longest time goes first.
const cacheMax = 512 << 20

// Cache keeps modules and their signatures in a folder of ours alone, so that a start needs no registry. What is read
// from it is compared with its digest, and verified, as if it came from the network. A nil Cache keeps nothing.
type Cache struct {
	folder string
	max    int64
}

// OpenCache makes the folder if it isn't there. One that others may write to is refused.
func OpenCache(folder string) (*Cache, error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, fmt.Errorf("cache of modules: %w", err)
	}
	info, err := os.Stat(folder)
	if err != nil {
		return nil, fmt.Errorf("cache of modules: %w", err)
	}
	if !info.IsDir() || info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("cache of modules: %s is accessible to other users (%s): chmod 700 it, or name another folder",
			folder, info.Mode())
	}
	return &Cache{folder, cacheMax}, nil
}

// cachedModule returns a module whose signature is sound, nil if the cache doesn't have all of it.
func (c *Cache) cachedModule(r Reference, keys []signature.Key) *Module {
	manifest := c.manifest(r)
	if manifest == nil || c.verifySignatures(r, keys) != nil {
		return nil
	}
	layer, err := moduleLayer(r, manifest)
	if err != nil {
		return nil
	}
	wasm := c.readBlob(layer.Digest.String(), moduleMax)
	if wasm == nil {
		return nil
	}
	return &Module{Reference: r, Digest: layer.Digest.String(), Wasm: wasm, manifest: manifest}
}

// manifest returns the manifest of a reference, nil if it isn't there.
func (c *Cache) manifest(r Reference) []byte {
	if c == nil {
		return nil
	}
	return c.readBlob(r.Digest, manifestMax)
}

var errNotThere = errors.New("not in the cache")

// verifySignatures looks at the signatures that are kept.
func (c *Cache) verifySignatures(r Reference, keys []signature.Key) error {
	if len(keys) == 0 {
		return nil
	}
	if c == nil {
		return errNotThere
	}
	b, err := readAtMost(c.signatures(r), signaturesMax*2*payloadMax)
	if err != nil {
		return err
	}
	var all []Signature
	if err := json.Unmarshal(b, &all); err != nil {
		return err
	}
	err = Verify(r, all, keys)
	touchFile(c.signatures(r))
	return err
}

// touchFile keeps a file from being the next that goes.
func touchFile(path string) {
	now := time.Now()
	_ = os.Chtimes(path, now, now)
}

func (c *Cache) blobPath(digest string) string {
	return filepath.Join(c.folder, strings.Replace(digest, ":", "-", 1))
}

// signatures is the file of a reference's signatures; they are for one repository.
func (c *Cache) signatures(r Reference) string {
	sum := sha256.Sum256([]byte(r.String()))
	return filepath.Join(c.folder, "signatures-"+hex.EncodeToString(sum[:])+".json")
}

// readBlob returns what the digest names, nil if it isn't there. What isn't what it is called is removed.
func (c *Cache) readBlob(digest string, most int64) []byte {
	path := c.blobPath(digest)
	b, err := readAtMost(path, most)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil || digestOf(b) != digest {
		_ = os.Remove(path)
		return nil
	}
	touchFile(path)
	return b
}

// keepModule writes a module and its signatures.
func (c *Cache) keepModule(m *Module, all []Signature) error {
	if c == nil {
		return nil
	}
	files := map[string][]byte{c.blobPath(m.Reference.Digest): m.manifest, c.blobPath(m.Digest): m.Wasm}
	if len(all) > 0 {
		b, err := json.Marshal(all)
		if err != nil {
			return err
		}
		files[c.signatures(m.Reference)] = b
	}
	for path, b := range files {
		if err := replaceFile(path, b); err != nil {
			return fmt.Errorf("cache of modules: %w", err)
		}
	}
	c.pruneOldest()
	return nil
}

// replaceFile replaces a file as a whole.
func replaceFile(path string, b []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".new-")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(b)
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// pruneOldest removes what wasn't used for the longest time until the rest is small enough. It doesn't matter whether
// it succeeds.
func (c *Cache) pruneOldest() {
	entries, err := os.ReadDir(c.folder)
	if err != nil {
		return
	}
	var files []fs.FileInfo
	var size int64
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			files = append(files, info)
			size += info.Size()
		}
	}
	slices.SortFunc(files, func(a, b fs.FileInfo) int { return a.ModTime().Compare(b.ModTime()) })
	for _, f := range files {
		if size <= c.max {
			return
		}
		size -= f.Size()
		_ = os.Remove(filepath.Join(c.folder, f.Name()))
	}
}

func readAtMost(path string, most int64) ([]byte, error) {
	info, err := os.Lstat(path) // nothing here is a link or a pipe
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > most {
		return nil, fmt.Errorf("%s: isn't a file of at most %d bytes", path, most)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, most+1))
}
