// Explanations: RL.EXPLAIN's reply as text and as a picture.

// inMs says when something happens that RL commands answer in milliseconds.
const inMs = (ms) => (ms < 0 ? "never" : ms === 0 ? "now" : "in " + duration(ms));

function list(...pairs) {
  return el("dl", { class: "facts" }, ...pairs.filter((pair) => pair !== undefined).map(([name, value]) =>
    el("div", {}, el("dt", {}, name), el("dd", {}, value))));
}

// drawExplanation shows what fills each window of a key and when it becomes free.
function drawExplanation(reply) {
  const ttl = { "-1": "never", "-2": "no such key: the window is empty" }[reply.ttl_ms] ??
    duration(reply.ttl_ms);
  const about = list(["Algorithm", decode(reply.algorithm ?? "")],
    ["Expires", reply.ttl_ms >= 0 ? "in " + ttl : ttl],
    reply.score_unit && ["Scores", "of another limiter, in " + decode(reply.score_unit)],
    reply.burst && ["Burst", count(reply.burst)],
    reply.resolution_ms && ["Buckets of", duration(reply.resolution_ms)]);
  const unknown = reply.unknown && el("p", { class: "muted" }, decode(reply.unknown));
  return el("div", {}, about, unknown || "",
    el("div", { class: "windows" }, ...(reply.windows ?? []).map(explainWindow)));
}

function explainWindow(w) {
  const d = w.double;
  const facts = list(
    ["Used", `${count(w.used)} of ${count(w.limit)} in ${duration(w.window_ms)}`],
    ["Remaining", count(w.remaining)],
    ["A call of 1 fits", inMs(w.fits_after_ms)],
    w.cost !== undefined ? [`A call of ${count(w.cost)} fits`, inMs(w.cost_fits_after_ms)] : undefined,
    w.oldest_age_ms !== undefined ? ["Oldest hit", duration(w.oldest_age_ms) + " ago"] : undefined,
    w.newest_age_ms !== undefined ? ["Newest hit", duration(w.newest_age_ms) + " ago"] : undefined,
    d ? [`With a limit of ${count(d.limit)}`, d.allowed > 0 ?
      `allowed, ${count(d.remaining)} remain` : "denied, retry " + inMs(d.retry_after_ms)] : undefined);
  const drawing = svg("svg", { role: "img", "aria-label": describeWindow(w), height: windowHeight });
  const figure = el("figure", { class: "window" }, facts, drawing);
  new ResizeObserver(() => drawWindow(drawing, w)).observe(drawing);
  return figure;
}

function describeWindow(w) {
  const hits = w.tenths ? "Hits by tenth of the window, oldest first: " + w.tenths.join(", ") + ". " : "";
  const leaving = w.leave_after_ms ?? [];
  const units = w.leave_units; // absent if each entry has one
  const leave = (ms, i) => units ? `${count(units[i])} ${inMs(ms)}` : inMs(ms);
  return hits + (leaving.length > 0 ?
    "The next units leave " + leaving.map(leave).join(", ") + "." : "No unit is to leave.");
}

const windowHeight = 132;

// drawWindow draws the hits of the window before now as bars, and after now when each of
// the next units leaves.
function drawWindow(drawing, w) {
  const width = drawing.clientWidth, bottom = windowHeight - 34, top = 18;
  if (width === 0) return;
  const leaving = w.leave_after_ms ?? [];
  const ahead = Math.max(w.window_ms / 2, ...leaving, w.fits_after_ms) * 1.08;
  const x = (ms) => 4 + (ms + w.window_ms) / (w.window_ms + ahead) * (width - 8);
  const parts = [svg("line", { class: "axis", x1: 4, x2: width - 4, y1: bottom, y2: bottom })];
  const label = (at, y, anchor, words) =>
    parts.push(svg("text", { x: at, y, "text-anchor": anchor }, words));
  const most = Math.max(1, ...(w.tenths ?? []));
  (w.tenths ?? []).forEach((n, i) => {
    const left = x((i / 10 - 1) * w.window_ms), right = x(((i + 1) / 10 - 1) * w.window_ms);
    if (n === 0) return;
    const height = Math.max(2, n / most * (bottom - top));
    parts.push(svg("rect", { class: "bar", x: left + 1, width: Math.max(1, right - left - 2),
      y: bottom - height, height }));
    label((left + right) / 2, bottom - height - 4, "middle", count(n));
  });
  const units = w.leave_units ?? leaving.map(() => 1);
  const all = units.reduce((sum, n) => sum + n, 0);
  let left = 0;
  leaving.forEach((ms, i) => {
    left += units[i];
    const height = left / all * (bottom - top);
    parts.push(svg("line", { class: "next", x1: x(ms), x2: x(ms), y1: bottom, y2: bottom - height }));
  });
  parts.push(svg("line", { class: "mark", x1: x(0), x2: x(0), y1: 4, y2: bottom + 4 }));
  label(4, bottom + 14, "start", duration(w.window_ms) + " ago");
  label(x(0), bottom + 14, "middle", "now");
  if (leaving.length > 0) label(width - 4, bottom + 14, "end", inMs(Math.round(ahead)));
  label(4, bottom + 30, "start", w.tenths ? "hits by tenth of the window" : "hits are not recorded");
  label(width - 4, bottom + 30, "end", leaving.length > 0 ?
    `the next ${count(all)} leave ${inMs(leaving[0])}` +
    (leaving.length > 1 ? " to " + duration(leaving.at(-1)) : "") : "nothing leaves");
  drawing.setAttribute("viewBox", `0 0 ${width} ${windowHeight}`);
  drawing.replaceChildren(...parts);
}
