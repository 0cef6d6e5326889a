package server

import (
	"bytes"
	"cmp"
	"crypto/tls"
	"encoding/pem"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A server leaves its certificate, without the key, in a folder of its user's, so that the same user's commands on the
// same machine can tell that it is the one: they take no other one, whoever has signed it, and send credentials to
// nobody else.

// pinnedMost bounds the number of certificates in the folder that are of no running server: processes that are killed
// leave theirs.
const pinnedMost = 16

// pinnedFile is where the certificate of the server on a port is left.
func pinnedFile(port int) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(cache, "windlass", "serving", strconv.Itoa(port)+".crt"), nil
}

// Pinned returns the certificate, in PEM, of the server of this user's on a port of this machine; the path tells where
// it was looked for.
func Pinned(port int) (certificate []byte, path string, _ error) {
	path, err := pinnedFile(port)
	if err != nil {
		return nil, "", err
	}
	info, err := os.Stat(filepath.Dir(path))
	if err != nil {
		return nil, path, err
	}
	if info.Mode().Perm()&0o077 != 0 {
		return nil, path, fmt.Errorf("%s is accessible to other users: its mode must be 0700", filepath.Dir(path))
	}
	b, err := os.ReadFile(path)
	return b, path, err
}

// pinCertificate leaves the certificate. What it returns takes it away again.
func pinCertificate(port int, c *tls.Certificate) (remove func(), _ error) {
	path, err := pinnedFile(port)
	if err != nil {
		return func() {}, err
	}
	folder := filepath.Dir(path)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return func() {}, err
	}
	pruneCertificates(folder)
	content := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Certificate[0]})
	if err := replace(path, content, 0o600); err != nil {
		return func() {}, err
	}
	return func() {
		if b, err := os.ReadFile(path); err == nil && bytes.Equal(b, content) {
			_ = os.Remove(path)
		}
	}, nil
}

// pruneCertificates removes the oldest certificates, but for those whose servers run.
func pruneCertificates(folder string) {
	entries, err := os.ReadDir(folder)
	if err != nil || len(entries) < pinnedMost {
		return
	}
	age := func(e os.DirEntry) int64 {
		if info, err := e.Info(); err == nil {
			return info.ModTime().UnixNano()
		}
		return 0
	}
	slices.SortFunc(entries, func(a, b os.DirEntry) int { return cmp.Compare(age(a), age(b)) })

	for _, e := range entries[:len(entries)-pinnedMost+1] {
		if !answers(strings.TrimSuffix(e.Name(), ".crt")) {
			_ = os.Remove(filepath.Join(folder, e.Name()))
		}
	}
}

// answers reports whether something listens on a port of this machine.
func answers(port string) bool {
	c, err := net.DialTimeout("tcp", net.JoinHostPort("localhost", port), time.Second)
	if err != nil {
		return false
	}
	_ = c.Close()
	return true
}
