// Figures: the header and the numbers at the top, from INFO.

// figures are what stands at the top: a label, INFO's field, how it is shown, and what is
// below it.
const figures = [
  ["Allowed per s", "", () => rate(rates.allowed), (f) => count(f.get("limiter_allowed")) + " in all"],
  ["Denied per s", "", () => rate(rates.denied), (f) => count(f.get("limiter_denied")) + " in all"],
  ["Denied", "", () => share(rates.denied, rates.allowed + rates.denied), () => "of decisions"],
  ["Commands per s", "instantaneous_ops_per_sec", count,
    (f) => count(f.get("total_commands_processed")) + " in all"],
  ["Clients", "connected_clients", count, (f) => count(f.get("blocked_clients")) + " blocked"],
  ["Memory", "used_memory", bytes, (f) => number(f, "maxmemory") > 0 ?
    "of " + bytes(f.get("maxmemory")) : "no limit"],
  ["Keys", "", (_, f) => count(keys(f)), (f) => count(f.get("expired_keys")) + " expired"],
  ["Evicted keys", "evicted_keys", count, (f) => f.get("maxmemory_policy")],
  ["Error replies", "total_error_replies", count,
    (f) => count(f.get("rejected_connections")) + " clients refused"],
];

const rates = { allowed: NaN, denied: NaN, previous: undefined };

function share(part, whole) {
  return whole > 0 ? (100 * part / whole).toFixed(1) + " %" : "–";
}

function keys(info) {
  return withPrefix(info, "db").reduce((sum, [, db]) => sum + number(db, "keys"), 0);
}

// sampleOf returns the counters and the memory of an INFO, as they are in the server's history.
function sampleOf(info) {
  const now = {
    us: number(info, "server_time_usec"), run: info.get("run_id"),
    allowed: number(info, "limiter_allowed"), denied: number(info, "limiter_denied"),
    calls: 0, usec: 0, used: number(info, "used_memory"), resident: number(info, "used_memory_rss"),
  };
  for (const [, c] of withPrefix(info, "cmdstat_")) {
    now.calls += number(c, "calls");
    now.usec += number(c, "usec");
  }
  return now;
}

// computeRates derives what happens per second from a sample and the one before.
function computeRates(now) {
  const before = rates.previous, seconds = before ? (now.us - before.us) / 1e6 : 0;
  rates.previous = now;
  rates.restarted = before !== undefined && before.run !== now.run;
  // After a gap, a restart or CONFIG RESETSTAT there is nothing to compare with.
  const usable = !rates.restarted && seconds > 0 && seconds < 10 &&
    now.allowed >= before.allowed && now.denied >= before.denied && now.calls >= before.calls;
  const per = (field) => (usable ? (now[field] - before[field]) / seconds : NaN);
  rates.allowed = per("allowed");
  rates.denied = per("denied");
  // usec is an estimate from a sample of the calls, so that it may decrease.
  rates.meanUs = per("calls") > 0 && per("usec") >= 0 ? per("usec") / per("calls") : NaN;
}

function showFigures(info) {
  const list = $("figures");
  figures.forEach(([label, field, show, below], i) => {
    if (!list.children[i]) {
      list.append(el("div", {}, el("dt", {}, label), el("dd", { "data-info": field || undefined }),
        el("dd", { class: "below" })));
    }
    const [, value, under] = list.children[i].children;
    const shown = show(info.get(field), info);
    setText(value, shown === "NaN" ? "–" : shown);
    value.classList.toggle("denied", label === "Denied per s" && rates.denied > 0);
    setText(under, below(info) ?? "");
  });
  setText($("version"), info.get("zlimit_version") ?? "");
  setText($("about"), "port " + info.get("tcp_port") + " · up " + ago(info.get("uptime_in_seconds")) +
    " · " + (info.get("role") ?? "") + " · as Redis " + info.get("redis_version"));
  document.title = "zlimit " + location.host;
  showNotice(info);
}

// showNotice says what an operator must know at once.
function showNotice(info) {
  const notices = [];
  if (info.get("loading") === "1") notices.push("The server is loading its files.");
  if (info.get("aof_last_write_status") === "err") {
    notices.push("The append-only log cannot be written: writes are refused.");
  }
  if (info.get("rdb_last_bgsave_status") === "err") notices.push("The last snapshot failed.");
  if (info.get("aof_last_bgrewrite_status") === "err") notices.push("The last rewrite of the log failed.");
  notify(notices.join(" "));
}

function notify(message) {
  setText($("notice"), message);
  $("notice").hidden = message === "";
}
