// A table of many rows, of which only those in sight are elements. Pages come from the server.
import { fill, h } from "./dom.js";
import { get } from "./api.js";
import { T } from "./text.js";

const HEIGHT = 37;
const PAGE = 200;

export function rows({ label, heads, path, cells, count }) {
  const body = h("div", { class: "body", role: "rowgroup" });
  const head = h("div", { role: "rowgroup" }, h("div", { role: "row", class: "head" },
    heads.map((text) => h("div", { role: "columnheader" }, text))));
  const view = h("div", { class: "rows", role: "table", "aria-label": label, tabindex: 0 }, head, body);
  let items = []; let next = null; let loading = false; let query = ""; let version = 0; let all;
  // Wider rows on a phone.
  const height = () => (matchMedia("(max-width: 40rem)").matches ? 58 : HEIGHT);

  async function more() {
    if (loading) return;
    loading = true;
    const mine = version;
    try {
      const cursor = next ? `&cursor=${encodeURIComponent(next)}` : "";
      const page = await get(`${path}?limit=${PAGE}${cursor}${query}`);
      if (mine !== version) return;
      items = items.concat(page.items);
      next = page.next ?? null;
      // The first page alone may have the total.
      all = page.matching ?? page.total ?? all;
      count?.(all, items.length);
    } finally {
      if (mine === version) loading = false;
    }
    draw();
  }

  function draw() {
    const each = height();
    body.style.height = `${Math.max(items.length, 1) * each}px`;
    view.setAttribute("aria-rowcount", items.length + 1);
    const first = Math.max(0, Math.floor(view.scrollTop / each) - 5);
    const last = Math.min(items.length, first + Math.ceil(view.clientHeight / each) + 12);
    if (!items.length) {
      fill(body, h("div", { role: "row" }, h("div", { role: "cell" }, T.nothing)));
      return;
    }
    fill(body, items.slice(first, last).map((item, n) => {
      const row = h("div", { role: "row", "aria-rowindex": first + n + 2 },
        cells(item).map((cell) => h("div", { role: "cell" }, cell)));
      row.style.top = `${(first + n) * each}px`;
      return row;
    }));
    if (next && last > items.length - PAGE / 2) more();
  }

  view.addEventListener("scroll", () => requestAnimationFrame(draw));

  async function load(filter = query) {
    version += 1;
    query = filter; next = null; loading = false;
    const mine = version;
    const page = await get(`${path}?limit=${PAGE}${query}`);
    if (mine !== version) return;
    items = page.items; next = page.next ?? null; all = page.matching ?? page.total;
    count?.(all, items.length);
    draw();
  }

  return { view, load };
}
