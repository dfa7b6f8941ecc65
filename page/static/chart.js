// Charts: the last five minutes of a few series, as SVG.

const span = 300; // seconds

// roundTop returns a round number that is not below n; for bytes, a power of two.
function roundTop(n, format) {
  if (n <= 1) return 1;
  if (format === bytes) return 2 ** Math.ceil(Math.log2(n));
  const power = 10 ** Math.floor(Math.log10(n));
  return [1, 2, 5, 10].map((m) => m * power).find((top) => top >= n);
}

// A Chart shows series over time. It is a slider for the keyboard and for screen readers:
// its value is the second that the caption describes, and 0 is now.
class Chart {
  constructor(place, label, names, format, styles = ["s0", "s1"]) {
    Object.assign(this, { names, format, styles, samples: [], at: 0, width: 0 });
    this.drawing = svg("svg", {
      role: "slider", tabindex: "0", "aria-label": label, "aria-orientation": "horizontal",
      "aria-valuemin": -span, "aria-valuemax": 0, height: 150,
    });
    this.caption = el("figcaption");
    place.append(el("figure", {}, this.drawing, this.caption));
    this.drawing.addEventListener("keydown", (event) => this.key(event));
    this.drawing.addEventListener("pointermove", (event) => {
      const box = this.drawing.getBoundingClientRect();
      this.moveTo(Math.round((event.clientX - box.left - this.left) / this.perSecond()) - span);
    });
    this.drawing.addEventListener("pointerleave", () => this.moveTo(0));
    new ResizeObserver(() => this.draw()).observe(place);
  }

  left = 44;
  height = 150;
  perSecond() { return Math.max(1, this.width - this.left - 8) / span; }

  // add appends the values at a second, which draw then shows. A value that is not known is NaN.
  add(second, values) {
    this.samples.push({ second, values });
    while (this.samples.length > 0 && this.samples[0].second < second - span) this.samples.shift();
  }

  // clear forgets what came before a gap.
  clear() { this.samples = []; }

  key(event) {
    const steps = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageUp: 10, PageDown: -10 };
    const step = steps[event.key];
    const to = { Home: -span, End: 0 }[event.key] ?? (step === undefined ? undefined : this.at + step);
    if (to === undefined) return;
    event.preventDefault();
    this.moveTo(to);
  }

  moveTo(at) {
    this.at = Math.max(-span, Math.min(0, at));
    this.draw();
  }

  draw() {
    this.width = this.drawing.clientWidth || 600;
    const { width, height, left, samples } = this;
    const bottom = height - 18, top = 8;
    const last = samples.at(-1)?.second ?? 0;
    const values = samples.flatMap((s) => s.values).filter((v) => !Number.isNaN(v));
    const most = roundTop(Math.max(0, ...values), this.format);
    const x = (second) => left + (second - last + span) * this.perSecond();
    const y = (value) => bottom - (value / most) * (bottom - top);
    const parts = [];
    for (const share of [0, 0.5, 1]) {
      const at = y(most * share);
      parts.push(svg("line", { class: "axis", x1: left, x2: width - 8, y1: at, y2: at }),
        svg("text", { x: left - 6, y: at + 4, "text-anchor": "end" }, this.format(most * share)));
    }
    for (const [minutes, anchor] of [[-5, "start"], [-4], [-3], [-2], [-1], [0, "end"]]) {
      parts.push(svg("text", { x: x(last + minutes * 60), y: height - 3, "text-anchor": anchor ?? "middle" },
        minutes === 0 ? "now" : minutes + " min"));
    }
    this.names.forEach((_, i) => {
      const points = samples.filter((s) => !Number.isNaN(s.values[i]))
        .map((s) => x(s.second).toFixed(1) + "," + y(s.values[i]).toFixed(1));
      if (points.length < 2) return;
      const first = points[0].split(",")[0], end = points.at(-1).split(",")[0];
      parts.push(svg("polygon", { class: "area " + this.styles[i],
        points: [first + "," + bottom, ...points, end + "," + bottom].join(" ") }));
      parts.push(svg("polyline", { class: "line " + this.styles[i], points: points.join(" ") }));
    });
    if (this.at !== 0) {
      const at = x(last + this.at);
      parts.push(svg("line", { class: "mark", x1: at, x2: at, y1: top, y2: bottom }));
    }
    this.drawing.setAttribute("viewBox", `0 0 ${width} ${height}`);
    this.drawing.replaceChildren(...parts);
    this.describe(last);
  }

  describe(last) {
    const sample = this.samples.findLast((s) => s.second <= last + this.at);
    const when = this.at === 0 ? "now" : ago(-this.at) + " ago";
    const shown = this.names.map((_, i) => {
      const value = sample?.values[i] ?? NaN;
      return Number.isNaN(value) ? "–" : this.format(value);
    });
    const text = when + ": " + this.names.map((name, i) => `${name} ${shown[i]}`).join(", ");
    this.drawing.setAttribute("aria-valuenow", this.at);
    this.drawing.setAttribute("aria-valuetext", text);
    this.caption.replaceChildren(el("span", {}, when), ...this.names.map((name, i) => el("span", {},
      svg("svg", { width: 22, height: 8, "aria-hidden": "true", class: "swatch" },
        svg("line", { class: "line " + this.styles[i], x1: 0, x2: 20, y1: 4, y2: 4 })),
      name + " ", el("span", { class: "value" }, shown[i]))));
  }
}
