package main

import (
	"fmt"
	"io"
	"log"
	"os"
	"slices"
	"strings"
)

// A panel has two strips over the same seconds: above, what was admitted in the window
// up to each instant, with the limit; below, bars of what was offered and admitted.
// Paths are drawn in units, y upwards, and scaled in place, so that the numbers in the
// file are those of the simulation.

// Sizes in pixels, except as noted.
const (
	left, top  = 208, 140 // of the first panel's upper strip
	perSecond  = 8
	panelWide  = lengthMs / 1000 * perSecond
	panelStep  = panelWide + 30
	rowStep    = 188
	windowTall = 88 // 220 units
	barsTop    = windowTall + 10
	barsTall   = 45 // 45 requests
	columnMs   = 1000 / perSecond
	barMs      = 500
	barWide    = perSecond * barMs / 1000
	width      = left + 2*panelStep + panelWide + 24
	axisTop    = barsTop + barsTall
	limitTall  = int(limit) * 4 / 10 // .4 pixels a unit: see writePanel
)

const head = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %[1]d %[2]d" ` +
	`width="%[1]d" height="%[2]d" role="img" aria-labelledby="t d">
<title id="t">Admitted against offered traffic</title>
<desc id="d">%[3]s</desc>
<style>
text{font:14px system-ui,-apple-system,"Segoe UI","DejaVu Sans",sans-serif;fill:#1f2328}
.b{font-weight:600;font-size:16px}.s{fill:#59636e}.r{text-anchor:end}.m{text-anchor:middle}
.paper{fill:#fff}.offered{fill:#c3c9d0}.admitted{fill:#2b6cb0}.window{fill:#8fb8e0}.over{fill:#d1442a}
text.over{font-weight:600}
.grid{stroke:#d8dee4}.base{stroke:#8c959f}.limit{stroke:#1f2328;stroke-width:1.5;stroke-dasharray:5 3}
@media (prefers-color-scheme:dark){
text{fill:#e6edf3}.s{fill:#9aa4af}
.paper{fill:#0d1117}.offered{fill:#66707b}.admitted{fill:#6cb2ff}.window{fill:#2d5f94}.over{fill:#ff7a66}
.grid{stroke:#2b323a}.base{stroke:#767f89}.limit{stroke:#e6edf3}
}
</style>
<defs><clipPath id="beyond"><path d="M0 %[4]dH%[1]dV999H0z"/></clipPath></defs>
<rect class="paper" width="%[1]d" height="%[2]d"/>
`

func main() {
	if err := draw(os.Stdout); err != nil {
		log.Fatal("picture: ", err)
	}
}

// draw draws the picture.
func draw(w io.Writer) error {
	var out, desc strings.Builder
	fmt.Fprintf(&desc,
		"The limit is %d in %d s. Admitted in the worst window under Poisson, bursty and edge-of-window "+
			"load:", limit, windowMs/1000)
	offered := make([][]int64, len(traffics))
	for column, load := range traffics {
		offered[column] = load.offer()
		writeColumnHead(&out, column, load, offered[column])
	}
	for row, kind := range algorithms {
		y := top + row*rowStep
		writeText(&out, "b", 24, y+13, kind.name)
		writeText(&out, "s", 24, y+32, kind.about)
		writeText(&out, "s r", left-8, y+windowTall+4, "0")
		writeText(&out, "s r", left-8, y+windowTall-limitTall+5, fmt.Sprint(limit))
		writeText(&out, "s r", left-8, y+windowTall-2*limitTall+5, fmt.Sprint(2*limit))
		fmt.Fprintf(&desc, " %s:", kind.name)
		for column := range traffics {
			passed := admitted(offered[column], kind.fresh())
			worst := slices.Max(inWindow(passed))
			fmt.Fprintf(&desc, " %d", worst)
			writePanel(&out, row, column, passed, worst, total(offered[column]))
		}
		desc.WriteString(";")
	}
	bottom := top + (len(algorithms)-1)*rowStep + axisTop
	for column := range traffics {
		x := left + column*panelStep
		writeText(&out, "s", x-4, bottom+20, "0")
		for s := 10; s < lengthMs/1000; s += 10 {
			writeText(&out, "s m", x+s*perSecond, bottom+20, fmt.Sprintf("%d s", s))
		}
		writeText(&out, "s r", x+panelWide, bottom+20, fmt.Sprintf("%d s", lengthMs/1000))
	}
	_, err := fmt.Fprintf(w, head, width, bottom+36, strings.TrimSuffix(desc.String(), ";")+".",
		limit)
	if err == nil {
		writeLegend(w)
		_, err = io.WriteString(w, out.String()+"</svg>\n")
	}
	return err
}

