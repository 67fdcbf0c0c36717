// A quick run of martlet-lab, started and stopped in a real Chromium. The Rust test starts the core
// and `martlet-lab serve`.
//
//     node lab.mjs TOOLS ADDRESS SCREENSHOTS   (the one-time password comes on standard input)
import assert from "node:assert/strict";
import { inBrowser } from "./browser.mjs";

await inBrowser(async ({ page, please, step, checkBoth, firstStart, go }) => {
  await firstStart();

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
  await checkBoth("lab-run");
  await page.getByRole("button", { name: "Stop", exact: true }).click();
  await page.getByText("sbi begins").waitFor({ state: "detached" });
  assert.equal(await page.getByRole("link", { name: /^sbi-/ }).count(), 0, "a stopped run has a report");

  // The process ends a moment after its job.
  await page.waitForFunction(async () => !(await (await fetch("/api/v1/lab-runs")).json()).running);
  await page.waitForFunction(() => [...document.querySelectorAll("button")].some((button) => button.textContent === "Start the run" && !button.disabled));
});
