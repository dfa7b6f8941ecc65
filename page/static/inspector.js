// The inspector: one key, why it is denied, and what another limit would do.

// inspectKey fills in a key of a list and explains it.
function inspectKey(key) {
  $("key").value = showKey(key);
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
  show("explained", await run("RL.EXPLAIN", keyArgument(), argument("limit"), argument("window"),
    ...(cost ? ["COST", cost] : [])), "RL.EXPLAIN", drawExplanation);
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
  for (const [form, action] of [["inspect", explain], ["simulate", simulate]]) {
    $(form).addEventListener("submit", (event) => {
      event.preventDefault();
      action();
    });
  }
}
