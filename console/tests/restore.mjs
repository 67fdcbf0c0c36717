// Backup and restore in a real Chromium: the Rust test starts the core, changes a subscriber
// meanwhile, and starts the core again.
//
//     node restore.mjs TOOLS ADDRESS SCREENSHOTS   (standard input: the one-time password)
import assert from "node:assert/strict";
import { inBrowser } from "./browser.mjs";

const PASSWORD = "a correct horse battery";
const SUBSCRIBER = "imsi-001010000000001";

await inBrowser(async ({ page, please, step, checkBoth, firstStart, signIn, go }) => {
  await firstStart();
  const section = page.locator("section", { has: page.getByRole("heading", { name: "Backup and restore" }) });
  const shown = (name) => section.getByRole("heading", { name }).evaluate((heading) => heading.scrollIntoView({ block: "center" }));
  const value = (name) => section.locator("dt", { hasText: name }).first().locator("xpath=following-sibling::dd[1]").textContent();
  const msisdn = () => page.evaluate(async (supi) => (await (await fetch(`/api/v1/subscribers/${supi}`)).json()).msisdn ?? null, SUBSCRIBER);

  step("a backup");
  const folder = await please("folder");
  const before = await msisdn();
  await go("Administration");
  await section.getByLabel("New folder on the core's machine").fill(folder);
  await section.getByRole("button", { name: "Make a backup" }).click();
  await section.getByText(`Made in ${folder}.`).waitFor();
  await section.getByRole("cell", { name: folder, exact: true }).waitFor();

  step("what is no backup");
  await section.getByText("Restore a backup from another folder").click();
  const other = section.getByLabel("Folder of the backup on the core's machine");
  await other.fill(await please("damaged folder"));
  await section.getByRole("button", { name: "Check the backup" }).click();
  await section.locator("#e-backup-folder", { hasText: "is damaged" }).waitFor();
  await checkBoth("restore-refused");

  step("a preview that becomes stale");
  await please("change");
  assert.notEqual(await msisdn(), before);
  const restore = section.getByRole("button", { name: `Restore… ${folder}` });
  await restore.click();
  await section.getByRole("heading", { name: "What the restore changes" }).waitFor();
  assert.equal(await page.evaluate(() => document.activeElement.textContent), "What the restore changes");
  assert.equal(await value("Subscribers that get their data of the backup"), "1");
  assert.equal(await value("Subscribers that are lost"), "0");
  await shown("What the restore changes");
  await checkBoth("restore-preview");
  await please("add");
  await section.getByRole("button", { name: "Restore at the next start" }).click();
  await section.getByText("Someone else changed this meanwhile").waitFor();
  await section.getByRole("button", { name: "Load the current version" }).click();
  await section.getByText("Someone else changed this meanwhile").waitFor({ state: "detached" });
  assert.equal(await value("Subscribers that are lost"), "1");

  step("staged, withdrawn, staged");
  await section.getByRole("button", { name: "Restore at the next start" }).click();
  await section.getByRole("heading", { name: "A restore waits" }).waitFor();
  assert.equal(await page.evaluate(() => document.activeElement.textContent), "Withdraw the restore");
  await shown("A restore waits");
  await checkBoth("restore-staged");
  await section.getByRole("button", { name: "Withdraw the restore" }).click();
  await section.getByRole("heading", { name: "A restore waits" }).waitFor({ state: "detached" });
  await restore.click();
  await section.getByRole("button", { name: "Restore at the next start" }).click();
  await section.getByRole("heading", { name: "A restore waits" }).waitFor();
  assert.notEqual(await msisdn(), before, "nothing is restored before the start");

  step("the core starts again");
  await please("start again");
  await page.reload();
  await signIn("admin", PASSWORD);
  await page.getByRole("navigation").waitFor();
  await go("Administration");
  await section.getByRole("heading", { name: "Last restore" }).waitFor();
  await section.getByText(/^Carried out at/).waitFor();
  assert.equal(await msisdn(), before, "the subscriber is as before");
  await page.getByRole("cell", { name: "restore.carry-out" }).waitFor();
  await shown("Last restore");
  await checkBoth("restored");
}, /status of (4\d\d|502|504)|ERR_CONNECTION|ERR_INCOMPLETE|Failed to load resource/);
