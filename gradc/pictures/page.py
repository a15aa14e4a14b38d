"""The page of a report: its style and its script; it loads nothing and needs no network."""

from __future__ import annotations

from gradc.pictures.style import FONT, SANS, variables

STYLE = (
    variables(":root")
    + f"""
*{{box-sizing:border-box}}
body{{margin:0;background:var(--bg);color:var(--ink);font:14px/1.5 {SANS}}}
header{{display:flex;align-items:baseline;gap:14px;padding:14px 22px;
  border-bottom:1px solid var(--line);background:var(--panel);flex-wrap:wrap}}
h1{{font:600 18px {FONT};margin:0}}
header .what{{color:var(--soft)}}
header .counts{{margin-left:auto;color:var(--soft);font-size:13px}}
button{{font:inherit;color:var(--soft);background:none;border:1px solid var(--line);
  border-radius:6px;padding:2px 10px;cursor:pointer}}
button:hover,button[aria-selected=true]{{color:var(--ink);border-color:var(--accent)}}
main{{display:grid;grid-template-columns:minmax(300px,27%) 1fr minmax(340px,33%);
  height:calc(100vh - 58px)}}
section{{overflow:auto;min-width:0;border-right:1px solid var(--line)}}
section:last-child{{border-right:0}}
h2{{font:600 12px {SANS};letter-spacing:.04em;color:var(--soft);margin:0;padding:12px 18px 8px;
  position:sticky;top:0;background:var(--bg);z-index:1}}
nav{{display:flex;gap:6px;padding:10px 18px 8px;position:sticky;top:0;background:var(--bg);
  z-index:1;flex-wrap:wrap}}
.code{{font:12.5px/1.55 {FONT};padding:0 0 18px;min-width:max-content}}
.row{{padding:0 18px;white-space:pre}}
.row .at{{color:var(--soft);display:inline-block;width:3.2em;text-align:right;margin-right:1.2em;
  user-select:none}}
.file{{color:var(--soft);padding:6px 18px 2px;font:12px {SANS}}}
[data-lines]{{cursor:default}}
.row[data-lines]:hover,.row.lit,.rule.lit{{background:var(--mark)}}
.pinned{{box-shadow:inset 3px 0 var(--accent)}}
.rule{{padding:6px 18px 8px;border-bottom:1px solid var(--line)}}
.rule b{{font:600 13px {FONT}}} .rule .kind{{color:var(--soft);font-size:12px;margin-left:.6em}}
.rule .equation,.rule .change{{font:12px/1.5 {FONT};white-space:pre-wrap}}
.rule .change{{color:var(--good)}} .rule .why{{color:var(--soft);font-size:13px}}
.picture{{padding:6px 14px 20px}}
.picture svg{{max-width:none!important}} .picture.fits svg{{max-width:100%!important}}
h2 button{{font-size:11px;padding:0 8px;margin-left:8px}}
.empty{{padding:6px 18px;color:var(--soft)}}
[hidden]{{display:none!important}}
@media (max-width:1000px){{main{{display:block;height:auto}}section{{border-right:0;
  border-bottom:1px solid var(--line);max-height:none}}}}
@media print{{main{{display:block;height:auto}}button{{display:none}}}}
"""
)

SCRIPT = """
(function () {
  const all = [...document.querySelectorAll('[data-line],[data-lines]')];
  const linesOf = e => (e.dataset.line || e.dataset.lines || '').split(' ').filter(Boolean);
  const byLine = new Map();
  for (const e of all) for (const l of linesOf(e)) {
    if (!byLine.has(l)) byLine.set(l, []);
    byLine.get(l).push(e);
  }
  let pinned = null;
  const clear = () => document.querySelectorAll('.lit').forEach(e => e.classList.remove('lit'));
  const light = lines => {
    clear();
    for (const l of lines) for (const e of byLine.get(l) || []) e.classList.add('lit');
  };
  const owner = t => t.closest && t.closest('[data-line],.row[data-lines],.rule[data-lines]');
  document.addEventListener('mouseover', event => {
    const e = owner(event.target);
    if (e) light(linesOf(e)); else if (pinned) light(linesOf(pinned)); else clear();
  });
  document.addEventListener('click', event => {
    const e = owner(event.target);
    if (!e) return;
    document.querySelectorAll('.pinned').forEach(x => x.classList.remove('pinned'));
    pinned = pinned === e ? null : e;
    if (!pinned) return;
    e.classList.add('pinned');
    for (const panel of document.querySelectorAll('section')) {
      if (panel.contains(e)) continue;
      const other = [...panel.querySelectorAll('.lit')].find(x => x.getClientRects().length);
      if (other) other.scrollIntoView({block: 'center', inline: 'nearest', behavior: 'smooth'});
    }
  });
  const tabs = [...document.querySelectorAll('nav button')];
  for (const tab of tabs) tab.addEventListener('click', () => {
    for (const other of tabs) {
      const on = other === tab;
      other.setAttribute('aria-selected', on);
      document.getElementById(other.dataset.panel).hidden = !on;
    }
  });
  const first = document.querySelector('.picture .box');
  if (first) first.scrollIntoView({block: 'nearest', inline: 'center'});
  document.getElementById('fit').addEventListener('click', event => {
    const fits = document.querySelector('.picture').classList.toggle('fits');
    event.target.textContent = fits ? 'full size' : 'whole';
  });
  document.getElementById('theme').addEventListener('click', () => {
    const root = document.documentElement;
    const dark = root.dataset.theme ? root.dataset.theme === 'dark'
      : matchMedia('(prefers-color-scheme: dark)').matches;
    root.dataset.theme = dark ? 'light' : 'dark';
  });
})();
"""
