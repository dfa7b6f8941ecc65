// Text: bytes of replies as characters, and figures as people read them.

// A reply's string has a character from U+0000 to U+00FF for each byte.
const toBytes = (binary) => Uint8Array.from(binary, (c) => c.charCodeAt(0));
const fromBytes = (bytes) => Array.from(bytes, (b) => String.fromCharCode(b)).join("");
const hexByte = (b) => "\\x" + b.toString(16).padStart(2, "0");

// decode returns a reply's string as text. Characters that cannot be seen, or that change
// the order of others, and bytes that are not UTF-8 are escaped as in redis-cli.
function decode(binary) {
  let text;
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(toBytes(binary));
  } catch {
    return binary.replace(/[^ -~]/g, (c) => hexByte(c.charCodeAt(0)));
  }
  const escaped = (c) => Array.from(new TextEncoder().encode(c), hexByte).join("");
  return text.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, escaped);
}

// showKey returns a key's name in the notation of the inspector: as it is, or in quotes if
// that would be unclear. readKey is its inverse.
function showKey(binary) {
  const text = decode(binary.replace(/\\/g, "\\\\"));
  if (binary !== "" && !/[\\"'\s]/.test(text)) return text;
  return '"' + text.replace(/"/g, '\\"') + '"';
}

const escapes = { n: "\n", r: "\r", t: "\t", a: "\x07", b: "\b" };

function readKey(text) {
  const utf8 = (s) => fromBytes(new TextEncoder().encode(s));
  if (!/^".*"$/s.test(text) || text === '"') return utf8(text);
  return text.slice(1, -1).replace(/\\x([0-9a-f]{2})|\\(.)|([^\\]+)/gis, (_, hex, escaped, rest) => {
    if (hex) return String.fromCharCode(parseInt(hex, 16));
    return utf8(rest ?? escapes[escaped] ?? escaped);
  });
}

// clip shortens a text that is only to be recognized.
const clip = (s, most) => (s.length > most ? s.slice(0, most) + " …" : s);

// percent encodes a string of bytes for a query.
function percent(binary) {
  return binary.replace(/[^A-Za-z0-9_.~-]/g, (c) => "%" + c.charCodeAt(0).toString(16).padStart(2, "0"));
}

const grouped = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const short = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 });

// count returns a number as it is up to six digits, then in thousands, millions, ...
function count(n) {
  n = Number(n);
  return Math.abs(n) < 1e6 ? grouped.format(n) : short.format(n);
}

// rate returns a number per second, with a digit after the point if it is small.
function rate(n) {
  return n > 0 && n < 10 ? n.toFixed(1) : count(n);
}

// bytes returns a number of bytes as INFO's fields _human: 1 K are 1,024.
function bytes(n) {
  n = Number(n);
  for (const unit of ["B", "K", "M", "G", "T"]) {
    if (n < 1024 || unit === "T") return unit === "B" ? n + " B" : n.toFixed(n < 10 ? 2 : 1) + " " + unit;
    n /= 1024;
  }
}

// duration returns milliseconds in the two largest units that matter.
function duration(ms) {
  ms = Number(ms);
  if (ms < 1000) return Math.round(ms) + " ms";
  const s = ms / 1000;
  if (s < 60) return (s < 10 ? s.toFixed(2) : s.toFixed(1)) + " s";
  const m = Math.floor(s / 60);
  if (m < 60) return m + " min " + Math.floor(s % 60) + " s";
  const h = Math.floor(m / 60);
  return h < 48 ? h + " h " + (m % 60) + " min" : Math.floor(h / 24) + " d " + (h % 24) + " h";
}

// ago returns whole seconds without a fraction.
function ago(seconds) {
  seconds = Math.max(0, Math.round(Number(seconds)));
  return seconds < 60 ? seconds + " s" : duration(seconds * 1000);
}
