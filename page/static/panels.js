// Panels: what each event of the stream shows.

let decisionsChart, memoryChart, latencyChart, charts;

function makeCharts() {
  decisionsChart = new Chart($("decisions-chart"), "Decisions per second over the last five minutes",
    ["allowed", "denied"], rate);
  memoryChart = new Chart($("memory-chart"), "Memory over the last five minutes",
    ["keys and buffers", "process"], bytes, ["s0", "s2"]);
  latencyChart = new Chart($("latency-chart"), "Mean execution time of commands over the last five minutes",
    ["mean µs of a command"], mean);
  charts = [decisionsChart, memoryChart, latencyChart];
}

// addSample adds a sample to the charts.
function addSample(now) {
  computeRates(now);
  if (rates.restarted) charts.forEach((chart) => chart.clear());
  const second = now.us / 1e6;
  decisionsChart.add(second, [rates.allowed, rates.denied]);
  memoryChart.add(second, [now.used, now.resident]);
  latencyChart.add(second, [rates.meanUs]);
}

// mean returns microseconds, with a digit after the point if they are few.
const mean = (us) => (us < 10 ? us.toFixed(1) : count(us));

const panels = {
  // history begins the charts anew with what the server has seen before the page was opened or lost it.
  history(result) {
    const run = result.reply.run_id;
    rates.previous = undefined;
    charts.forEach((chart) => chart.clear());
    for (const [us, allowed, denied, calls, usec, used, resident] of result.reply.samples) {
      addSample({ us, run, allowed, denied, calls, usec, used, resident });
    }
    charts.forEach((chart) => chart.draw());
  },

  info(result) {
    if (result.reply === undefined) {
      notify("INFO: " + reason(result, "INFO"));
      return;
    }
    const info = parseInfo(result.reply);
    serverUs = number(info, "server_time_usec");
    addSample(sampleOf(info));
    charts.forEach((chart) => chart.draw());
    showFigures(info);
    showAlgorithms(info);
    showMemory(info);
    showCommands(info);
  },

  stats(result) {
    showPrefixes(result);
    showPolicies(result);
  },
  denied(result) {
    showTop("denied-table", result, count,
      "RL.ALLOW, RL.MALLOW and CL.THROTTLE have denied nothing. Scripts and libraries are not counted here.");
  },
  hot(result) { showTop("hot-table", result, count, "No decisions yet. Try RL.ALLOW user:42 100 1m."); },
  bytes(result) { showTop("bytes-table", result, bytes, "No keys yet."); },

  slowlog(result) {
    const rows = (result.reply ?? []).map(([, seconds, us, args, address, name]) => [
      ago(serverUs / 1e6 - seconds), count(us), breaking(clip(args.map(showKey).join(" "), 160)),
      text(name ? decode(name) : decode(address)),
    ]);
    fillTable("slow-table", rows, result.reply ?
      "No command was slower than slowlog-log-slower-than." : reason(result, "SLOWLOG"));
  },

  latency(result) {
    const rows = (result.reply ?? []).map(([event, seconds, latest, worst]) =>
      [text(decode(event)), ago(serverUs / 1e6 - seconds) + " ago", count(latest), count(worst)]);
    fillTable("events-table", rows, result.reply ?
      "None. CONFIG SET latency-monitor-threshold 10 records what takes 10 ms and more." :
      reason(result, "LATENCY"));
  },

  clients(result) {
    const list = parseClients(result.reply ?? "");
    list.sort((a, b) => number(b, "tot-mem") - number(a, "tot-mem"));
    const shown = list.slice(0, 16).map((c) => [
      ...["addr", "name", "user", "cmd"].map((field) => text(decode(c.get(field) ?? ""))),
      ago(c.get("age")), ago(c.get("idle")), bytes(c.get("tot-mem")),
    ]);
    fillTable("clients-table", shown,
      result.reply !== undefined ? "No clients." : reason(result, "CLIENT LIST"));
    setText($("clients-more"), list.length > shown.length ?
      `${count(list.length)} in all; these take the most memory.` : "");
  },
};

let serverUs = 0; // the server's clock at the last INFO

