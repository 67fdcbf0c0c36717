// Times of interactions in the page, from the input to the paint of its result.
import assert from "node:assert/strict";

// Medians of the browser's own work are below this, also on a busy machine. The promise is 100 ms;
// docs/measurements/footprint.md has measured values.
const LONGEST_MS = 1000;
// Margin until the entries of the last request and task are there.
const ENTRIES_MS = 60;

// Runs in the page: waits for the paint in which `shown` is true for the first time.
function watch({ shown, of, margin }) {
  const is = new Function("of", `return ${shown}`);
  const times = { began: null, requests: [], longest: 0 };
  const tasks = new PerformanceObserver((list) => { for (const one of list.getEntries()) times.longest = Math.max(times.longest, one.duration); });
  const requests = new PerformanceObserver((list) => { for (const one of list.getEntries()) times.requests.push([one.requestStart || one.startTime, one.responseEnd]); });
  const begin = (event) => { times.began ??= event.timeStamp; };
  const inputs = ["pointerdown", "keydown", "wheel", "change", "input"];
  // The time in which the server had a request.
  function atServer(ended) {
    let sum = 0; let until = times.began;
    for (const [from, to] of times.requests.sort((a, b) => a[0] - b[0])) {
      sum += Math.max(0, Math.min(to, ended) - Math.max(from, until));
      until = Math.max(until, Math.min(to, ended));
    }
    return sum;
  }
  globalThis.result = new Promise((resolve) => {
    const changed = new MutationObserver(() => { if (times.began !== null && is(of)) done(); });
    function done() {
      changed.disconnect();
      requestAnimationFrame(() => setTimeout(() => {
        const ended = performance.now();
        setTimeout(() => {
          for (const kind of inputs) removeEventListener(kind, begin, true);
          tasks.disconnect(); requests.disconnect();
          const server = atServer(ended);
          resolve({ own: ended - times.began - server, server, longest: times.longest });
        }, margin);
      }));
    }
    for (const kind of inputs) addEventListener(kind, begin, true);
    tasks.observe({ type: "longtask" });
    requests.observe({ type: "resource" });
    changed.observe(document.body, { subtree: true, childList: true, attributes: true, characterData: true });
  });
}

const median = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];

export class Interactions {
  #figures = new Map();

  constructor(page) { this.page = page; }

  // Does something, waits until the page shows its result, and notes the times. `shown` is an
  // expression in the page, with the value `of`.
  async timed(name, act, shown, of) {
    await this.page.evaluate(watch, { shown, of, margin: ENTRIES_MS });
    await act();
    const late = new Promise((_, reject) => { setTimeout(() => reject(new Error(`${name}: not shown`)), 90000).unref(); });
    const times = await Promise.race([this.page.evaluate(() => globalThis.result), late]);
    if (!this.#figures.has(name)) this.#figures.set(name, []);
    this.#figures.get(name).push(times);
  }

  // Prints and bounds the figures.
  report(title) {
    const ms = (value) => `${Math.round(value)}`.padStart(6);
    console.log(`figures ${title}; ms: number of times, median and longest of the browser's own work, longest task, median of the server`);
    for (const [name, times] of this.#figures) {
      const own = times.map((one) => one.own);
      const tasks = times.map((one) => one.longest); const server = times.map((one) => one.server);
      console.log(`figure ${name.padEnd(32)} ${`${own.length}`.padStart(6)} ${ms(median(own))} ${ms(Math.max(...own))} ${ms(Math.max(...tasks))} ${ms(median(server))}`);
    }
    for (const [name, times] of this.#figures) {
      const own = median(times.map((one) => one.own));
      assert.ok(own < LONGEST_MS, `${name}: ${own} ms`);
    }
  }
}
