// A quick run of martlet-lab, started and stopped in a real Chromium. The Rust test starts the core
// and `martlet-lab serve`.
//
//     node lab.mjs TOOLS ADDRESS SCREENSHOTS   (the one-time password comes on standard input)
import assert from "node:assert/strict";
import { join } from "node:path";
import { openBrowser } from "./browser.mjs";

const [tools, address, screenshots] = process.argv.slice(2);
const { browser, page, check, please, read } = await openBrowser(tools, screenshots);
const step = (name) => console.log(`step ${name}`);

const folder = process.env.MARTLET_CONSOLE_FILES;
if (folder) await page.route(/\.(js|css)$/, (route) => route.fulfill({ path: join(folder, new URL(route.request().url()).pathname) }));

const go = async (name) => {
  await page.getByRole("navigation").getByRole("link", { name, exact: true }).click();
  await page.getByRole("heading", { level: 1, name }).waitFor();
};

try {
  const password = await read();
  await page.goto(`http://${address}`);
  await page.getByLabel("User").fill("admin");
  await page.getByLabel("Password").fill(password);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByLabel("Present password").fill(password);
  await page.getByLabel("New password").fill("a correct horse battery");
  await page.getByRole("button", { name: "Change password" }).click();
  await page.getByRole("heading", { name: "Overview" }).waitFor();

  step("nothing serves");
  await go("Lab");
  await page.getByText("No quick run can be started here").waitFor();
  await page.getByText("start martlet-lab serve", { exact: false }).waitFor();

  step("a run is started and stopped");
  await please("serve");
  await go("Overview");
  await go("Lab");
  await page.getByLabel("Experiment").selectOption("sbi");
  const start = page.getByRole("button", { name: "Start the run" });
  await start.click();
  await page.getByText("sbi begins").waitFor();
  assert.ok(await start.isDisabled(), "a second run could be started");
  await check("lab-run");
  await page.emulateMedia({ colorScheme: "dark" });
  await check("lab-run-dark");
  await page.emulateMedia({ colorScheme: "light" });
  await page.getByRole("button", { name: "Stop", exact: true }).click();
  await page.getByText("sbi begins").waitFor({ state: "detached" });
  assert.equal(await page.getByRole("link", { name: /^sbi-/ }).count(), 0, "a stopped run has a report");

  // The process ends a moment after its job.
  await page.waitForFunction(async () => !(await (await fetch("/api/v1/lab-runs")).json()).running);
  await page.waitForFunction(() => [...document.querySelectorAll("button")].some((button) => button.textContent === "Start the run" && !button.disabled));
  console.log("passed");
} catch (error) {
  await page.screenshot({ path: join(screenshots, "failed.png"), fullPage: true }).catch(() => {});
  console.log(`failed ${error.stack}`);
  process.exitCode = 1;
} finally {
  await browser.close();
  process.exit();
}
