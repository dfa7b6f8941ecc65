// The inspector: one key, why it is denied, and what another limit would do.

// guessed says that limit and window are the form's own, not the key's or the reader's.
let guessed = true;

// inspectKey fills in a key of a list, with the limit and window of its last decision if they are
// known, and explains it.
function inspectKey({ key, limit, window }) {
  $("key").value = showKey(key);
  if (limit !== "") {
    $("limit").value = limit;
    $("window").value = window;
    guessed = false;
  }
  $("inspector").scrollIntoView({ block: "start" });
  $("key").focus({ preventScroll: true });
  explain();
}

const argument = (id) => readKey($(id).value.trim());

// A name of a key may begin and end with spaces.
const keyArgument = () => readKey($("key").value);

async function explain() {
  if (!$("inspect").checkValidity()) return;
  const cost = argument("cost");
  const guess = guessed;
  show("explained", await run("RL.EXPLAIN", keyArgument(), argument("limit"), argument("window"),
    ...(cost ? ["COST", cost] : [])), "RL.EXPLAIN", (reply) => el("div", {}, guess ? el("p", { class: "muted" },
      "Limit and window are a guess: give those that this key is called with.") : "", drawExplanation(reply)));
}

async function simulate() {
  if (!$("simulate").checkValidity()) return;
  const algorithm = $("sim-algorithm").value;
  show("simulated", await run("RL.SIM", keyArgument(), argument("sim-limit"), argument("sim-window"),
    ...(algorithm ? ["ALGO", ...algorithm.split(" ")] : []), "FROM", ...$("sim-from").value.split(" ")),
    "RL.SIM", drawSimulation);
}

// show puts a result in its place.
function show(place, result, command, draw) {
  $(place).replaceChildren(result.reply === undefined ?
    el("p", { class: "error" }, reason(result, command)) : draw(result.reply));
}

// drawSimulation shows what was decided beside what the other limit would have decided.
function drawSimulation(reply) {
  const head = (scope, name) => el("th", { scope }, name);
  const row = (name, was, now) => el("tr", {}, head("row", name), el("td", {}, was), el("td", {}, now));
  const known = (n) => (n === null ? "unknown" : count(n));
  // Instants are milliseconds since 1970.
  const since = (ms) => (ms === null ? "–" : ago((serverUs / 1000 - ms) / 1000) + " ago");
  const from = reply.from === "trace" ? "RL.TRACE" : "the units that the key holds";
  return el("div", {},
    reply.from === "trace" ? "" : el("p", { class: "muted" }, "The key holds what was admitted, so a wider limit " +
      "admits it all. RL.TRACE ON records refusals, too."),
    el("div", { class: "scroll" }, el("table", { id: "simulated-table" },
      el("caption", {}, `The last ${count(reply.calls)} decisions, replayed from ${from}`),
      el("thead", {}, el("tr", {},
        head("col", "Calls"), head("col", "At the time"), head("col", "Under this limit"))),
      el("tbody", {},
        row("Admitted", known(reply.was_admitted), count(reply.admitted)),
        row("Denied", known(reply.was_denied), count(reply.denied)),
        row("Never admitted", "–", count(reply.never)),
        row("Decided otherwise", "–", count(reply.changed)),
        row("Units granted", "–", count(reply.units)),
        row("Longest wait", "–", duration(reply.longest_wait_ms))))),
    list(["First", since(reply.first_ms)], ["Last", since(reply.last_ms)],
      reply.lost > 0 ? ["Earlier, not replayed", count(reply.lost)] : undefined,
      reply.from_empty === 0 ? ["The key existed before", "its earlier hits are not replayed"] : undefined));
}

function startInspector() {
  for (const id of ["limit", "window"]) $(id).addEventListener("input", () => { guessed = false; });
  $("key").addEventListener("input", () => { guessed = true; });
  for (const [form, action] of [["inspect", explain], ["simulate", simulate]]) {
    $(form).addEventListener("submit", (event) => {
      event.preventDefault();
      action();
    });
  }
}
