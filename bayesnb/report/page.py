"""The page around the sections: one file, no scripts, nothing loaded from anywhere."""

from collections.abc import Sequence

from bayesnb.report.markup import text

CSS = """
:root {
  color-scheme: light dark;
  --paper: #ffffff; --ink: #1d2228; --quiet: #5b6570; --line: #dde1e6; --wash: #f5f7f9; --accent: #005a92;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #15181c; --ink: #e4e7ea; --quiet: #9aa4ae; --line: #333a42; --wash: #1d2227; --accent: #6cbcf0;
  }
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; text-size-adjust: 100%; }
body {
  margin: 0; background: var(--paper); color: var(--ink);
  font: 1.0625rem/1.6 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
}
header, main, footer { max-width: 66rem; margin: 0 auto; padding: 0 1.25rem; }
header { padding-top: 4rem; }
footer { padding-top: 2rem; padding-bottom: 4rem; color: var(--quiet); font-size: .9rem; }
p, dl.terms, .lead { max-width: 42rem; }
p { margin: 0 0 1rem; }
h1, h2, h3 { line-height: 1.2; text-wrap: balance; overflow-wrap: anywhere; }
h1 { font-size: 2.5rem; font-weight: 650; letter-spacing: -.02em; margin: 0 0 1.25rem; }
h2 {
  font-size: 1.6rem; font-weight: 650; letter-spacing: -.01em;
  margin: 4.5rem 0 1.25rem; padding-top: 1.25rem; border-top: 2px solid var(--accent);
}
h3 { font-size: 1.15rem; font-weight: 650; margin: 2.5rem 0 .75rem; }
a { color: var(--accent); text-underline-offset: .2em; }
.kicker { color: var(--accent); font-weight: 600; margin: 0 0 .5rem; }
.lead p { font-size: 1.2rem; }
nav ul, .key { list-style: none; display: flex; flex-wrap: wrap; gap: .35rem 1.5rem; padding: 0; margin: 0 0 1.5rem; }
nav { font-size: .95rem; margin-top: 2rem; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(11rem, 1fr)); gap: 1.5rem; margin: 2.25rem 0; }
.tiles div { display: flex; flex-direction: column-reverse; justify-content: flex-end; }
.tiles div { border-top: 1px solid var(--line); padding-top: .9rem; }
.tiles dd {
  margin: 0; font-size: 2rem; line-height: 1.2; font-weight: 650; color: var(--accent);
}
.tiles dt { color: var(--quiet); font-size: .95rem; line-height: 1.4; }
.wide { overflow-x: auto; margin: 1.25rem 0 1.75rem; }
table { border-collapse: collapse; font-size: .95rem; line-height: 1.45; font-variant-numeric: tabular-nums; }
caption { text-align: left; color: var(--quiet); font-size: .9rem; padding-bottom: .5rem; }
th, td { text-align: left; vertical-align: top; padding: .5rem 1.5rem .5rem 0; border-bottom: 1px solid var(--line); }
th:last-child, td:last-child { padding-right: 0; }
thead th { font-weight: 600; color: var(--quiet); border-bottom-color: var(--quiet); white-space: nowrap; }
tbody th { font-weight: 600; overflow-wrap: break-word; min-width: 5rem; max-width: 18rem; }
.counts td, .counts thead th:not(:first-child) { text-align: right; }
.columns :is(td, th):is(:nth-child(3), :nth-child(5)) { text-align: right; }
td { white-space: nowrap; }
.pair td { white-space: normal; }
.rows td { white-space: normal; overflow-wrap: break-word; max-width: 15rem; }
.rows td:is(:nth-child(3), :nth-child(4)) { min-width: 11.5rem; }
.rows td:last-child { max-width: none; }
.columns tbody th { min-width: 7rem; }
.columns td:nth-child(4) { white-space: normal; min-width: 19rem; }
.columns td:nth-child(2) { white-space: normal; min-width: 9rem; }
.prose td { white-space: normal; min-width: 16rem; }
.rows td:last-child { white-space: normal; min-width: 20rem; color: var(--quiet); font-size: .9rem; }
.rows b { font-weight: 600; color: var(--ink); }
.rows tbody th { min-width: 3rem; }
.cell { overflow-wrap: anywhere; }
.none { color: var(--quiet); }
.wrong { text-decoration: underline; text-decoration-color: #d55e00; text-decoration-thickness: 2px; }
.wrong { text-underline-offset: .25em; }
small { font-size: .85em; color: var(--quiet); }
code { font: .92em ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; overflow-wrap: anywhere; }
pre { background: var(--wash); padding: 1rem; white-space: pre-wrap; max-width: 42rem; margin: 0 0 1rem; }
.terms { display: grid; grid-template-columns: auto 1fr; gap: .35rem 1.25rem; font-size: .95rem; margin: 0 0 1.75rem; }
.terms dt { font-weight: 600; }
.terms dd { margin: 0; color: var(--quiet); }
.pair { display: grid; grid-template-columns: minmax(0, 1fr); gap: 0 2.5rem; align-items: start; }
.pair .wide { margin: 0 0 1rem; }
.pair table { width: 100%; }
figure { margin: 0 0 1rem; max-width: 32rem; }
figure.broad { max-width: 46rem; }
figure svg { display: block; width: 100%; height: auto; overflow: visible; }
figure svg text { font-family: inherit !important; }
.swatch { display: inline-block; width: 1.4rem; height: .65rem; flex: none; }
.named { display: inline-flex; gap: .5rem; align-items: baseline; }
@media (min-width: 58rem) { .pair { grid-template-columns: minmax(0, 29rem) minmax(0, 1fr); } }
@media (prefers-color-scheme: dark) { figure svg, .swatch { filter: brightness(1.3); } }
@media screen and (max-width: 40rem) {
  .cards, .cards tbody, .cards td, .cards caption { display: block; }
  .cards thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
  .cards tr { display: grid; grid-template-columns: 1fr; padding: .75rem 0; border-bottom: 1px solid var(--line); }
  .cards tbody th { border: 0; padding: 0 0 .25rem; max-width: none; }
  .cards.cards tbody td:nth-child(n) { border: 0; padding: .1rem 0; min-width: 0; text-align: left; }
  .cards.cards tbody td { white-space: normal; }
  .cards td::before { content: attr(data-head) ": "; color: var(--quiet); }
  .cards.rows tbody th::before { content: "Row "; }
  .cards.rows td:is(:nth-child(4), :last-child)::before { content: none; }
  thead th, .scores td { white-space: normal; }
}
@media (max-width: 30rem) {
  header { padding-top: 2rem; }
  h1 { font-size: 2rem; }
  h2 { margin-top: 3.5rem; }
  .tiles { grid-template-columns: 1fr; gap: 1rem; }
  .terms { grid-template-columns: 1fr; gap: 0; }
  .terms dd { margin-bottom: .6rem; }
  th, td { padding-right: .75rem; }
  table { font-size: .9rem; }
  .pair tbody th { min-width: 0; }
}
@media print {
  :root {
    color-scheme: light;
    --paper: #ffffff; --ink: #000000; --quiet: #444444; --line: #cccccc; --wash: #f5f5f5; --accent: #005a92;
  }
  html { font-size: 9pt; }
  header { padding-top: 0; }
  h2 { margin-top: 2.5rem; }
  .pair { grid-template-columns: minmax(0, 1fr) minmax(0, 1fr); gap: 0 1.5rem; }
  header, main, footer { max-width: none; padding-left: 0; padding-right: 0; }
  nav { display: none; }
  h2, h3, caption { break-after: avoid; }
  tr, figure, .pair, .tiles { break-inside: avoid; }
  .wide { overflow: visible; }
  td { white-space: normal; }
  .columns td:nth-child(4), .rows td:last-child { min-width: 14rem; }
}
"""


def page(title: str, headline: str, parts: Sequence[tuple[str, str, str]]) -> str:
    """The whole document; a part is its anchor, its title and its HTML."""
    links = "".join(f'<li><a href="#{name}">{heading}</a></li>' for name, heading, _ in parts)
    body = "".join(
        f'<section aria-labelledby="{name}"><h2 id="{name}">{heading}</h2>{html}</section>'
        for name, heading, html in parts
    )
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{text(title)}</title>\n<style>{CSS}</style>\n</head>\n<body>\n"
        f'<header><p class="kicker">Model report</p><h1>{text(title)}</h1>{headline}'
        f'<nav aria-label="Sections"><ul>{links}</ul></nav></header>\n'
        f"<main>\n{body}\n</main>\n"
        "<footer><p>Written by bayesnb, Bayesian naive Bayes.</p></footer>\n</body>\n</html>\n"
    )
