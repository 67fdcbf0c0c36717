// Debian's Chromium by Playwright, axe, and the talk with the Rust test that starts a script: the
// script prints `do NAME`, and reads a line when that is done.
//
//     node SCRIPT TOOLS ADDRESS SCREENSHOTS
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

const PASSWORD = "a correct horse battery";
// How long something is waited for, on a busy machine.
const LONGEST_MS = 90000;

// Runs a script in a browser, and ends the process: with a screenshot and status 1 if the script
// or the page failed. Errors of answers with an expected status are none.
export async function inBrowser(script, expected = /status of (4\d\d|502|504)/) {
  const [tools, address, screenshots] = process.argv.slice(2);
  const { browser, page, axe, profile } = await open(tools);
  const base = `http://${address}`;
  const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
  const read = async () => (await lines.next()).value;
  const please = async (name) => { console.log(`do ${name}`); return read(); };
  const step = (name) => console.log(`step ${name}`);
  const errors = [];
  page.on("pageerror", (error) => errors.push(String(error)));
  page.on("console", (message) => {
    // Pages of an identity provider are its own matter.
    const { url } = message.location();
    const isOurs = !url || url.startsWith(base);
    if (message.type() === "error" && isOurs && !expected.test(message.text())) errors.push(message.text());
  });
  // The console asks by itself.
  page.on("dialog", (dialog) => { errors.push(`a dialog of the browser: ${dialog.message()}`); dialog.dismiss(); });

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
  // Runs something with the dark theme.
  async function inDark(then) {
    await page.emulateMedia({ colorScheme: "dark" });
    await then();
    await page.emulateMedia({ colorScheme: "light" });
  }
  const checkDark = (name) => inDark(() => check(`${name}-dark`));
  async function checkBoth(name) { await check(name); await checkDark(name); }

  // The element with the focus stays the same one while something changes, and the selected text of
  // another one stays selected.
  async function keepsFocus(focused, selected, change) {
    await focused.focus();
    await selected.evaluate((element) => getSelection().selectAllChildren(element));
    const before = await page.evaluate(() => { globalThis.kept = document.activeElement; return getSelection().toString(); });
    await change();
    const after = await page.evaluate(() => ({ text: getSelection().toString(), at: document.activeElement.outerHTML.slice(0, 200),
      kept: globalThis.kept.isConnected && globalThis.kept === document.activeElement }));
    await page.evaluate(() => getSelection().removeAllRanges());
    assert.ok(after.kept, `the focus is lost; it is at ${after.at}`);
    assert.ok(before.length > 0 && after.text === before, `selected: ${JSON.stringify(after.text)}, before ${JSON.stringify(before)}`);
  }
  // Waits until the page has read a path of the API so many times, and has drawn it.
  async function reads(path, times) {
    for (let n = 0; n < times; n += 1) await page.waitForResponse((response) => new URL(response.url()).pathname.endsWith(path));
    await page.waitForTimeout(200);
  }

  async function signIn(user, password) {
    await page.getByLabel("User").fill(user);
    await page.getByLabel("Password").fill(password);
    await page.getByRole("button", { name: "Sign in", exact: true }).click();
  }
  // Replaces a one-time password.
  async function changePassword(old, next) {
    await page.getByLabel("Present password").fill(old);
    await page.getByLabel("New password").fill(next);
    await page.getByRole("button", { name: "Change password" }).click();
    await page.getByRole("heading", { name: "Overview" }).waitFor();
  }
  // The first administrator signs in with the one-time password, the first line of the input.
  async function firstStart() {
    const password = await read();
    await page.goto(base);
    await signIn("admin", password);
    await changePassword(password, PASSWORD);
  }
  async function go(name) {
    await page.getByRole("navigation").getByRole("link", { name, exact: true }).click();
    await page.getByRole("heading", { level: 1, name }).waitFor();
  }

  // Confirms what the console asks.
  async function confirm(action) {
    const dialog = page.getByRole("dialog", { name: action, exact: true });
    await dialog.getByRole("button", { name: action, exact: true }).click();
    await dialog.waitFor({ state: "detached" });
  }

  try {
    await script({ page, base, read, please, step, check, checkBoth, checkDark, inDark, keepsFocus, reads, signIn, changePassword, firstStart, go, confirm });
    assert.deepEqual(errors, [], "errors of the page");
    console.log("passed");
  } catch (error) {
    await page.screenshot({ path: join(screenshots, "failed.png"), fullPage: true }).catch(() => {});
    console.log(`failed ${error.stack}`);
    console.log(`errors ${JSON.stringify(errors)}`);
    process.exitCode = 1;
  } finally {
    await browser.close();
    rmSync(profile, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
    process.exit();
  }
}

async function open(tools) {
  const require = createRequire(join(tools, "package.json"));
  const { chromium } = require("playwright-core");
  const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
  const profile = mkdtempSync(join(tmpdir(), "martlet-chromium-"));
  const browser = await chromium.launchPersistentContext(profile, {
    executablePath: "/usr/bin/chromium", headless: true, viewport: { width: 1280, height: 900 },
    timeout: LONGEST_MS,
    args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
      "--disable-background-networking", "--disable-component-update", "--disable-sync"],
  });
  const page = browser.pages()[0] ?? await browser.newPage();
  page.setDefaultTimeout(LONGEST_MS);
  // Files of a folder in place of those in the program, to try a change without building it.
  const folder = process.env.MARTLET_CONSOLE_FILES;
  if (folder) await page.route(/\.(js|css)$/, (route) => route.fulfill({ path: join(folder, new URL(route.request().url()).pathname) }));
  return { browser, page, axe, profile };
}
