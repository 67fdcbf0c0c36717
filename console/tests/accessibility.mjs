// Success criteria of WCAG 2.2 on all pages, at 320 pixels of width, which is 1280 at 400 %, and at
// 1280. The Rust test starts the core and registers a UE.
//
//     node accessibility.mjs TOOLS ADDRESS SCREENSHOTS   (the one-time password on standard input)
import { inBrowser } from "./browser.mjs";
import { focusStaysInSight, keepsForcedColours, nothingMoves, reflows, targetsAreLarge } from "./wcag.mjs";

const PAGES = ["Overview", "UEs", "Subscribers", "Radio", "User plane", "Map", "Services and policies", "Lab", "Administration"];

await inBrowser(async ({ page, base, step, check, firstStart, go }) => {
  await firstStart();
  for (const [width, height] of [[320, 640], [1280, 900]]) {
    step(`reflow, targets, the focus in sight at ${width} pixels`);
    await page.setViewportSize({ width, height });
    for (const name of [...PAGES, "a UE", "a subscriber"]) {
      if (PAGES.includes(name)) await go(name);
      else {
        await page.goto(`${base}/#/${name === "a UE" ? "ues/imsi-001010000000001" : "subscribers/new"}`);
        await page.getByRole("heading", { level: 2 }).first().waitFor();
      }
      await page.waitForTimeout(300);
      await reflows(page, name);
      await targetsAreLarge(page, name);
      await focusStaysInSight(page, name);
    }
  }
  step("forced colours and reduced motion");
  for (const name of ["Overview", "Map"]) {
    await go(name);
    await page.waitForTimeout(300);
    await keepsForcedColours(page, name.toLowerCase(), check);
  }
  await nothingMoves(page);
});
