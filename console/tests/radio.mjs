// The page of the radio network in a real Chromium: deviations of a gNB, and the question before its
// association is aborted. The Rust test starts the core and the gNBs.
//
//     node radio.mjs TOOLS ADDRESS SCREENSHOTS   (the one-time password comes on standard input)
import assert from "node:assert/strict";
import { inBrowser } from "./browser.mjs";

await inBrowser(async ({ page, please, step, check, checkBoth, reads, firstStart, go }) => {
  await firstStart();

  step("gNBs without deviations");
  await go("Radio");
  await page.getByText("gnb-1", { exact: true }).first().waitFor();
  await page.getByText("Deviations that are tolerated: none").waitFor();
  assert.equal(await page.getByText("deviates", { exact: true }).count(), 0);

  step("deviations of a gNB are shown");
  await please("connect a gNB that deviates");
  const gnbs = page.getByRole("region", { name: "gNBs", exact: true });
  const deviating = gnbs.getByRole("row", { name: /00101-000002/ });
  await deviating.getByText("deviates", { exact: true }).waitFor();
  assert.equal(await gnbs.getByText("deviates", { exact: true }).count(), 1, "the other gNB deviates");
  const quirks = page.getByRole("region", { name: "Deviations that are tolerated" });
  await quirks.getByRole("row", { name: /^AMF N2 element_order \S+ [3-9]$/ }).waitFor();
  await quirks.evaluate((element) => element.scrollIntoView());
  await checkBoth("radio-deviations");

  step("a question before the association is aborted");
  const abort = deviating.getByRole("button", { name: "Abort the association" });
  const dialog = page.getByRole("dialog", { name: "Abort the association" });
  const focused = () => page.evaluate(() => ({ text: document.activeElement.textContent, inside: Boolean(document.activeElement.closest("dialog")) }));
  const isBack = () => abort.evaluate((button) => document.activeElement === button);
  await abort.click();
  await dialog.getByText(/^Abort the association with \S*00101-000002\? Its UEs lose their connection\.$/).waitFor();
  assert.deepEqual(await focused(), { text: "Cancel", inside: true });
  for (const key of ["Tab", "Tab", "Shift+Tab", "Shift+Tab", "Tab", "Tab", "Tab"]) {
    await page.keyboard.press(key);
    assert.ok((await focused()).inside, `${key}: the focus left the dialog`);
  }
  assert.equal((await focused()).text, "Abort the association");
  // The page is read again behind it.
  await reads("/gnbs", 1);
  assert.ok((await focused()).inside, "the focus left the dialog");
  await checkBoth("confirm");
  await page.setViewportSize({ width: 320, height: 640 });
  await check("confirm-phone");
  const box = await dialog.boundingBox();
  assert.ok(box.x >= 0 && box.x + box.width <= 320, `the dialog is cut: ${JSON.stringify(box)}`);
  await page.setViewportSize({ width: 1280, height: 900 });
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
  assert.ok(await isBack(), "the focus is not where it was");
  await abort.click();
  await dialog.getByRole("button", { name: "Cancel" }).click();
  await dialog.waitFor({ state: "detached" });
  assert.ok(await isBack(), "the focus is not where it was");
  await reads("/gnbs", 1);
  await deviating.waitFor();
  // Another page is Cancel.
  await abort.click();
  await dialog.waitFor();
  await page.goBack();
  await dialog.waitFor({ state: "detached" });
  await go("Radio");
  await deviating.waitFor();

  step("the association is aborted");
  await abort.click();
  await dialog.getByRole("button", { name: "Abort the association" }).click();
  await dialog.waitFor({ state: "detached" });
  await deviating.waitFor({ state: "detached" });
  const interfaces = page.getByRole("region", { name: "Interfaces" });
  await interfaces.getByRole("row", { name: /^N2 \S*00101-000002 down its association has ended$/ }).waitFor();
  await interfaces.getByRole("row", { name: /^N2 gnb-1 up / }).waitFor();
  await checkBoth("radio-lost");
});