// writeLegend explains the colours.
func writeLegend(w io.Writer) {
	writeText(w, "b", 24, 32,
		fmt.Sprintf("What a limit of %d in %d s admits", limit, windowMs/1000))
	x := 24
	for _, entry := range []struct {
		class, text string
		wide        int
	}{
		{"window", "admitted in the 10 s up to each instant", 312},
		{"over", "of these, beyond the limit", 222},
		{"", "the limit", 106},
		{"offered", "offered in each half second", 228},
		{"admitted", "of these, admitted", 0},
	} {
		if entry.class == "" {
			fmt.Fprintf(w, `<path class="limit" d="M%d 54h16"/>`+"\n", x)
		} else {
			fmt.Fprintf(w, `<rect class="%s" x="%d" y="48" width="14" height="12"/>`+"\n", entry.class, x)
		}
		writeText(w, "s", x+22, 59, entry.text)
		x += entry.wide
	}
}

// writeColumnHead names a load and defines its bars, which every row shows.
func writeColumnHead(w io.Writer, column int, load traffic, offered []int64) {
	x := left + column*panelStep
	writeText(w, "b", x, 86, load.name)
	writeText(w, "s", x, 104, load.about)
	fmt.Fprintf(w, `<defs><path id="offered%d" d="%s"/></defs>`+"\n", column, steps(sums(offered, barMs)))
}

func writePanel(w io.Writer, row, column int, passed []int64, worst, offered int64) {
	fmt.Fprintf(w, `<g transform="translate(%d %d)">`+"\n", left+column*panelStep, top+row*rowStep)
	class := "s"
	if worst > limit {
		class = "over"
	}
	writeText(w, class, 0, -7, fmt.Sprintf("worst window: %d", worst))
	writeText(w, "s r", panelWide, -7, fmt.Sprintf("%d of %d admitted", total(passed), offered))
	fmt.Fprint(w, `<path class="grid" d="`)
	for s := 0; s <= lengthMs/1000; s += int(windowMs / 1000) {
		fmt.Fprintf(w, "M%d.5 0v%d", s*perSecond, axisTop+5)
	}
	fmt.Fprint(w, `"/>`+"\n")

	id := fmt.Sprintf("window%d%d", row, column)
	fmt.Fprintf(w, `<g transform="translate(0 %d) scale(1 -.4)"><defs><path id="%s" d="%s"/></defs>`,
		windowTall, id, steps(highs(inWindow(passed), columnMs)))
	fmt.Fprintf(w,
		`<use href="#%s" class="window"/><use href="#%s" class="over" clip-path="url(#beyond)"/></g>`+"\n",
		id, id)
	fmt.Fprintf(w,
		`<g transform="translate(0 %d) scale(%d -1)"><use href="#offered%d" class="offered"/><path `+
			`class="admitted" d="%s"/></g>`+"\n",
		axisTop, barWide, column, steps(sums(passed, barMs)))
	fmt.Fprintf(w, `<path class="base" d="M0 %d.5h%dM0 %d.5h%d"/>`+"\n", windowTall, panelWide, axisTop,
		panelWide)
	fmt.Fprintf(w, `<path class="limit" d="M0 %dh%d"/>`+"\n</g>\n", windowTall-limitTall, panelWide)
}

// steps returns the outline of adjacent values, each one wide, from 0 up.
func steps(values []int64) string {
	var out strings.Builder
	out.WriteString("M0 0")
	at := int64(0)
	for from := 0; from < len(values); {
		to := from
		for to < len(values) && values[to] == values[from] {
			to++
		}
		if values[from] != at {
			at = values[from]
			fmt.Fprintf(&out, "V%d", at)
		}
		fmt.Fprintf(&out, "H%d", to)
		from = to
	}
	return out.String() + "V0z"
}

func writeText(w io.Writer, class string, x, y int, text string) {
	fmt.Fprintf(w, `<text class="%s" x="%d" y="%d">%s</text>`+"\n", class, x, y, text)
}
