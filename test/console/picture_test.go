package console

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"maps"
	"os"
	"slices"

	"github.com/chromedp/chromedp"
)

// pictureMax is how large the picture may be, in bytes.
const pictureMax = 150 << 10

// picture writes what is seen, as a PNG of 256 colours.
func picture(x *tab, path string) {
	x.t.Helper()
	x.pressButton("header", "Pause")
	x.runSteps("a higher window", chromedp.EmulateViewport(1360, 1160))

	// whose machine this is is nobody's business
	evaluate[string](x, `document.querySelector("#process dd").textContent = "control-plane-1"`)
	evaluate[bool](x, "scrollTo(0, 0), true")
	b, err := chromedp.Run(x.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		x.t.Fatal(err)
	}

	x.pressButton("header", "Resume")
	x.runSteps("the window as it was", chromedp.EmulateViewport(1360, 900))
	m, err := png.Decode(bytes.NewReader(b))
	if err != nil {
		x.t.Fatal(err)
	}

	var out bytes.Buffer
	e := png.Encoder{CompressionLevel: png.BestCompression}
	if err := e.Encode(&out, paletted(m)); err != nil {
		x.t.Fatal(err)
	}
	if out.Len() > pictureMax {
		x.t.Fatalf("the picture is %d bytes, the limit is %d", out.Len(), pictureMax)
	}
	if err := os.WriteFile(path, out.Bytes(), 0o644); err != nil {
		x.t.Fatal(err)
	}
}

// paletted has 256 colours: of each box of similar ones the most frequent, of the boxes those with most.
func paletted(m image.Image) *image.Paletted {
	type box struct {
		all  int
		best color.RGBA
	}
	r, count, boxes := m.Bounds(), map[color.RGBA]int{}, map[[3]uint8]*box{}

	at := func(x, y int) color.RGBA { return color.RGBAModel.Convert(m.At(x, y)).(color.RGBA) }
	for y := r.Min.Y; y < r.Max.Y; y++ {
		for x := r.Min.X; x < r.Max.X; x++ {
			count[at(x, y)]++
		}
	}

	for c, n := range count {
		id := [3]uint8{c.R >> 4, c.G >> 4, c.B >> 4}
		b := boxes[id]
		if b == nil {
			b = &box{}
			boxes[id] = b
		}
		if b.all += n; n > count[b.best] {
			b.best = c
		}
	}

	var p color.Palette
	for _, b := range slices.SortedFunc(maps.Values(boxes), func(a, b *box) int {
		return b.all - a.all
	})[:min(len(boxes), 256)] {
		p = append(p, b.best)
	}

	out, index := image.NewPaletted(r, p), map[color.RGBA]int{}
	for y := r.Min.Y; y < r.Max.Y; y++ {
		for x := r.Min.X; x < r.Max.X; x++ {
			c := at(x, y)
			i, ok := index[c]
			if !ok {
				i = p.Index(c)
				index[c] = i
			}
			out.SetColorIndex(x, y, uint8(i))
		}
	}

	return out
}
