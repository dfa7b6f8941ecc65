// The stream: events of the server, while the page is visible.

let source, lastEvent = 0;

function setStatus(kind, message) {
  $("status").className = kind;
  setText($("status"), message);
}

function connect() {
  source?.close();
  clearTimeout(retry);
  const within = $("within").value;
  source = new EventSource(route("events" + (within ? "?within=" + within : "")));
  for (const [name, panel] of Object.entries(panels)) {
    source.addEventListener(name, (event) => {
      lastEvent = performance.now();
      setStatus("live", "Live");
      panel(JSON.parse(event.data));
    });
  }
  source.addEventListener("error", () => {
    setStatus("lost", "Connection lost, trying again. What is below may be old.");
    if (source.readyState === EventSource.CLOSED) retry = setTimeout(connect, 5000);
  });
}

let retry;

function follow() {
  if (!document.hidden) {
    connect();
    return;
  }
  source?.close();
  clearTimeout(retry);
  setStatus("", "Paused while the page is hidden");
}

makeCharts();
startInspector();
for (const id of ["denied", "hot", "bytes", "slow", "clients", "algorithms", "events", "commands", "held"]) {
  fillTable(id + "-table", [], "Waiting for the server …");
}
$("within").addEventListener("change", connect);
document.addEventListener("visibilitychange", follow);
setInterval(() => {
  if (source?.readyState === EventSource.OPEN && performance.now() - lastEvent > 5000) {
    setStatus("lost", "No answer for 5 s. What is below may be old.");
  }
}, 1000);
follow();