const decisionCells = (d) => [count(number(d, "allowed")),
  { text: count(number(d, "denied")), class: number(d, "denied") > 0 ? "denied" : "" },
  count(number(d, "units"))];

function showAlgorithms(info) {
  const rows = withPrefix(info, "algorithm_")
    .filter(([, d]) => number(d, "allowed") + number(d, "denied") > 0)
    .map(([name, d]) => [name.toUpperCase(), ...decisionCells(d)]);
  fillTable("algorithms-table", rows, "No decisions yet. Try RL.ALLOW user:42 100 1m in redis-cli.");
}

function showMemory(info) {
  const rows = withPrefix(info, "held_").filter(([, h]) => h.has("keys"))
    .map(([kind, h]) =>
      [kind, count(number(h, "keys")), count(number(h, "hits")), bytes(number(h, "bytes"))]);
  fillTable("held-table", rows, "No keys.");
  const most = number(info, "maxmemory"), used = number(info, "used_memory");
  const place = $("memory-limit");
  place.hidden = most === 0;
  if (most === 0) return;
  if (!place.firstChild) {
    place.append(el("div", { class: "gauge", role: "meter", "aria-label": "Memory used of maxmemory",
      "aria-valuemin": 0, "aria-valuemax": 100 }, el("div")), el("p", { class: "muted" }));
  }
  const percentUsed = Math.min(100, 100 * used / most);
  const [gauge, caption] = place.children;
  gauge.classList.toggle("high", percentUsed > 90);
  gauge.setAttribute("aria-valuenow", percentUsed.toFixed(0));
  gauge.firstChild.style.width = percentUsed + "%";
  setText(caption,
    `${percentUsed.toFixed(1)} % of maxmemory ${bytes(most)}, ${info.get("maxmemory_policy")}`);
}

function showCommands(info) {
  const times = new Map(withPrefix(info, "latency_percentiles_usec_"));
  const rows = withPrefix(info, "cmdstat_")
    .sort((a, b) => number(b[1], "calls") - number(a[1], "calls")).slice(0, 8)
    .map(([name, c]) => {
      const percentile = (p) => {
        const us = times.get(name)?.get(p);
        return us === undefined ? "–" : count(us);
      };
      return [text(name.replace("|", " ").toUpperCase()), count(number(c, "calls")),
        mean(number(c, "usec_per_call")), percentile("p50"), percentile("p99"), percentile("p99.9"),
        count(number(c, "failed_calls") + number(c, "rejected_calls"))];
    });
  fillTable("commands-table", rows, "No command has run.");
}

// showTop shows RL.TOP's rows: the name, and the count or the range that it is in. The
// inspector gets the limit and the window of the last decision.
function showTop(table, result, format, none) {
  const rows = (result.reply?.keys ?? [])
    .map(([key, n, error, limit, window]) =>
      [{ key, limit, window }, error > 0 ? format(n - error) + " to " + format(n) : format(n)]);
  fillTable(table, rows, result.reply !== undefined ? none : reason(result, "RL.TOP"));
}

function showPrefixes(result) {
  const prefixes = Object.entries(result.reply?.prefixes ?? {});
  $("prefixes").hidden = prefixes.length === 0;
  fillTable("prefixes-table", prefixes.map(([prefix, d]) =>
    [text(showKey(prefix)), ...decisionCells(new Map(Object.entries(d)))]), "");
}

// showPolicies shows the policies, those first that have denied most, or would have.
function showPolicies(result) {
  const policies = Object.entries(result.reply?.policies ?? {});
  $("policies").hidden = policies.length === 0;
  const denials = ([, p]) => p.denied + p.shadow;
  policies.sort((a, b) => denials(b) - denials(a));
  fillTable("policies-table", policies.slice(0, shownPolicies).map(([name, p]) => [
    text(showKey(name)), text(p.mode), count(p.allowed),
    { text: count(p.denied), class: p.denied > 0 ? "denied" : "" }, count(p.shadow), count(p.units),
  ]), "");
  setText($("policies-more"), policies.length > shownPolicies ?
    `${count(policies.length)} in all; these have denied most. RL.POLICY LIST shows every one.` : "");
}

const shownPolicies = 50;
