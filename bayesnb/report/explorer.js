"use strict";
// The explorer: the cells of a row, and the predictions of `posterior.js`.
(() => {
  const CLASSES_SHOWN = 8, TERMS_SHOWN = 9, CHANGES_SHOWN = 6, TRIED = 40;
  const place = document.getElementById("tried");
  const model = openModel(document.getElementById("explorer-model").textContent);
  const { classes, columns, features, prior, ask, predict, weigh } = model;
  place.ask = ask; // for tests and the browser's console
  const row = [...(model.rows[0]?.cells ?? columns.map(() => null))];
  const percent = (p) => {
    if (isNaN(p)) return "–"; // the row is impossible under every class
    const shown = 100 * p;
    return shown > 0 && shown < 0.05 ? "<0.1 %" : shown < 100 && shown > 99.95 ? ">99.9 %" : `${shown.toFixed(1)} %`;
  };
  const fixed = (x) => (x < 1e6 ? x.toFixed(2) : x.toExponential(1));
  const signed = (x) => isNaN(x) ? "–" : `${x < 0 ? "\u2212" : "+"}${fixed(Math.abs(x))}`;
  const brief = (x) => String(Number(x.toPrecision(4)));

  function make(tag, properties = {}, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(properties)) {
      if (name in element) element[name] = value;
      else element.setAttribute(name, value);
    }
    element.append(...children);
    return element;
  }

  function describe(i, value) {
    const { levels } = columns[i];
    return value === null ? "unknown" : levels ? levels[value] : brief(value);
  }

  const controls = columns.map((column, i) => (column.levels ? menu(column, i) : slider(column, i)));

  function menu({ name, levels }, i) {
    const field = make("select", { id: `cell-${i}` });
    field.append(make("option", { value: "" }, "unknown"));
    levels.forEach((level, k) => field.append(make("option", { value: k }, level)));
    field.addEventListener("change", () => set(i, field.value === "" ? null : Number(field.value)));
    const like = make("small");
    const show = (value) => {
      field.value = value ?? "";
      like.textContent = value === null || levels.length < 4 ? "" : `most similar: ${alike(i, value).join(", ")}`;
    };
    return { box: make("div", { className: "cell" }, make("label", { htmlFor: field.id }, name), field, like), show };
  }

  function slider({ name, low, high, step }, i) {
    const field = make("input", { id: `cell-${i}`, type: "number", step: "any", placeholder: "unknown" });
    const range = make("input", { type: "range", min: low, max: high, step, "aria-label": `${name}, slider` });
    const clear = make("button", { type: "button", "aria-label": `${name}: unknown`, title: "unknown" }, "\u00d7");
    field.addEventListener("input", () => set(i, field.value === "" || !field.validity.valid ? null : Number(field.value)));
    range.addEventListener("input", () => set(i, Number(range.value)));
    clear.addEventListener("click", () => set(i, null));
    const usual = make("small", { role: "status" });
    const show = (value) => {
      const isUsual = value === null || (low <= value && value <= high);
      usual.textContent = isUsual ? "" : `unusual: most rows have ${brief(low)} to ${brief(high)}`;
      if (document.activeElement !== field) field.value = value ?? "";
      range.value = value ?? (low + high) / 2;
      range.classList.toggle("unset", value === null);
      clear.disabled = value === null;
    };
    const line = make("div", { className: "number" }, range, field, clear);
    return { box: make("div", { className: "cell" }, make("label", { htmlFor: field.id }, name), line, usual), show };
  }

  // The levels of a column whose evidence is most similar to that of a given level.
  function alike(i, value) {
    const evidence = columns[i].levels.map((_, level) => {
      const other = columns.map((_, j) => (j === i ? level : null));
      const { score } = predict(other);
      const mean = score.reduce((a, b) => a + b) / score.length;
      return score.map((each) => each - mean);
    });
    const gap = (level) => Math.max(...evidence[level].map((each, c) => Math.abs(each - evidence[value][c])));
    const others = evidence.map((_, level) => level).filter((level) => level !== value);
    return others.sort((a, b) => gap(a) - gap(b)).slice(0, 2).map((level) => columns[i].levels[level]);
  }

  const probabilities = make("tbody"), terms = make("tbody"), changes = make("ul");
  const spoken = make("p", { className: "spoken", role: "status" });
  const [first, second] = ["Why", "and not"].map((text) => make("select", { "aria-label": text }));
  for (const field of [first, second]) {
    classes.forEach((label, c) => field.append(make("option", { value: c }, label)));
    field.addEventListener("change", () => {
      pair = [Number(first.value), Number(second.value)];
      update();
    });
  }
  let pair = null; // the two classes that are compared; null: the two most probable

  function set(i, value) {
    row[i] = value;
    controls[i].show(value);
    update();
  }

  function setAll(values) {
    pair = null;
    values.forEach((value, i) => (row[i] = value));
    controls.forEach(({ show }, i) => show(row[i]));
    update();
  }

  let later = 0;
  function update() {
    const answer = ask(row);
    const order = [...classes.keys()].sort((a, b) => answer.share[b] - answer.share[a]);
    showProbabilities(answer, order);
    const [one, two] = pair ?? [order[0], order[1] ?? order[0]];
    [first.value, second.value] = [one, two];
    showTerms(answer, one, two);
    clearTimeout(later);
    later = setTimeout(() => {
      showChanges(order[0]);
      spoken.textContent = `${classes[order[0]]}: ${percent(answer.share[order[0]])}`;
    }, 150);
  }

  function colour(c) {
    return model.colours[c % model.colours.length];
  }

  // A row of a table: a name and perhaps a cell, parts of a bar as fractions of its width, and amounts.
  function line([title, cell], parts, ...amounts) {
    const bar = make("div", { className: parts.length ? "bar" : "" });
    for (const [tag, from, to, background] of parts) {
      bar.append(make(tag, { style: `left: ${100 * from}%; width: ${100 * (to - from)}%; background: ${background}` }));
    }
    return make("tr", {}, make("th", { scope: "row" }, title, cell ? make("small", {}, cell) : ""), make("td", {}, bar),
      ...amounts.map((text) => make("td", { className: "amount" }, text)));
  }

  function showProbabilities({ share, ends }, order) {
    const shown = order.slice(0, CLASSES_SHOWN).sort((a, b) => a - b);
    const lines = shown.map((c) => {
      const parts = [["span", 0, share[c], colour(c)]];
      if (!ends) return line([classes[c]], parts, percent(share[c]), "");
      const [lower, upper] = ends[c].map(percent);
      parts.push(["i", ...ends[c], "var(--ink)"]);
      return line([classes[c]], parts, percent(share[c]), lower === upper ? lower : `${lower} to ${upper}`);
    });
    const rest = order.slice(CLASSES_SHOWN);
    if (rest.length) lines.push(line([`${rest.length} others`], [], percent(sumOf(rest, (c) => share[c])), ""));
    probabilities.replaceChildren(...lines);
  }

  // The log-odds of two classes as a sum: the class shares, then the columns, the largest first.
  function showTerms({ one, variance }, a, b) {
    const all = features.map(({ name, cells }, f) => ({
      name,
      cell: cells.length > 2 ? "" : cells.map((i) => describe(i, row[i])).join(", "),
      value: weigh(f, one[f][a] - one[f][b]),
      sd: Math.sqrt(variance[f][a] + variance[f][b]),
    })).filter(({ value, sd }) => value || sd);
    all.sort((x, y) => Math.abs(y.value) - Math.abs(x.value));
    const shown = [{ name: "class shares", value: prior.log[a] - prior.log[b], sd: 0 }];
    shown.push(...all.slice(0, TERMS_SHOWN));
    const rest = all.slice(TERMS_SHOWN);
    const sd = Math.sqrt(sumOf(rest, (each) => each.sd ** 2));
    if (rest.length) shown.push({ name: `${rest.length} others`, value: sumOf(rest, (each) => each.value), sd });
    let from = 0;
    for (const each of shown) [each.from, from] = [from, from + each.value];
    shown.push({ name: "log-odds", value: from, from: 0, sd: 0 });
    const reach = shown.flatMap((each) => [each.from, each.from + each.value]).filter(Number.isFinite);
    const low = Math.min(0, ...reach), wide = Math.max(0, ...reach) - low || 1;
    const at = (x) => (Math.min(Math.max(x, low), low + wide) - low) / wide;
    terms.replaceChildren(...shown.map(({ name, cell, value, sd, from }) => {
      const ends = [at(Math.min(from, from + value)), at(Math.max(from, from + value))];
      const parts = [["span", ...ends, colour(value < 0 ? b : a)], ["b", at(0), at(0), "var(--quiet)"]];
      return line([name, cell], parts, signed(value) + (sd ? ` \u00b1 ${fixed(sd)}` : ""));
    }));
  }

  // For each column, the nearest value that makes another class the most probable one.
  function showChanges(now) {
    const work = columns.length * features.length * classes.length;
    const tried = Math.min(Math.max(Math.floor(4e6 / work), 8), TRIED);
    const found = columns.flatMap(({ levels, low, high, step }, i) => {
      const cells = levels ? levels.map((_, level) => level)
        : Array.from({ length: tried + 1 }, (_, k) => low + step * Math.round(((high - low) * k) / tried / step));
      const others = cells.filter((cell) => cell !== row[i]).map((cell) => {
        const { share } = predict(row.with(i, cell));
        const best = share.indexOf(Math.max(...share));
        const far = levels ? 1.5 - share[best] : Math.abs(cell - (row[i] ?? (low + high) / 2)) / (high - low);
        return { i, cell, best, p: share[best], far };
      }).filter(({ best }) => best !== now);
      return others.sort((x, y) => x.far - y.far).slice(0, 1);
    });
    found.sort((x, y) => x.far - y.far);
    const lines = found.slice(0, CHANGES_SHOWN).map(({ i, cell, best, p }) =>
      make("li", {}, make("b", {}, columns[i].name), ` ${describe(i, row[i])} \u2192 ${describe(i, cell)}: ${classes[best]} ${percent(p)}`));
    if (!lines.length) lines.push(make("li", {}, "No change of a single cell does."));
    changes.replaceChildren(...lines);
  }

  function openRow(cells) {
    setAll(cells);
    place.closest("details")?.setAttribute("open", "");
    place.scrollIntoView();
  }

  const buttons = make("div", { className: "choose" });
  if (model.rows.length) {
    const field = make("select", { id: "explorer-row" });
    model.rows.forEach(({ name }, k) => field.append(make("option", { value: k }, name)));
    field.addEventListener("change", () => setAll(model.rows[field.value].cells));
    buttons.append(make("label", { htmlFor: field.id }, "Row"), field);
  }
  const clear = make("button", { type: "button" }, "All unknown");
  clear.addEventListener("click", () => setAll(columns.map(() => null)));
  buttons.append(clear);
  const table = (className, caption, head, body) => make("table", { className }, make("caption", {}, ...caption),
    make("thead", {}, make("tr", {}, ...head.map((title) => make("th", { scope: "col" }, title)))), body);
  const widths = ["class", "", "probability"].concat(model.intervals ? `${(100 * model.prob).toFixed(0)} % interval` : "");
  place.append(
    make("div", { className: "result" }, table("shares", ["Class probabilities"], widths, probabilities), spoken),
    make("div", { className: "inputs" }, buttons, ...controls.map(({ box }) => box)),
    make("div", { className: "reasons" },
      table("sum", ["Why ", first, " and not ", second], ["column", "", "log-odds"], terms),
      make("h4", {}, "What would change the prediction"), changes));
  setAll(row);
  addEventListener("DOMContentLoaded", () => {
    for (const head of document.querySelectorAll("section:has(#rows) tbody th")) {
      const number = String(Number(head.dataset.value)); // its text has commas
      const known = model.rows.find(({ name }) => name === number);
      if (known) {
        const open = make("button", { type: "button", className: "save" }, "Try");
        open.addEventListener("click", () => openRow(known.cells));
        head.append(open);
      }
    }
  });
})();
