// A table of many rows, of which only those in sight are elements.
import { fill, h } from "./dom.js";
import { List } from "./list.js";
import { T } from "./text.js";

// Heights of a row in rem; in a narrow window it has two lines.
const HEIGHT = 2.3;
const NARROW = 3.6;
// Rows before and after those in sight that are elements.
const MARGIN = 6;

export function rows({ label, heads, path, cells, count }) {
  const body = h("div", { class: "body", role: "rowgroup" });
  const head = h("div", { class: "head", role: "rowgroup" }, h("div", { role: "row", "aria-rowindex": 1 },
    heads.map((text) => h("div", { role: "columnheader" }, text))));
  const view = h("div", { class: "rows", role: "table", "aria-label": label, tabindex: 0 }, head, body);
  let list = null;
  // The list that is read, and its query.
  let coming = null; let query = "";
  // The elements by the SUPI of their row, in the order of the rows.
  let drawn = new Map();

  function height() {
    const rem = parseFloat(getComputedStyle(document.documentElement).fontSize);
    return Math.ceil(rem * (matchMedia("(max-width: 48rem)").matches ? NARROW : HEIGHT));
  }

  // The rows in sight with a margin: the number of the first one, and of the one after the last.
  function inSight(each) {
    const first = Math.floor(view.scrollTop / each); const last = first + Math.ceil(view.clientHeight / each);
    return [Math.max(0, first - MARGIN), Math.min(list.items.length, last + MARGIN)];
  }

  function draw() {
    if (!list) return;
    const each = height(); const of = list;
    body.style.height = `${Math.max(list.items.length, 1) * each}px`;
    // The head is a row, too. The number of rows is -1 if it is not known.
    const total = list.total ?? (list.hasMore ? -2 : list.items.length);
    view.setAttribute("aria-rowcount", total + 1);
    count(list.total ?? list.items.length, list.items.length);
    const range = inSight(each);
    if (list.items.length) show(range, each); else showNothing();
    // What cannot be read now is read with the next scroll or change.
    list.more(range[1]).then((isRead) => isRead && of === list && draw()).catch(() => {});
    renew().catch(() => {});
  }

  function showNothing() {
    if (body.contains(document.activeElement)) view.focus({ preventScroll: true });
    drawn = new Map();
    fill(body, h("div", { role: "row" }, h("div", { role: "cell" }, T.nothing)));
  }

  // The element of a row stays while the row is in sight, with its focus and its selected text.
  function show([first, last], each) {
    if (!drawn.size) body.replaceChildren();
    const wanted = list.items.slice(first, last).map((item, n) => [item, first + n]);
    // A row with the focus stays an element out of sight.
    const focused = [...drawn].find(([, { row }]) => row.contains(document.activeElement))?.[0];
    const n = focused === undefined ? first : list.numberOf(focused);
    if (!Number.isInteger(n)) view.focus({ preventScroll: true });
    else if (n < first) wanted.unshift([list.items[n], n]);
    else if (n >= last) wanted.push([list.items[n], n]);
    const kept = new Map(wanted.map(([item, number]) => {
      const old = drawn.get(item.supi);
      const row = old?.row ?? h("div", { role: "row" });
      if (old?.item !== item) write(row, item);
      row.setAttribute("aria-rowindex", number + 2);
      row.style.top = `${number * each}px`;
      return [item.supi, { item, row }];
    }));
    for (const [supi, { row }] of drawn) if (!kept.has(supi)) row.remove();
    let at = body.firstChild;
    for (const { row } of kept.values()) {
      if (row === at) at = at.nextSibling; else body.insertBefore(row, at);
    }
    drawn = kept;
  }

  // Replaces the cells that differ.
  function write(row, item) {
    cells(item).forEach((content, n) => {
      const cell = h("div", { role: "cell" }, content);
      const old = row.children[n];
      if (!old) row.append(cell); else if (!old.isEqualNode(cell)) old.replaceWith(cell);
    });
  }

  // Reads an outdated page in sight again; then the next one, by drawing.
  async function renew() {
    const each = height(); const of = list;
    const isRenewed = await list.renew(inSight(each), (replace) => {
      const top = Math.floor(view.scrollTop / each);
      const supi = of.items[top]?.supi ?? "";
      replace();
      // The row at the upper edge stays there if rows before it came or went.
      const moved = Math.ceil(of.numberOf(supi)) - top;
      if (of !== list || !top || !moved) return;
      body.style.height = `${of.items.length * each}px`;
      view.scrollTop += moved * each;
    });
    if (isRenewed && of === list) draw();
  }

  let waits = false;
  const soon = () => { if (!waits) { waits = true; requestAnimationFrame(() => { waits = false; draw(); }); } };
  view.addEventListener("scroll", soon);
  new ResizeObserver(soon).observe(view);

  // Keys in a row move the focus to another row. At the table itself they scroll, at once and by
  // whole rows, since the head covers some of what the browser would scroll.
  view.addEventListener("keydown", (event) => {
    const row = event.target.closest(".body [role=row]");
    if (event.ctrlKey || event.altKey || event.metaKey || event.shiftKey || !list) return;
    const each = height(); const space = view.clientHeight - head.offsetHeight;
    const page = Math.max(1, Math.floor(space / each));
    const steps = { ArrowUp: -1, ArrowDown: 1, PageUp: -page, PageDown: page, Home: -Infinity, End: Infinity };
    if (!Object.hasOwn(steps, event.key)) return;
    event.preventDefault();
    const from = row ? row.getAttribute("aria-rowindex") - 2 : Math.round(view.scrollTop / each);
    const to = Math.min(list.items.length - 1, Math.max(0, from + steps[event.key]));
    // The row is below the head, and above the lower edge.
    if (row) view.scrollTop = Math.max((to + 1) * each - space, Math.min(to * each, view.scrollTop));
    else view.scrollTop = to * each;
    draw();
    if (row) drawn.get(list.items[to].supi).row.querySelector("a, button")?.focus({ preventScroll: true });
  });

  // Shows the rows of a filter. The place stays if the filter is the same.
  async function load(filter = query) {
    const isOther = filter !== query;
    const mine = new List(path, filter);
    [coming, query] = [mine, filter];
    await mine.start();
    if (coming !== mine) return;
    list = mine;
    if (isOther) view.scrollTop = 0;
    draw();
  }

  // Shows what has changed, and keeps the rows and the place.
  async function refresh() {
    coming?.outdate();
    if (list !== coming) list?.outdate();
    if (list) await renew(); else await load();
  }

  return { view, load, refresh };
}
