// Debian's Chromium by Playwright, axe, and the talk with the Rust test that starts a script: the
// script prints `do NAME`, and reads a line when that is done.
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

export async function openBrowser(tools, screenshots) {
  const require = createRequire(join(tools, "package.json"));
  const { chromium } = require("playwright-core");
  const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
  const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
  const read = async () => (await lines.next()).value;
  const please = async (name) => { console.log(`do ${name}`); return read(); };

  const profile = mkdtempSync(join(tmpdir(), "martlet-chromium-"));
  const browser = await chromium.launchPersistentContext(profile, {
    executablePath: "/usr/bin/chromium", headless: true, viewport: { width: 1280, height: 900 },
    args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
      "--disable-background-networking", "--disable-component-update", "--disable-sync"],
  });
  const page = browser.pages()[0] ?? await browser.newPage();

  async function check(name) {
    // The policy of the page allows no script of another origin; Playwright evaluates this one.
    await page.evaluate(axe);
    const found = await page.evaluate(async () => (await globalThis.axe.run(document, {
      runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"],
    })).violations.map((v) => `${v.id}: ${v.nodes.map((node) => `${node.target} ${node.failureSummary}`).join("; ")}`));
    assert.deepEqual(found, [], `axe on ${name}`);
    await page.screenshot({ path: join(screenshots, `${name}.png`), fullPage: false });
    console.log(`page ${name}`);
  }
  return { browser, page, check, please, read };
}
