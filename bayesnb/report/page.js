"use strict";
// Sorts and filters tables, saves tables and figures, opens sections for links and for print. The page is complete without it.
(() => {
  const LONG = 15;
  const words = new Intl.Collator(undefined, { numeric: true });

  // The number or text to sort a cell by; null for a dash.
  function valueOf(cell) {
    if (cell.dataset.value) return Number(cell.dataset.value);
    const text = cell.textContent.trim();
    return /^[-–—]?$/.test(text) ? null : text;
  }

  function compare(a, b) {
    return typeof a === "number" && typeof b === "number" ? a - b : words.compare(a, b);
  }

  // The first click on a header sorts (numbers from the largest), the second reverses, the third restores the order.
  function sort(head, rows) {
    const pairs = rows.map((row) => [valueOf(row.cells[head.cellIndex]), row]);
    const numeric = pairs.every(([value]) => typeof value !== "string");
    const turns = numeric ? ["descending", "ascending"] : ["ascending", "descending"];
    const turn = turns[turns.indexOf(head.getAttribute("aria-sort")) + 1];
    for (const other of head.parentNode.cells) other.removeAttribute("aria-sort");
    if (turn) {
      const sign = turn === "ascending" ? 1 : -1;
      head.setAttribute("aria-sort", turn);
      pairs.sort(([a], [b]) => (a === null || b === null ? (a === null) - (b === null) : sign * compare(a, b)));
    }
    rows[0].parentNode.append(...pairs.map(([, row]) => row));
  }

  function addButton(place, text, className, action) {
    const button = document.createElement("button");
    Object.assign(button, { type: "button", className });
    button.append(...(typeof text === "string" ? [text] : text));
    button.addEventListener("click", action);
    place.append(button);
  }

  function addFilter(table, rows) {
    const box = document.createElement("div"), label = document.createElement("label");
    const field = document.createElement("input"), status = document.createElement("p");
    box.className = "filter";
    field.type = "search";
    label.append("Show rows with", field);
    status.setAttribute("role", "status");
    box.append(label, status);
    const fold = (text) => text.normalize("NFKC").toLowerCase();
    field.addEventListener("input", () => {
      const asked = fold(field.value).trim();
      for (const row of rows) row.hidden = !fold(row.textContent).includes(asked);
      const shown = rows.filter((row) => !row.hidden).length;
      status.textContent = asked ? `${shown} of ${rows.length} rows` : "";
    });
    table.closest(".wide").before(box);
  }

  for (const table of document.querySelectorAll("table.sortable")) {
    const rows = [...table.tBodies[0].rows];
    for (const head of rows.length > 1 ? table.tHead.rows[0].cells : []) {
      addButton(head, [...head.childNodes], "", () => sort(head, rows));
    }
    if (rows.length > LONG) addFilter(table, rows);
  }

  function save(name, kind, type, text) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type }));
    link.download = `${name.toLowerCase().match(/[\p{L}\p{N}]+/gu)?.join("-").slice(0, 60) ?? "page"}.${kind}`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1e4);
  }

  // A cell for a spreadsheet: plain minus signs, lines joined, and nothing that is run as a formula.
  function csvCell(cell) {
    const copy = cell.cloneNode(true);
    copy.querySelectorAll("br").forEach((end) => end.replaceWith("; "));
    const text = copy.textContent.replace(/\s+/g, " ").replace(/−/g, "-").trim();
    const risky = /^[=+\-@]/.test(text) && !cell.dataset.value;
    return `"${(risky ? `'${text}` : text).replace(/"/g, '""')}"`;
  }

  function csv(table) {
    return [...table.rows].map((row) => [...row.cells].map(csvCell).join(",")).join("\r\n") + "\r\n";
  }

  function svg(picture) {
    const copy = picture.cloneNode(true);
    const [, , width, height] = picture.getAttribute("viewBox").split(" ");
    const look = { width, height, color: "#1c2127", "font-family": "sans-serif" };
    for (const [name, value] of Object.entries(look)) copy.setAttribute(name, value);
    return new XMLSerializer().serializeToString(copy);
  }

  for (const table of document.querySelectorAll("main .wide > table")) {
    const name = table.caption.textContent;
    addButton(table.caption, "CSV", "save", () => save(name, "csv", "text/csv", "\ufeff" + csv(table)));
  }
  for (const picture of document.querySelectorAll("figure > svg")) {
    const name = picture.getAttribute("aria-label");
    addButton(picture.parentNode, "SVG", "save", () => save(name, "svg", "image/svg+xml", svg(picture)));
  }

  // A link opens its section, and printing opens all of them.
  function unfold() {
    const part = document.getElementById(location.hash.slice(1))?.closest("details");
    if (part) part.open = true;
  }
  addEventListener("hashchange", unfold);
  document.querySelectorAll("a[href^='#']").forEach((link) => link.addEventListener("click", () => setTimeout(unfold)));
  unfold();
  let unfolded = [];
  addEventListener("beforeprint", () => {
    unfolded = [...document.querySelectorAll("details:not([open])")];
    for (const part of unfolded) part.open = true;
  });
  addEventListener("afterprint", () => unfolded.forEach((part) => (part.open = false)));
})();
