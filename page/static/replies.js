// Replies: what commands answer, as objects.

// parseInfo returns the fields of INFO.
function parseInfo(text) {
  const fields = new Map();
  for (const line of text.split("\r\n")) {
    const colon = line.indexOf(":");
    if (colon > 0 && line[0] !== "#") fields.set(line.slice(0, colon), line.slice(colon + 1));
  }
  return fields;
}

// parsePairs returns the fields of "keys=1,hits=2".
function parsePairs(text, separator = ",") {
  const fields = new Map();
  for (const pair of text.split(separator)) {
    const equal = pair.indexOf("=");
    if (equal > 0) fields.set(pair.slice(0, equal), pair.slice(equal + 1));
  }
  return fields;
}

// withPrefix returns [rest of the name, pairs] for the fields whose names begin so.
function withPrefix(info, prefix) {
  return [...info].filter(([name]) => name.startsWith(prefix))
    .map(([name, value]) => [name.slice(prefix.length), parsePairs(value)]);
}

// parseClients returns the lines of CLIENT LIST.
function parseClients(text) {
  return text.split("\n").filter((line) => line !== "").map((line) => parsePairs(line, " "));
}

const number = (fields, name) => Number(fields.get(name) ?? 0);

// route returns the address of one of the page's routes, without the name and password that
// the page's own address may contain: fetch refuses those.
const route = (path) => new URL(path, location.origin + location.pathname);

// run makes the server run a command of strings of bytes, and returns {reply}, {error},
// {absent} or {failed}.
async function run(...args) {
  const query = args.map((a) => "arg=" + percent(String(a))).join("&");
  try {
    const answer = await fetch(route("command?" + query));
    return answer.ok ? await answer.json() : { failed: (await answer.text()).trim() };
  } catch {
    return { failed: "The server cannot be reached." };
  }
}

// reason says why there is no reply.
function reason(result, command) {
  if (result.absent) return "This server has no " + command + ".";
  if (result.denied) return "Your user may not call " + command + ".";
  return decode(result.error ?? result.failed ?? "");
}
