// Texts that are cut off, leave their cell or their line, or lie on another text; a list of what is wrong.
(() => {
  const wrong = [];
  const clean = (text) => text.trim().replace(/\s+/g, " ").slice(0, 60);
  const shown = (part) => part.checkVisibility({ visibilityProperty: true });

  // Where the letters of an element are, line by line.
  const lines = (part) => {
    const range = document.createRange();
    range.selectNodeContents(part);
    return [...range.getClientRects()].filter((box) => box.width > 0.5 && box.height > 0.5);
  };

  const boxes = "h1, h2, h3, h4, p, li, dt, dd, th, td, caption, figcaption, summary, pre, label";
  for (const part of document.querySelectorAll(boxes)) {
    if (!shown(part) || !clean(part.textContent) || part.closest(".skip")) continue;
    if (part.closest("thead, .spoken")?.offsetWidth === 1) continue; // is read aloud only
    const own = part.getBoundingClientRect();
    for (const box of lines(part)) {
      if (box.right > own.right + 1.5 || box.left < own.left - 1.5) {
        wrong.push(`${part.tagName} leaves its box: ${clean(part.textContent)}`);
        break;
      }
    }
    const scrolls = part.closest(".wide, figure");
    if (!scrolls && own.right > innerWidth + 1) wrong.push(`${part.tagName} leaves the page: ${clean(part.textContent)}`);
  }

  const overlap = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1.5 && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 3;
  const pairs = (parts, name) => {
    const found = parts.map((part) => [part, part.getBoundingClientRect()]);
    for (let i = 0; i < found.length; i += 1)
      for (let j = 0; j < i; j += 1)
        if (overlap(found[i][1], found[j][1])) wrong.push(`${name}: ${clean(found[i][0].textContent)} lies on ${clean(found[j][0].textContent)}`);
  };

  for (const row of document.querySelectorAll("tr")) if (shown(row)) pairs([...row.cells].filter(shown), "cells");
  for (const svg of document.querySelectorAll("figure svg")) {
    if (!shown(svg)) continue;
    const texts = [...svg.querySelectorAll("text")].filter((part) => clean(part.textContent));
    pairs(texts, "figure");
    const own = svg.getBoundingClientRect();
    for (const part of texts) {
      const box = part.getBoundingClientRect();
      if (box.left < own.left - 3 || box.right > own.right + 3 || box.top < own.top - 3 || box.bottom > own.bottom + 3)
        wrong.push(`figure cuts: ${clean(part.textContent)}`);
    }
  }
  return wrong;
})()
