// Checks that the browser tests run inside a page. Each returns a list of what is
// wrong; none changes anything.

function describe(e) {
  return e.tagName.toLowerCase() + (typeof e.className === "string" && e.className ? "." + e.className : "") + " " + JSON.stringify((e.textContent || "").trim().slice(0, 40));
}

// seen leaves out what is there for screen readers only.
function seen(e) {
  if (e.closest(".hidden, .skip")) return false;
  const head = e.closest("thead");
  if (head && getComputedStyle(head).position === "absolute") return false;
  const r = e.getBoundingClientRect();
  return r.width > 0 && r.height > 0 && getComputedStyle(e).visibility !== "hidden";
}

// Nothing reaches beyond the viewport, but what scrolls in a region of its own.
function overflow() {
  const out = [], width = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth > width) out.push("the page is " + document.documentElement.scrollWidth + " wide in a viewport of " + width);
  for (const e of document.querySelectorAll("body *")) {
    if (!seen(e) || e.closest(".scroll table")) continue;
    const r = e.getBoundingClientRect();
    if (r.right > width + 0.5 || r.left < -0.5) out.push(describe(e) + " from " + r.left + " to " + r.right);
  }
  return out;
}

// A text wider than its own box runs into its neighbour.
function spill() {
  const out = [];
  for (const e of document.querySelectorAll("a, td, th, li, p, h1, h2, h3, span, time, figcaption, dd")) {
    if (!seen(e) || e.closest(".scroll table")) continue;
    if (getComputedStyle(e).display !== "inline" && e.scrollWidth > e.clientWidth + 1) out.push(describe(e) + ": " + e.scrollWidth + " in " + e.clientWidth);
  }
  return out;
}

function parse(color) {
  const m = color.match(/rgba?\(([\d.]+), ([\d.]+), ([\d.]+)(?:, ([\d.]+))?\)/);
  return m ? [+m[1], +m[2], +m[3], m[4] === undefined ? 1 : +m[4]] : [0, 0, 0, 0];
}

function luminance(c) {
  const f = v => { v /= 255; return v <= 0.04045 ? v / 12.92 : Math.pow((v + 0.055) / 1.055, 2.4); };
  return 0.2126 * f(c[0]) + 0.7152 * f(c[1]) + 0.0722 * f(c[2]);
}

function ground(e) {
  for (; e; e = e.parentElement) {
    const c = parse(getComputedStyle(e).backgroundColor);
    if (c[3] === 1) return c;
    if (c[3] > 0) throw new Error("a translucent background: " + describe(e));
  }
  return [255, 255, 255, 1];
}

// Every text has the contrast that WCAG 2 asks for at level AA.
function contrast() {
  const out = [], walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  let texts = 0;
  while (walker.nextNode()) {
    const e = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || !seen(e)) continue;
    texts++;
    const style = getComputedStyle(e), svg = e.closest("svg");
    const fg = parse(svg ? style.fill : style.color), bg = ground(svg ? svg.parentElement : e);
    const a = luminance(fg), b = luminance(bg), ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    const size = parseFloat(style.fontSize), large = size >= 24 || size >= 18.66 && +style.fontWeight >= 700;
    if (ratio < (large ? 3 : 4.5)) out.push(describe(e) + ": " + ratio.toFixed(2) + " for " + style.color + " on " + bg.slice(0, 3));
  }
  if (texts < 8) out.push("only " + texts + " texts");
  return out;
}

// What a reader without eyes, or without a mouse, depends on.
function structure() {
  const out = [], ids = new Set();
  if (document.documentElement.lang !== "en") out.push("no language");
  if (document.querySelectorAll("h1").length !== 1) out.push(document.querySelectorAll("h1").length + " h1");
  if (document.scripts.length) out.push("a script");
  for (const e of document.querySelectorAll("[id]")) {
    if (ids.has(e.id)) out.push("id twice: " + e.id);
    ids.add(e.id);
  }
  for (const a of document.querySelectorAll("a")) {
    const href = a.getAttribute("href");
    if (!href) out.push("no address: " + describe(a));
    else if (href.startsWith("#") && !ids.has(href.slice(1))) out.push("leads nowhere: " + href);
    else if (href.startsWith("/") || /^[a-z]+:/.test(href)) out.push("not relative: " + href);
    if (!a.textContent.trim()) out.push("no text: " + href);
  }
  for (const t of document.querySelectorAll("table")) {
    const columns = t.querySelectorAll("thead th").length;
    if (!columns) out.push("a table without heads");
    for (const r of t.querySelectorAll("tbody tr")) {
      let n = 0;
      for (const c of r.children) n += c.colSpan;
      if (n !== columns) out.push("a row of " + n + " cells below " + columns + " heads");
    }
  }
  for (const s of document.querySelectorAll("svg")) {
    if (!s.getAttribute("aria-label") && !s.closest("[aria-hidden=true]")) out.push("a picture without a label");
  }
  for (const i of document.querySelectorAll("input")) if (!document.querySelector('label[for="' + i.id + '"]')) out.push("an input without a label");
  let level = 1;
  for (const h of document.querySelectorAll("h1, h2, h3, h4")) {
    const n = +h.tagName[1];
    if (n > level + 1) out.push("h" + n + " after h" + level + ": " + h.textContent);
    level = n;
  }
  return out;
}

function stops() {
  return [...document.querySelectorAll("a[href], button, input, [tabindex='0']")];
}

// focused says which stop has the focus, and whether it can be seen.
function focused() {
  const e = document.activeElement;
  if (!e || e === document.body || e === document.documentElement) return "";
  const style = getComputedStyle(e), r = e.getBoundingClientRect(), ring = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2;
  const inside = r.left >= 0 && r.right <= innerWidth + 0.5 && r.bottom > 0 && r.top < innerHeight;
  return stops().indexOf(e) + (ring ? "" : " without a ring") + (inside ? "" : " out of sight at " + Math.round(r.left) + "," + Math.round(r.top)) + (ring && inside ? "" : ": " + describe(e));
}
