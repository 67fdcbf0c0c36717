// The rows of a query in the order of their SUPI, read from the server in pages. An outdated page is
// read again alone, and takes the place of its old rows.
import { get } from "./api.js";

const PAGE = 200;

export class List {
  items = [];
  // Rows of all pages; unknown before the first page.
  total;
  // Pages that were read: the cursor, the SUPI before the first row, and the epoch of reading.
  #pages = [];
  // An epoch ends with each change at the server.
  #epoch = 0;
  // The cursor of the next page.
  #next = null;
  #appending = null;
  #renewing = false;
  #read;

  constructor(path, query) {
    this.#read = (cursor) => get(`${path}?limit=${PAGE}${cursor ? `&cursor=${encodeURIComponent(cursor)}` : ""}${query}`);
  }

  get hasMore() { return this.#next !== null; }

  // Reads the first page.
  start() { return this.#append(null); }

  // Reads the next page if a row is near the end. Returns whether it was read.
  async more(row) {
    if (!this.hasMore || this.#appending || row <= this.items.length - PAGE / 2) return false;
    this.#appending = this.#append(this.#next);
    try { return await this.#appending; } finally { this.#appending = null; }
  }

  async #append(cursor) {
    const epoch = this.#epoch;
    const page = await this.#read(cursor);
    // The last page may have been read again meanwhile.
    if (cursor !== this.#next) return false;
    this.#pages.push({ cursor, after: this.items.at(-1)?.supi ?? "", epoch });
    this.items = this.items.concat(page.items);
    this.#next = page.next ?? null;
    this.#count(page);
    return true;
  }

  // The first page alone may have the total.
  #count(page) { this.total = page.matching ?? page.total ?? this.total; }

  // All pages that were read are outdated.
  outdate() { this.#epoch += 1; }

  // Reads an outdated page of these rows again. `around` gets a function that puts the page in its
  // place. Returns whether there was one.
  async renew([first, last], around) {
    const from = this.items[first]?.supi ?? ""; const to = this.items[last - 1]?.supi ?? "";
    const isInSight = (page, n) => page.after <= to && !(this.#pages[n + 1]?.after < from);
    const page = this.#pages.find((one, n) => one.epoch !== this.#epoch && isInSight(one, n));
    if (!page || this.#renewing) return false;
    this.#renewing = true;
    try {
      const epoch = this.#epoch;
      const found = await this.#read(page.cursor);
      around(() => this.#replace(page, found));
      page.epoch = epoch;
      this.#count(found);
    } finally { this.#renewing = false; }
    return true;
  }

  // Puts a page in the place of the rows from its first to its last one.
  #replace(page, found) {
    const n = this.#pages.indexOf(page);
    const end = found.next ? found.items.at(-1).supi : null;
    const rest = end === null ? [] : this.items.slice(this.#upTo(end));
    this.items = [...this.items.slice(0, this.#upTo(page.after)), ...found.items, ...rest];
    if (!rest.length) {
      this.#pages.length = n + 1;
      this.#next = found.next ?? null;
      return;
    }
    // The next page begins behind this one, also if that has more or fewer rows now.
    const following = this.#pages.findIndex((other, k) => k > n && other.after >= end);
    const until = following < 0 ? this.#pages.length : following;
    const between = this.#pages[following]?.after === end ? [] : [{ cursor: found.next, after: end, epoch: -1 }];
    this.#pages.splice(n + 1, until - n - 1, ...between);
  }

  // The number of a row; of the next one, less one half, if it is gone.
  numberOf(supi) {
    const n = this.#upTo(supi);
    return this.items[n - 1]?.supi === supi ? n - 1 : n - 0.5;
  }

  // The number of rows up to a SUPI.
  #upTo(supi) {
    let [low, high] = [0, this.items.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.items[middle].supi <= supi) low = middle + 1; else high = middle;
    }
    return low;
  }
}
