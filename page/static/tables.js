// Tables: rows that change in place, so that the keyboard's focus stays.

// A cell is text, or an object: text and class, or a key that the inspector opens, with the limit and
// window of its last decision, if they are known.
function setCell(td, cell) {
  if (typeof cell !== "object") cell = { text: String(cell) };
  td.className = cell.key !== undefined ? "keycell" : cell.class ?? "";
  if (cell.key === undefined) {
    setText(td, cell.text);
    return;
  }
  let button = td.querySelector("button");
  if (!button) {
    button = el("button", { class: "key", type: "button" });
    button.addEventListener("click", () => inspectKey(button.dataset));
    td.replaceChildren(button);
  }
  Object.assign(button.dataset, { key: cell.key, limit: cell.limit ?? "", window: cell.window ?? "" });
  setText(button, showKey(cell.key));
}

// fillTable shows rows, or a text if there are none. It leaves a table alone that is
// pointed at or has the focus, so that nobody presses on another key than the one read.
function fillTable(id, rows, none) {
  const table = $(id), body = table.tBodies[0];
  if (body.matches(":hover, :focus-within") && body.querySelector("button")) return;
  if (rows.length === 0) {
    const columns = table.tHead.rows[0].cells.length;
    if (body.textContent !== none) {
      body.replaceChildren(el("tr", {}, el("td", { class: "none", colspan: columns }, none)));
    }
    return;
  }
  if (body.querySelector(".none")) body.replaceChildren();
  rows.forEach((cells, i) => {
    const row = body.rows[i] ?? body.insertRow();
    cells.forEach((cell, j) => setCell(row.cells[j] ?? row.insertCell(), cell));
  });
  while (body.rows.length > rows.length) body.deleteRow(-1);
}

const text = (s) => ({ text: s, class: "text" });
const breaking = (s) => ({ text: s, class: "text break" });
