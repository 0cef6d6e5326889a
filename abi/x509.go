package abi

import (
	"unsafe"

	"github.com/windlass-dev/windlass/abi/wire"
)

// X509 is what the helper x509 gives: what a certificate, or a request for one, says of itself.
type X509 struct {
	Subject        X509Name
	DNSNames       []string
	EmailAddresses []string
	IPAddresses    []string // such as 10.0.0.1 or fd00::1
	URIs           []string
	// Usages are what the key may be used for, in the order of the extensions, as Kubernetes names them: "digital
	// signature", "client auth". One that it has no name for is there as its number, such as 1.3.6.1.5.5.7.3.99.
	Usages []string
	// KeyAlgorithm is RSA, ECDSA, Ed25519 or what else Go knows, KeyBits the size of an RSA or ECDSA key.
	KeyAlgorithm string
	KeyBits      int32
	Extensions   []X509Extension

	// Of a certificate alone: by whom it is, and from when until when it is good, in seconds since 1970.
	Issuer    X509Name
	NotBefore int64
	NotAfter  int64
	CA        bool
}

// X509Name is a distinguished name.
type X509Name struct {
	CommonName         string
	Organization       []string
	OrganizationalUnit []string
	Country            []string
	Province           []string
	Locality           []string
	SerialNumber       string
}

// X509Extension is an extension as it stands there.
type X509Extension struct {
	ID       string // such as 2.5.29.17
	Critical bool
	Value    []byte // DER
}

// AppendX509 writes an X509.
func AppendX509(b []byte, x *X509) []byte { return wire.Append(b, unsafe.Pointer(x), &x509) }

// DecodeX509 reads an X509; what it gives points into b.
func DecodeX509(b []byte, x *X509) error { return wire.Unmarshal(b, unsafe.Pointer(x), &x509) }

var x509Name = table[X509Name](
	field(1, wire.String, unsafe.Offsetof(X509Name{}.CommonName), nil),
	field(2, wire.Rep|wire.String, unsafe.Offsetof(X509Name{}.Organization), nil),
	field(3, wire.Rep|wire.String, unsafe.Offsetof(X509Name{}.OrganizationalUnit), nil),
	field(4, wire.Rep|wire.String, unsafe.Offsetof(X509Name{}.Country), nil),
	field(5, wire.Rep|wire.String, unsafe.Offsetof(X509Name{}.Province), nil),
	field(6, wire.Rep|wire.String, unsafe.Offsetof(X509Name{}.Locality), nil),
	field(7, wire.String, unsafe.Offsetof(X509Name{}.SerialNumber), nil))

var x509Extension = table[X509Extension](
	field(1, wire.String, unsafe.Offsetof(X509Extension{}.ID), nil),
	field(2, wire.Bool, unsafe.Offsetof(X509Extension{}.Critical), nil),
	field(3, wire.Bytes, unsafe.Offsetof(X509Extension{}.Value), nil))

var x509 = table[X509](
	field(1, wire.Message, unsafe.Offsetof(X509{}.Subject), &x509Name),
	field(2, wire.Rep|wire.String, unsafe.Offsetof(X509{}.DNSNames), nil),
	field(3, wire.Rep|wire.String, unsafe.Offsetof(X509{}.EmailAddresses), nil),
	field(4, wire.Rep|wire.String, unsafe.Offsetof(X509{}.IPAddresses), nil),
	field(5, wire.Rep|wire.String, unsafe.Offsetof(X509{}.URIs), nil),
	field(6, wire.Rep|wire.String, unsafe.Offsetof(X509{}.Usages), nil),
	field(7, wire.String, unsafe.Offsetof(X509{}.KeyAlgorithm), nil),
	field(8, wire.Int32, unsafe.Offsetof(X509{}.KeyBits), nil),
	field(9, wire.Rep|wire.Message, unsafe.Offsetof(X509{}.Extensions), &x509Extension),
	field(10, wire.Message, unsafe.Offsetof(X509{}.Issuer), &x509Name),
	field(11, wire.Int64, unsafe.Offsetof(X509{}.NotBefore), nil),
	field(12, wire.Int64, unsafe.Offsetof(X509{}.NotAfter), nil),
	field(13, wire.Bool, unsafe.Offsetof(X509{}.CA), nil))
