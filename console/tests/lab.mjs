// A quick run of martlet-lab, started and stopped in a real Chromium, and the report of another one.
// The Rust test starts the core and `martlet-lab serve`.
//
//     node lab.mjs TOOLS ADDRESS SCREENSHOTS   (the one-time password comes on standard input)
import assert from "node:assert/strict";
import { inBrowser } from "./browser.mjs";

// Longest time of a run, of a program that is not optimised and has the lowest priority.
const RUN_MS = 420_000;

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

  step("the report of a run, with its plots");
  await start.click();
  await page.getByText("The run has ended. Its report:").waitFor({ timeout: RUN_MS });
  const name = await page.getByRole("status").getByRole("link", { name: /^sbi-/ }).innerText();
  const listed = page.getByRole("region", { name: "Reports of martlet-lab" }).getByRole("row", { name: new RegExp(`^${name} sbi `) });
  const figures = Number((await listed.getByRole("cell").last().innerText()));
  assert.ok(figures > 0, "the list has the number of figures");
  await checkBoth("lab-runs");
  await page.getByRole("status").getByRole("link", { name }).click();
  await page.getByRole("heading", { name }).waitFor();
  const plots = page.locator("figure.plot");
  assert.ok(await plots.count() > 0, "the report has no plot");
  for (const plot of await plots.all()) {
    const file = await plot.locator("figcaption").innerText();
    await page.waitForFunction((alt) => document.querySelector(`img[alt="${alt}"]`)?.complete, `Plot: ${file.replace(/\.svg$/, "")}`);
    const size = await plot.getByRole("img", { name: `Plot: ${file.replace(/\.svg$/, "")}` }).evaluate((image) => [image.naturalWidth, image.naturalHeight]);
    assert.ok(size[0] > 100 && size[1] > 100, `${file} is ${size.join(" by ")}`);
  }
  const rows = await page.getByRole("region", { name: "Figures" }).locator("tbody tr").allInnerTexts();
  assert.equal(rows.length, figures, "all figures are shown");
  for (const row of rows) assert.match(row, /^\S+\s+[-\d.e+]+\s/, "a figure has a name and a value");
  const report = await page.locator("pre").innerText();
  assert.match(report, /sbi/i);
  assert.ok(report.length > 200, report);
  await checkBoth("lab-report");
});
