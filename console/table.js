// A table of many rows, of which only those in sight are elements.
import { fill, h, say } from "./dom.js";
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
  let counted = "";

  function height() {
    const rem = parseFloat(getComputedStyle(document.documentElement).fontSize);
    return Math.ceil(rem * (matchMedia("(max-width: 48rem)").matches ? NARROW : HEIGHT));
  }

  // The rows in sight with a margin: the number of the first one, and of the one after the last.
  function inSight(each) {
    const first = Math.floor(view.scrollTop / each); const last = first + Math.ceil(view.clientHeight / each);
    return [Math.max(0, first - MARGIN), Math.min(list.length, last + MARGIN)];
  }

  function draw() {
    if (!list) return;
    const each = height(); const of = list;
    fit(each);
    // The head is a row, too. The number of rows is -1 if it is not known.
    const total = list.total ?? (list.hasMore ? -2 : list.length);
    view.setAttribute("aria-rowcount", total + 1);
    const part = list.hasMore ? (list.isFromEnd ? "last" : "first") : "all";
    const now = [list.total ?? (list.hasMore ? null : list.length), list.length, part];
    // A screen reader reads what is written again.
    if (now.join() !== counted) { counted = now.join(); count(...now); }
    const range = inSight(each);
    if (list.length) show(range, each); else showNothing();
    // What cannot be read now is read with the next scroll or change.
    list.more(range, (append) => keepPlace(of, each, append)).then((isRead) => isRead && of === list && draw()).catch(() => {});
    renew().catch(() => {});
  }

  const fit = (each) => { body.style.height = `${Math.max(list.length, 1) * each}px`; };

  // The row at the upper edge stays there if rows before it come or go.
  function keepPlace(of, each, change) {
    const top = Math.floor(view.scrollTop / each);
    const supi = of.at(top)?.supi;
    change();
    if (of !== list || supi === undefined || (!top && !of.isFromEnd)) return;
    const moved = Math.ceil(of.numberOf(supi)) - top;
    if (!moved) return;
    fit(each);
    view.scrollTop += moved * each;
  }

  function showNothing() {
    if (body.contains(document.activeElement)) view.focus({ preventScroll: true });
    drawn = new Map();
    fill(body, h("div", { role: "row" }, h("div", { role: "cell" }, T.nothing)));
  }

  // The element of a row stays while the row is in sight, with its focus and its selected text.
  function show([first, last], each) {
    if (!drawn.size) body.replaceChildren();
    const wanted = Array.from({ length: last - first }, (_, n) => [list.at(first + n), first + n]);
    // A row with the focus stays an element out of sight.
    const focused = [...drawn].find(([, { row }]) => row.contains(document.activeElement))?.[0];
    const n = focused === undefined ? first : list.numberOf(focused);
    if (!Number.isInteger(n)) view.focus({ preventScroll: true });
    else if (n < first) wanted.unshift([list.at(n), n]);
    else if (n >= last) wanted.push([list.at(n), n]);
    const kept = new Map(wanted.map(([item, number]) => {
      const old = drawn.get(item.supi);
      const row = old?.row ?? h("div", { role: "row" });
      if (old?.item !== item) write(row, item);
      if (list.before === null) row.removeAttribute("aria-rowindex");
      else row.setAttribute("aria-rowindex", list.before + number + 2);
      row.style.top = `${number * each}px`;
      return [item.supi, { item, row, number }];
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
    const isRenewed = await list.renew(inSight(each), (replace) => keepPlace(of, each, replace));
    if (isRenewed && of === list) draw();
  }

  let waits = false;
  const soon = () => { if (!waits) { waits = true; requestAnimationFrame(() => { waits = false; draw(); }); } };
  view.addEventListener("scroll", soon);
  new ResizeObserver(soon).observe(view);

  // Shows a row below the head and above the lower edge, and moves the focus to it; or shows it at
  // the upper edge.
  function goTo(to, isFocused) {
    const each = height(); const space = view.clientHeight - head.offsetHeight;
    fit(each);
    if (isFocused) view.scrollTop = Math.max((to + 1) * each - space, Math.min(to * each, view.scrollTop));
    else view.scrollTop = to * each;
    draw();
    if (isFocused) drawn.get(list.at(to)?.supi)?.row.querySelector("a, button")?.focus({ preventScroll: true });
  }

  // Goes to the first or the last of all rows, and reads the rows there if they are not read.
  async function goToEnd(isLast, isFocused) {
    if (!list) return;
    if (list.hasMore && list.isFromEnd !== isLast) {
      const mine = new List(path, query, isLast);
      coming = mine;
      await mine.start();
      if (coming !== mine) return;
      list = mine;
    }
    goTo(isLast ? list.length - 1 : 0, isFocused);
  }
  const jump = (isLast, isFocused) => goToEnd(isLast, isFocused).catch(() => say(T.notRead));
  const ends = h("div", { class: "buttons" }, h("button", { type: "button", onclick: () => jump(false, false) }, T.firstRow),
    h("button", { type: "button", onclick: () => jump(true, false) }, T.lastRow));

  // Keys in a row move the focus to another row. At the table itself they scroll, at once and by
  // whole rows, since the head covers some of what the browser would scroll.
  view.addEventListener("keydown", (event) => {
    const row = event.target.closest(".body [role=row]");
    if (event.ctrlKey || event.altKey || event.metaKey || event.shiftKey || !list) return;
    const each = height(); const space = view.clientHeight - head.offsetHeight;
    const page = Math.max(1, Math.floor(space / each));
    if (event.key === "Home" || event.key === "End") { event.preventDefault(); jump(event.key === "End", Boolean(row)); return; }
    const steps = { ArrowUp: -1, ArrowDown: 1, PageUp: -page, PageDown: page };
    if (!Object.hasOwn(steps, event.key)) return;
    event.preventDefault();
    const own = [...drawn.values()].find((one) => one.row === row);
    const from = own ? own.number : Math.round(view.scrollTop / each);
    goTo(Math.min(list.length - 1, Math.max(0, from + steps[event.key])), Boolean(row));
  });

  // Shows the rows of a filter. The place stays if the filter is the same.
  async function load(filter = query) {
    const isOther = filter !== query;
    const mine = new List(path, filter, !isOther && Boolean(list?.isFromEnd));
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

  return { view, ends, load, refresh };
}
