// The lines of the overview's picture, in a real Chromium. The Rust test starts the core with two
// gNBs, a second UPF that does not answer, and UEs that send.
//
//     node lines.mjs TOOLS ADDRESS SCREENSHOTS   (the one-time password comes on standard input)
import assert from "node:assert/strict";
import { inBrowser } from "./browser.mjs";

await inBrowser(async ({ page, please, step, checkBoth, firstStart, go, confirm }) => {
  await firstStart();
  const figures = page.locator(".picture .on-line");
  // The cells of a line as text: interface, from, to, uplink, downlink.
  const row = async (name) => {
    const found = page.getByRole("region", { name: "Lines of the network" }).getByRole("row").filter({ hasText: name });
    return (await found.getByRole("cell").allInnerTexts()).map((text) => text.trim());
  };
  const until = async (what, is) => {
    for (let n = 0; n < 240; n += 1) {
      if (await is()) return;
      await page.waitForTimeout(250);
    }
    assert.fail(`not so within a minute: ${what}`);
  };

  step("lines without traffic");
  await page.getByText("Throughput of each line").click();
  await page.getByText("No figures of the UPF 127.0.0.77:8805: it").waitFor();
  await until("both gNBs have a line", async () => (await row("gnb-1")).length === 5 && (await row("gnb-2")).length === 5);
  // The sessions have just been tried.
  await until("the lines are idle", async () => (await row("gnb-1"))[3] === "0.0 bit/s"
    && await page.locator(".picture .line.busy").count() === 0);
  // Three UPFs report. A box has the figure of the line to the first one, and that of the sum of
  // the others: those of two gNBs, and of the data networks.
  const networks = (await figures.allTextContents()).length - 4;
  assert.ok(networks >= 2 && networks % 2 === 0, `${networks} figures of data networks`);
  const sums = page.locator(".picture .on-line", { hasText: "+2 UPFs" });
  assert.deepEqual(await sums.allTextContents(), Array(2 + networks / 2).fill("+2 UPFs ↑ 0.0 ↓ 0.0"));

  step("one line has traffic, and its figure");
  await please("send at the first gNB");
  // 20 packets of 52 bytes per second and direction are 8.3 kbit/s.
  await until("the figure of the first gNB", async () => /^\+2 UPFs ↑ [6-9]\.\d\sk ↓ [6-9]\.\d\sk$/.test(await sums.first().textContent()));
  assert.equal(await figures.first().textContent(), "↑ 0.0 ↓ 0.0");
  assert.equal(await sums.nth(1).textContent(), "+2 UPFs ↑ 0.0 ↓ 0.0");
  assert.match((await row("gnb-1"))[3], /^[6-9]\.\d kbit\/s$/);
  assert.equal((await row("gnb-2"))[3], "0.0 bit/s");
  assert.match((await row("internet"))[4], /^[6-9]\.\d kbit\/s$/);
  // The line of the gNB, and that of the data network.
  await until("two lines are busy", async () => await page.locator(".picture .line.busy").count() === 2);

  step("the other one, too");
  await please("send at both gNBs");
  await until("the figure of the data network changes", async () => /^1[4-9] kbit\/s$/.test((await row("internet"))[3]));
  assert.match((await row("gnb-2"))[4], /^[6-9]\.\d kbit\/s$/);
  await until("three lines are busy", async () => await page.locator(".picture .line.busy").count() === 3);
  await checkBoth("overview-lines");
  await page.setViewportSize({ width: 375, height: 700 });
  await page.locator(".picture").scrollIntoViewIfNeeded();
  await checkBoth("overview-lines-phone");
  await page.locator("details.lines").scrollIntoViewIfNeeded();
  await checkBoth("overview-lines-phone-text");
  await page.setViewportSize({ width: 1280, height: 900 });

  step("many gNBs share a box");
  await please("ten more gNBs");
  await page.locator(".picture").getByText("… 4 gNBs").waitFor();
  await checkBoth("overview-lines-many");

  step("a lost gNB is shown first, without a line");
  await go("Radio");
  await page.getByRole("row", { name: /gnb-12/ }).getByRole("button", { name: "Abort the association" }).click();
  await confirm("Abort the association");
  await go("Overview");
  await page.locator(".picture .node.bad + text").filter({ hasText: "gnb-12: lost" }).waitFor();
  await please("stop");
  await until("the lines are idle again", async () => await page.locator(".picture .line.busy").count() === 0);
  await checkBoth("overview-lines-lost");
});
