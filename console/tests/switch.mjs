// Offload of a hot flow to a programmable switch, as the page of the user plane shows it, in a real
// Chromium. The Rust test starts the core with the switch, and sends traffic.
//
//     node switch.mjs TOOLS ADDRESS SCREENSHOTS   (the one-time password comes on standard input)
import assert from "node:assert/strict";
import { inBrowser } from "./browser.mjs";

await inBrowser(async ({ page, please, step, checkBoth, firstStart, go }) => {
  await firstStart();

  step("a session on the native path");
  await please("register");
  await go("User plane");
  const offload = page.locator("section", { has: page.getByRole("heading", { name: "Offload of hot flows to the switch" }) });
  const value = (name) => offload.locator("dt", { hasText: name }).locator("xpath=following-sibling::dd[1]");
  await value("Sessions of the UPF").getByText("1", { exact: true }).waitFor();
  assert.match(await value("Sessions on the switch").innerText(), /^0 \//);
  assert.equal(await offload.getByRole("row").count(), 0, "a session has moved already");

  step("a board without sensors");
  const board = page.getByRole("region", { name: "Temperature and governor" });
  await board.getByRole("row", { name: "Temperature The board has no sensor of it." }).waitFor();
  await board.getByRole("row", { name: "governor off" }).waitFor();

  step("it moves while it is hot, and back when it is cold");
  const moves = offload.getByRole("region", { name: "Moves of the last minutes" });
  const onSwitch = value("Sessions on the switch").getByText(/^1 \//).waitFor();
  const rule = page.getByRole("region", { name: "Rules in the datapath" }).getByRole("cell", { name: "switch", exact: true }).first().waitFor();
  await please("hot traffic");
  await onSwitch;
  await rule;
  await moves.getByRole("row", { name: /^\d\d:\d\d:\d\d 1 0$/ }).waitFor();
  await value("Sessions on the switch").getByText(/^0 \//).waitFor();
  await moves.getByRole("row", { name: /^\d\d:\d\d:\d\d 0 1$/ }).waitFor();
  await checkBoth("user-plane-switch");

  step("the overview has the switch");
  await go("Overview");
  await page.locator(".picture").getByText("Switch", { exact: true }).waitFor();
  await page.locator(".picture").getByText("0 PDU sessions", { exact: true }).waitFor();
  assert.equal(await page.locator(".picture .node.bad").count(), 0);
  await checkBoth("overview-switch");
});
