package report

import (
	"bytes"
	"fmt"
	"html"
	"math"
)

// bar is a ratio by name.
type bar struct {
	name  string
	ratio float64
}

// point is a measurement beside a number of pods; both are above 0.
type point struct{ x, y float64 }

type line struct {
	name   string
	points []point
}

// The colours tell better from worse, and one manager from the other, to people who don't see red and green apart too.
const (
	better, worse = "#2b7bba", "#d95f02"
	nativeColour  = "#7f7f7f"
	gridColour    = "#d9d9d9"
)

const head = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %[1]d %[2]d" width="%[1]d" height="%[2]d" font-family="sans-serif" font-size="12">
<rect width="100%%" height="100%%" fill="white"/>
<text x="10" y="20" font-size="14">%[3]s</text>
`

// drawRatios draws a bar for each ratio, with a line at 1.
func drawRatios(title string, bars []bar) []byte {
	const left, width, step, top = 130, 420, 22, 36
	most := 1.25
	for _, b := range bars {
		if !math.IsInf(b.ratio, 0) && !math.IsNaN(b.ratio) {
			most = max(most, b.ratio)
		}
	}

	x := func(r float64) float64 { return left + r/most*width }
	height := top + step*len(bars) + 24
	var b bytes.Buffer
	fmt.Fprintf(&b, head, left+width+60, height, html.EscapeString(title))

	for i, v := range bars {
		y := top + step*i
		colour := better
		if v.ratio > 1 {
			colour = worse
		}
		fmt.Fprintf(&b, `<text x="%d" y="%d" text-anchor="end">%s</text>`+"\n", left-8, y+14, html.EscapeString(v.name))
		if !math.IsInf(v.ratio, 0) && !math.IsNaN(v.ratio) {
			fmt.Fprintf(&b, `<rect x="%d" y="%d" width="%.1f" height="%d" fill="%s"/><text x="%.1f" y="%d">%.2f</text>`+"\n",
				left, y+2, x(v.ratio)-left, step-6, colour, x(v.ratio)+5, y+14, v.ratio)
		}
	}

	fmt.Fprintf(&b, `<line x1="%[1]d" x2="%[1]d" y1="%[2]d" y2="%[3]d" stroke="black"/>`+"\n", left, top, height-20)
	fmt.Fprintf(&b, `<line x1="%.1[1]f" x2="%.1[1]f" y1="%[2]d" y2="%[3]d" stroke="black" stroke-dasharray="4 3"/><text x="%.1[1]f" y="%[4]d" text-anchor="middle">1</text>`+"\n</svg>\n", x(1), top, height-20, height-6)
	return b.Bytes()
}

// drawCurves draws lines over logarithmic axes; name is the figure whose unit the upright one has.
func drawCurves(title, name string, lines []line) []byte {
	const left, width, top, tall = 90, 420, 40, 240
	low, high := point{math.Inf(1), math.Inf(1)}, point{}
	for _, l := range lines {
		for _, p := range l.points {
			low = point{min(low.x, p.x), min(low.y, p.y)}
			high = point{max(high.x, p.x), max(high.y, p.y)}
		}
	}

	from, to := math.Floor(math.Log10(low.y)), math.Ceil(math.Log10(high.y))
	if to <= from {
		to = from + 1
	}
	span := max(math.Log10(high.x/low.x), 1e-9)
	x := func(v float64) float64 { return left + math.Log10(v/low.x)/span*width }
	y := func(v float64) float64 { return top + (to-math.Log10(v))/(to-from)*tall }
	var b bytes.Buffer
	fmt.Fprintf(&b, head, left+width+90, top+tall+40, html.EscapeString(title))

	for e := from; e <= to; e++ {
		v := math.Pow(10, e)
		fmt.Fprintf(&b, `<line x1="%d" x2="%d" y1="%.1[3]f" y2="%.1[3]f" stroke="%[4]s"/><text x="%[5]d" y="%.1[6]f" text-anchor="end">%[7]s</text>`+"\n", left, left+width, y(v), gridColour, left-6, y(v)+4, formatValue(name, v))
	}

	for i, l := range lines {
		colour := nativeColour
		if i > 0 {
			colour = better
		}
		fmt.Fprintf(&b, `<polyline fill="none" stroke="%s" stroke-width="2" points="`, colour)
		for _, p := range l.points {
			fmt.Fprintf(&b, "%.1f,%.1f ", x(p.x), y(p.y))
		}
		fmt.Fprint(&b, "\"/>\n")
		for _, p := range l.points {
			fmt.Fprintf(&b, `<circle cx="%.1f" cy="%.1f" r="3" fill="%s"><title>%s</title></circle>`+"\n", x(p.x), y(p.y),
				colour, formatValue(name, p.y))
			if i == 0 {
				fmt.Fprintf(&b, `<text x="%.1f" y="%d" text-anchor="middle">%.0f</text>`+"\n", x(p.x), top+tall+18, p.x)
			}
		}
		if n := len(l.points); n > 0 {
			fmt.Fprintf(&b, `<text x="%.1f" y="%.1f" fill="%s">%s</text>`+"\n", x(l.points[n-1].x)+8, y(l.points[n-1].y)+4,
				colour, html.EscapeString(l.name))
		}
	}

	fmt.Fprint(&b, "</svg>\n")
	return b.Bytes()
}
