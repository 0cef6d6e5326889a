package endpoint

// IsIPv6 reports whether a canonical address is of the sixth version of the protocol.
func IsIPv6(address string) bool {
	for i := range len(address) {
		if address[i] == ':' {
			return true
		}
	}
	return false
}

// Canonical is the address as everyone else writes it (RFC 5952; an IPv4 address in IPv6 form is an IPv4 address),
// empty where it is none. Leading zeros in an IPv4 address are decimal, as the API server took them for long.
func Canonical(address string) string {
	if canonicalIPv4(address) {
		return address
	}
	var ip [16]byte
	if !IsIPv6(address) {
		if !parseIPv4(ip[12:], address) {
			return ""
		}
		return string(appendIPv4(nil, ip[12:]))
	}
	if !parseIPv6(&ip, address) {
		return ""
	}
	for i, b := range ip[:12] {
		if want := byte(0); b != want && (i < 10 || b != 0xff) {
			return reuseIfEqual(address, appendIPv6(make([]byte, 0, 39), &ip))
		}
	}
	if ip[10] == 0xff && ip[11] == 0xff {
		return string(appendIPv4(nil, ip[12:]))
	}
	return reuseIfEqual(address, appendIPv6(make([]byte, 0, 39), &ip))
}

// reuseIfEqual returns the address itself where nothing changed, which saves the copy.
func reuseIfEqual(address string, canonical []byte) string {
	if string(canonical) == address {
		return address
	}
	return string(canonical)
}

// canonicalIPv4 reports of an IPv4 address whether it is written as usual, at one glance.
func canonicalIPv4(s string) bool {
	n, digits, dots := 0, 0, 0
	for i := range len(s) {
		switch c := s[i]; {
		case c == '.':
			if digits == 0 {
				return false
			}
			dots++
			n, digits = 0, 0
		case c < '0' || c > '9' || digits > 0 && n == 0:
			return false
		default:
			n = 10*n + int(c-'0')
			if digits++; n > 255 {
				return false
			}
		}
	}
	return dots == 3 && digits > 0
}

func parseIPv4(to []byte, s string) bool {
	for i := range 4 {
		n, k := 0, 0
		for k < len(s) && s[k] >= '0' && s[k] <= '9' && n <= 255 {
			n = 10*n + int(s[k]-'0')
			k++
		}
		if k == 0 || n > 255 {
			return false
		}
		to[i] = byte(n)
		if s = s[k:]; i < 3 {
			if s == "" || s[0] != '.' {
				return false
			}
			s = s[1:]
		}
	}
	return s == ""
}

// parseIPv6 reads groups of hexadecimal digits, one run of which may be left out, with an IPv4 address in place of the
// last two.
func parseIPv6(to *[16]byte, s string) bool {
	at, gap := 0, -1
	if len(s) >= 2 && s[:2] == "::" {
		gap, s = 0, s[2:]
	}

	for s != "" {
		if at == 16 {
			return false
		}
		n, k := 0, 0
		for k < len(s) && hexDigit(s[k]) >= 0 && k < 4 {
			n = n<<4 | hexDigit(s[k])
			k++
		}
		if k == 0 {
			return false
		}
		if k < len(s) && s[k] == '.' {
			if at > 12 || !parseIPv4(to[at:at+4], s) {
				return false
			}
			at, s = at+4, ""
			break
		}

		to[at], to[at+1] = byte(n>>8), byte(n)
		at += 2
		if s = s[k:]; s == "" {
			break
		}
		if s[0] != ':' || len(s) == 1 {
			return false
		}

		if s = s[1:]; s[0] == ':' {
			if gap >= 0 {
				return false
			}
			gap, s = at, s[1:]
		}
	}

	if gap < 0 {
		return at == 16
	}
	if at == 16 {
		return false
	}

	copy(to[16-(at-gap):], to[gap:at])
	clear(to[gap : 16-(at-gap)])
	return true
}

func hexDigit(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}

func appendIPv4(b, ip []byte) []byte {
	for i, n := range ip[:4] {
		if i > 0 {
			b = append(b, '.')
		}
		if n >= 100 {
			b = append(b, '0'+n/100)
		}
		if n >= 10 {
			b = append(b, '0'+n/10%10)
		}
		b = append(b, '0'+n%10)
	}
	return b
}

// appendIPv6 leaves out the first of the longest runs of two and more zero groups.
func appendIPv6(b []byte, ip *[16]byte) []byte {
	zero, zeros := -1, 1
	for i := 0; i < 8; i++ {
		n := 0
		for i+n < 8 && ip[2*(i+n)] == 0 && ip[2*(i+n)+1] == 0 {
			n++
		}
		if n > zeros {
			zero, zeros = i, n
		}
		i += n
	}
	for i := 0; i < 8; i++ {
		if i == zero {
			b = append(b, ':', ':')
			if i += zeros; i == 8 {
				break
			}
		} else if i > 0 {
			b = append(b, ':')
		}
		b = appendHex(b, uint(ip[2*i])<<8|uint(ip[2*i+1]))
	}
	return b
}

func appendHex(b []byte, n uint) []byte {
	const digits = "0123456789abcdef"
	for shift := 12; shift >= 0; shift -= 4 {
		if d := n >> shift; d > 0 || shift == 0 {
			b = append(b, digits[d&15])
		}
	}
	return b
}
