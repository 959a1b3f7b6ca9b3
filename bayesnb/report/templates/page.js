"use strict";
// Sorts tables, filters long ones, saves tables and figures, unfolds for links and paper. Without it the page reads the same.
(() => {
  const LONG = 15;
  const RAISED = "⁰¹²³⁴⁵⁶⁷⁸⁹";
  const NUMBER = /^(?:under |over |about |[<>≤≥~≈±+])*(-?)(∞|\d[\d,]*(?:\.\d*)?(?:e[+-]?\d+)?)(?: ?× ?10([⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+))?(?!\p{L}|[-:/.]?\d)/iu;
  const words = new Intl.Collator(undefined, { numeric: true });

  // What a cell is sorted by; null for an empty one or a dash.
  function cellText(cell) {
    const text = (cell?.dataset.value ?? cell?.textContent ?? "").replace(/\s+/g, " ").replace(/−/g, "-").trim();
    return /^[-–—]?$/.test(text) ? null : text;
  }

  function number(text) {
    if (text === "Infinity" || text === "-Infinity") return Number(text);
    const match = NUMBER.exec(text);
    if (!match) return NaN;
    const [, sign, digits, raised = ""] = match;
    const power = Number(raised.replace("⁻", "-").replace(/[⁰-⁹¹²³]/g, (digit) => RAISED.indexOf(digit)));
    const size = digits === "∞" ? Infinity : Number(digits.replace(/,/g, "")) * 10 ** power;
    return sign ? -size : size;
  }

  // The rows in the order of a column, those without a value last.
  function sorted(rows, place, sign, numeric) {
    const pairs = rows.map((row) => [cellText(row.cells[place]), row]);
    const compare = numeric ? (a, b) => Math.sign(number(a) - number(b)) || 0 : words.compare;
    pairs.sort(([a], [b]) => (a === null || b === null ? (a === null) - (b === null) : sign * compare(a, b)));
    return pairs.map(([, row]) => row);
  }

  // A header's first click sorts (numbers from the largest), its second the other way round, its third as it was.
  function sort(head, rows) {
    const place = head.cellIndex;
    const values = rows.map((row) => cellText(row.cells[place])).filter((text) => text !== null);
    const numeric = values.every((text) => !Number.isNaN(number(text)));
    const turns = numeric ? ["descending", "ascending"] : ["ascending", "descending"];
    const turn = turns[turns.indexOf(head.getAttribute("aria-sort")) + 1];
    for (const other of head.parentNode.cells) other.removeAttribute("aria-sort");
    if (turn) head.setAttribute("aria-sort", turn);
    rows[0].parentNode.append(...(turn ? sorted(rows, place, turn === "ascending" ? 1 : -1, numeric) : rows));
  }

  function addSorting(table, rows) {
    for (const head of table.tHead.rows[0].cells) {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      button.addEventListener("click", () => sort(head, rows));
      head.append(button);
    }
  }

  function addFilter(table, rows) {
    const box = document.createElement("div"), label = document.createElement("label");
    const field = document.createElement("input"), status = document.createElement("p");
    box.className = "filter";
    field.type = "search";
    label.append("Show rows with", field);
    status.setAttribute("role", "status");
    status.setAttribute("aria-live", "polite");
    box.append(label, status);
    const fold = (text) => text.normalize("NFKC").toLowerCase();
    field.addEventListener("input", () => {
      const asked = fold(field.value).trim();
      for (const row of rows) row.hidden = !fold(row.textContent).includes(asked);
      const shown = rows.filter((row) => !row.hidden).length;
      status.textContent = asked ? `${shown} of ${rows.length} rows` : "";
    });
    (table.closest(".wide") ?? table).before(box);
  }

  for (const table of document.querySelectorAll("table.sortable")) {
    const rows = [...table.tBodies[0].rows];
    if (rows.length > 1) addSorting(table, rows);
    if (rows.length > LONG) addFilter(table, rows);
  }

  function save(name, kind, type, text) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type }));
    link.download = `${name.toLowerCase().match(/[\p{L}\p{N}]+/gu)?.join("-").slice(0, 60) ?? "page"}.${kind}`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1e4);
  }

  // A number, maybe as a percentage, and with what it is exact to, or up to where it goes.
  const EXACT_NUMBER = /^[+-]?([\d.,]+(e[+-]?\d+)?|∞)( ?%)?( (±|to) [+-]?([\d.,]+(e[+-]?\d+)?|∞)( ?%)?)?$/;

  // A cell as a spreadsheet reads it: plain minus signs, lines joined, and nothing that it would run as a formula.
  function csvCell(cell) {
    const copy = cell.cloneNode(true);
    copy.querySelectorAll("br").forEach((end) => end.replaceWith("; "));
    const text = copy.textContent.replace(/\s+/g, " ").replace(/−/g, "-").replace(/^ ?; |; $/g, "").trim();
    const quoted = /^[=+\-@]/.test(text) && !EXACT_NUMBER.test(text) ? `'${text}` : text;
    return `"${quoted.replace(/"/g, '""')}"`;
  }

  function csv(table) {
    return [...table.rows].map((row) => [...row.cells].map(csvCell).join(",")).join("\r\n") + "\r\n";
  }

  function svg(picture) {
    const copy = picture.cloneNode(true);
    const [, , width, height] = picture.getAttribute("viewBox").split(" ");
    for (const [name, value] of Object.entries({ width, height, color: "#1c2127", "font-family": "sans-serif" })) copy.setAttribute(name, value);
    return new XMLSerializer().serializeToString(copy);
  }

  function addSaving(place, kind, action) {
    const button = document.createElement("button");
    Object.assign(button, { type: "button", className: "save", textContent: kind.toUpperCase(), title: `Download as ${kind.toUpperCase()}` });
    button.addEventListener("click", action);
    place.append(button);
  }

  for (const table of document.querySelectorAll("main table:has(caption)")) {
    const name = table.caption.textContent;
    addSaving(table.caption, "csv", () => save(name, "csv", "text/csv", "\ufeff" + csv(table)));
  }
  for (const picture of document.querySelectorAll("figure > svg")) {
    addSaving(picture.parentNode, "svg", () => save(picture.getAttribute("aria-label"), "svg", "image/svg+xml", svg(picture)));
  }

  // A link to a section opens it.
  function unfold() {
    const part = document.getElementById(location.hash.slice(1))?.closest("details");
    if (part) part.open = true;
  }
  addEventListener("hashchange", unfold);
  document.querySelectorAll("a[href^='#']").forEach((link) => link.addEventListener("click", () => setTimeout(unfold)));
  unfold();

  const folded = () => document.querySelectorAll("details:not([open])");
  let unfolded = [];
  addEventListener("beforeprint", () => (unfolded = [...folded()]).forEach((part) => (part.open = true)));
  addEventListener("afterprint", () => unfolded.forEach((part) => (part.open = false)));

  // The link to the section that is being read.
  const links = [...document.querySelectorAll("nav a")];
  const read = new Set();
  const watch = new IntersectionObserver((seen) => {
    for (const { target, isIntersecting } of seen) read[isIntersecting ? "add" : "delete"](target.getAttribute("aria-labelledby"));
    const here = links.findLast((link) => read.has(link.hash.slice(1)));
    for (const link of links) link === here ? link.setAttribute("aria-current", "location") : link.removeAttribute("aria-current");
  }, { rootMargin: "0px 0px -75% 0px" });
  document.querySelectorAll("main > section").forEach((section) => watch.observe(section));
})();
