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
    "RL.SIM", facts);
}

// show puts a result in its place.
function show(place, result, command, draw) {
  $(place).replaceChildren(result.reply === undefined ?
    el("p", { class: "error" }, reason(result, command)) : draw(result.reply));
}

// facts shows a map as it is.
function facts(reply) {
  const plain = (name, value) => {
    if (value === null) return "–";
    if (typeof value === "object") return JSON.stringify(value);
    if (typeof value !== "number") return decode(String(value));
    if (!name.endsWith("_ms")) return count(value);
    // Instants are milliseconds since 1970.
    if (value > 1e11) return ago((serverUs / 1000 - value) / 1000) + " ago";
    return value < 0 ? "never" : duration(value);
  };
  return list(...Object.entries(reply).map(([name, value]) =>
    [decode(name).replace(/_ms$/, "").replaceAll("_", " "), plain(name, value)]));
}

function startInspector() {
  for (const [form, action] of [["inspect", explain], ["simulate", simulate]]) {
    $(form).addEventListener("submit", (event) => {
      event.preventDefault();
      action();
    });
  }
}
