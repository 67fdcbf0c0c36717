// The rows of a query in the order of their SUPI, read from the server in pages, from the first or
// from the last row on. An outdated page is read again alone, and takes the place of its old rows.
import { get } from "./api.js";

const PAGE = 200;

export class List {
  // Rows of all pages; unknown before the first page, or if the server counts without the filter.
  total;
  // The rows in the order of reading.
  #items = [];
  // Pages that were read: the cursor, the SUPI before the first row, and the epoch of reading.
  #pages = [];
  // An epoch ends with each change at the server.
  #epoch = 0;
  // The cursor of the next page.
  #next = null;
  #appending = null;
  #renewing = false;
  #read; #isFiltered;

  constructor(path, query, isFromEnd = false) {
    this.isFromEnd = isFromEnd;
    this.#isFiltered = query !== "";
    this.#read = (cursor) => get(`${path}?limit=${PAGE}${isFromEnd ? "&order=desc" : ""}${cursor ? `&cursor=${encodeURIComponent(cursor)}` : ""}${query}`);
  }

  get hasMore() { return this.#next !== null; }
  get length() { return this.#items.length; }

  // A row by its number among those that were read, in ascending order.
  at(n) { return this.#items[this.isFromEnd ? this.length - 1 - n : n]; }

  // Rows that are not read before the first one; null if it is not known.
  get before() {
    if (!this.isFromEnd || !this.hasMore) return 0;
    return this.total === undefined ? null : Math.max(0, this.total - this.length);
  }

  // Reads the first page.
  start() { return this.#append(null, (append) => append()); }

  // Reads the next page if one of these rows is near it. `around` gets a function that adds the rows.
  // Returns whether it was read.
  async more([first, last], around) {
    const reach = this.isFromEnd ? this.length - first : last;
    if (!this.hasMore || this.#appending || reach <= this.length - PAGE / 2) return false;
    this.#appending = this.#append(this.#next, around);
    try { return await this.#appending; } finally { this.#appending = null; }
  }

  async #append(cursor, around) {
    const epoch = this.#epoch;
    const page = await this.#read(cursor);
    // The last page may have been read again meanwhile.
    if (cursor !== this.#next) return false;
    around(() => {
      this.#pages.push({ cursor, after: this.#items.at(-1)?.supi ?? (this.isFromEnd ? "~" : ""), epoch });
      this.#items = this.#items.concat(page.items);
      this.#next = page.next ?? null;
      this.#count(page);
    });
    return true;
  }

  // `matching` counts with the filter, and `total`, which the first page alone may have, without.
  #count(page) { this.total = page.matching ?? (this.#isFiltered ? undefined : page.total ?? this.total); }

  // All pages that were read are outdated.
  outdate() { this.#epoch += 1; }

  // Reads an outdated page of these rows again. `around` gets a function that puts the page in its
  // place. Returns whether there was one.
  async renew([first, last], around) {
    const ends = [this.at(first)?.supi ?? "", this.at(last - 1)?.supi ?? ""];
    const [from, to] = this.isFromEnd ? ends.reverse() : ends;
    const isInSight = (page, n) => !this.#isBefore(to, page.after) && !(this.#pages[n + 1] && this.#isBefore(this.#pages[n + 1].after, from));
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
    const rest = end === null ? [] : this.#items.slice(this.#upTo(end));
    this.#items = [...this.#items.slice(0, this.#upTo(page.after)), ...found.items, ...rest];
    if (!rest.length) {
      this.#pages.length = n + 1;
      this.#next = found.next ?? null;
      return;
    }
    // The next page begins behind this one, also if that has more or fewer rows now.
    const following = this.#pages.findIndex((other, k) => k > n && !this.#isBefore(other.after, end));
    const until = following < 0 ? this.#pages.length : following;
    const between = this.#pages[following]?.after === end ? [] : [{ cursor: found.next, after: end, epoch: -1 }];
    this.#pages.splice(n + 1, until - n - 1, ...between);
  }

  // The number of a row; of the next one, less one half, if it is gone.
  numberOf(supi) {
    const n = this.#upTo(supi);
    const isThere = this.#items[n - 1]?.supi === supi;
    if (this.isFromEnd) return this.length - n - (isThere ? 0 : 0.5);
    return isThere ? n - 1 : n - 0.5;
  }

  // Whether a SUPI is before another one in the order of reading.
  #isBefore(one, other) { return this.isFromEnd ? one > other : one < other; }

  // The number of rows up to a SUPI in the order of reading.
  #upTo(supi) {
    let [low, high] = [0, this.#items.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#isBefore(supi, this.#items[middle].supi)) high = middle; else low = middle + 1;
    }
    return low;
  }
}
