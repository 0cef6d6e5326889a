package wire

// String returns t in RFC 3339 in UTC, with a fraction where there is one; empty when unset.
func (t Time) String() string {
	if t.IsZero() {
		return ""
	}
	return unsafeString(t.append(nil, t.nanos != 0))
}

// Parse reads RFC 3339, with or without a fraction of a second.
func Parse(s string) (Time, error) {
	t, ok := parseTime(s)
	if !ok {
		return Time{}, ErrTime
	}
	return t, nil
}

// append writes t in RFC 3339, with microseconds where told to. time.Format would bring the world's time zones' code
// along.
func (t Time) append(b []byte, micros bool) []byte {
	days, second := t.seconds/86400, int(t.seconds%86400)
	if second < 0 {
		days--
		second += 86400
	}
	year, month, day := dateOfDays(days)
	b = append(appendDigits(b, year, 4), '-')
	b = append(appendDigits(b, month, 2), '-')
	b = append(appendDigits(b, day, 2), 'T')
	b = append(appendDigits(b, second/3600, 2), ':')
	b = append(appendDigits(b, second/60%60, 2), ':')
	b = appendDigits(b, second%60, 2)
	if micros {
		b = appendDigits(append(b, '.'), int(t.nanos/1000), 6)
	}
	return append(b, 'Z')
}

func appendDigits(b []byte, n, width int) []byte {
	for p := 1; width > 0; width-- {
		p = 1
		for range width - 1 {
			p *= 10
		}
		b = append(b, byte('0'+n/p%10))
	}
	return b
}

// dateOfDays turns days since the first of January of the year 1 into a date: whole cycles of 400, 100, 4 and 1 years
// first, years starting in March.
func dateOfDays(days int64) (year, month, day int) {
	d := days + 306 // since the first of March of the year 0
	cycles := d / 146097
	if d %= 146097; d < 0 {
		d += 146097
		cycles--
	}
	y := (d - d/1460 + d/36524 - d/146096) / 365
	d -= 365*y + y/4 - y/100
	m := (5*d + 2) / 153
	day = int(d-(153*m+2)/5) + 1
	year = int(cycles*400 + y)
	if m < 10 {
		return year, int(m) + 3, day
	}
	return year + 1, int(m) - 9, day
}

// daysBefore is dateOfDays the other way round.
func daysBefore(year, month, day int) int64 {
	if month < 3 {
		year--
		month += 12
	}
	y := int64(year) + 400 // a cycle more, so that the divisions of the year 0 don't round upwards
	return y*365 + y/4 - y/100 + y/400 + int64(153*(month-3)+2)/5 + int64(day) - 1 - 306 - 146097
}

func parseTime(s string) (t Time, ok bool) {
	const layout = "dddd-dd-ddTdd:dd:dd"
	if len(s) < len(layout)+1 {
		return t, false
	}

	var n [6]int
	k := 0
	for i := range len(layout) {
		c := s[i]
		switch {
		case layout[i] != 'd':
			if c != layout[i] {
				return t, false
			}
			k++
		case c < '0' || c > '9':
			return t, false
		default:
			n[k] = n[k]*10 + int(c-'0')
		}
	}

	if n[1] < 1 || n[1] > 12 || n[2] < 1 || n[2] > monthDays(n[0], n[1]) || n[3] > 23 || n[4] > 59 || n[5] > 59 {
		return t, false
	}
	t.seconds = daysBefore(n[0], n[1], n[2])*86400 + int64(n[3]*3600+n[4]*60+n[5])
	s = s[len(layout):]
	if s[0] == '.' || s[0] == ',' {
		s = s[1:]
		i, unit := 0, int32(1e8)
		for ; i < len(s) && s[i] >= '0' && s[i] <= '9'; i++ {
			t.nanos += int32(s[i]-'0') * unit
			unit /= 10
		}
		if i == 0 {
			return t, false
		}
		s = s[i:]
	}

	if s == "Z" {
		return t, true
	}
	if len(s) != 6 || s[3] != ':' || (s[0] != '+' && s[0] != '-') {
		return t, false
	}

	var z [6]int
	for _, i := range []int{1, 2, 4, 5} {
		if s[i] < '0' || s[i] > '9' {
			return t, false
		}
		z[i] = int(s[i] - '0')
	}

	h, m := z[1]*10+z[2], z[4]*10+z[5]
	if h > 24 || m > 60 {
		return t, false
	}

	zone := int64(h*3600 + m*60)
	if s[0] == '-' {
		zone = -zone
	}
	t.seconds -= zone
	return t, true
}

func monthDays(year, month int) int {
	switch month {
	case 2:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	case 4, 6, 9, 11:
		return 30
	}
	return 31
}
