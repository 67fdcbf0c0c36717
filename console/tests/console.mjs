// The console in a real Chromium, against a live core. The Rust test starts both, and does what
// this script asks for.
//
//     node console.mjs TOOLS ADDRESS SCREENSHOTS   (the one-time password comes on standard input)
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { openBrowser } from "./browser.mjs";

const [tools, address, screenshots] = process.argv.slice(2);
const { browser, page, check, please, read } = await openBrowser(tools, screenshots);
const base = `http://${address}`;
const errors = [];
page.on("pageerror", (error) => errors.push(String(error)));
page.on("console", (message) => { if (message.type() === "error" && !/status of (4\d\d|502|504)/.test(message.text())) errors.push(message.text()); });
page.on("dialog", (dialog) => dialog.accept());
const foreign = [];
page.on("request", (request) => { if (!request.url().startsWith(base) && !/^(data|blob):/.test(request.url())) foreign.push(request.url()); });

const go = async (name) => {
  await page.getByRole("navigation").getByRole("link", { name, exact: true }).click();
  await page.getByRole("heading", { level: 1, name }).waitFor();
};
const step = (name) => console.log(`step ${name}`);

try {
  const password = await read();
  step("first start");
  await page.goto(base);
  await page.getByLabel("User").fill("admin");
  await page.getByLabel("Password").fill("wrong password");
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("alert").waitFor();
  await check("sign-in");
  await page.getByLabel("Password").fill(password);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading", { name: "Change password" }).waitFor();
  await page.getByLabel("Present password").fill(password);
  await page.getByLabel("New password").fill("a correct horse battery");
  await page.getByRole("button", { name: "Change password" }).click();
  await page.getByRole("heading", { name: "Overview" }).waitFor();

  step("a SIM batch");
  await go("Subscribers");
  const batch = page.locator("section", { has: page.getByRole("heading", { name: "SIM batch", exact: true }) });
  await batch.getByLabel("Name").fill("spring order");
  await batch.getByLabel("Number of SIMs").fill("5");
  await batch.getByLabel("First IMSI").fill("001010000001000");
  await batch.getByRole("button", { name: "Make the batch" }).click();
  await batch.getByRole("link", { name: "Save the keys (CSV)" }).waitFor();
  await page.getByRole("link", { name: "imsi-001010000001004" }).waitFor();
  await check("subscribers");

  step("an invalid field and a stale edit");
  await page.getByRole("link", { name: "imsi-001010000001000" }).click();
  await page.getByLabel("UE AMBR uplink").fill("fast");
  await page.getByRole("button", { name: "Save" }).click();
  await page.locator("#e-ambr_uplink", { hasText: "100 Mbps" }).waitFor();
  await page.getByLabel("UE AMBR uplink").fill("10 Mbps");
  await please("edit");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Someone else changed this meanwhile").waitFor();
  await check("conflict");
  await page.getByRole("button", { name: "Load the current version" }).click();
  await page.getByText("Someone else changed this meanwhile").waitFor({ state: "detached" });
  await page.getByLabel("UE AMBR uplink").fill("10 Mbps");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("link", { name: "imsi-001010000001000" }).waitFor();

  step("a UE registers and appears without a reload");
  await go("UEs");
  await please("register");
  await page.getByRole("link", { name: "imsi-001010000000001" }).waitFor();
  await check("ues");
  await page.getByRole("link", { name: "imsi-001010000000001" }).click();
  await page.getByText("PDU session 1").waitFor();
  await page.getByRole("region", { name: "Rules in the datapath" }).waitFor();
  await check("ue");

  step("its messages are recorded");
  await page.getByRole("button", { name: "Record messages" }).click();
  await page.getByText(/^Recording: /).waitFor();
  await please("register again");
  const diagram = page.getByRole("img", { name: /^Ladder diagram of \d+ messages/ });
  await diagram.getByText("SBI Nsmf_pdusession", { exact: false }).first().waitFor();
  await page.getByRole("button", { name: "Stop", exact: true }).click();
  await page.getByText(/^Recorded \d+ messages/).waitFor();
  const registration = await page.locator("#f-procedure option", { hasText: ". RegistrationRequest" }).first().getAttribute("value");
  await page.locator("#f-procedure").selectOption(registration);
  await diagram.getByText("NAS RegistrationAccept").waitFor();
  assert.equal(await diagram.getByText("PduSessionEstablishmentRequest").count(), 0, "another procedure");
  await page.getByRole("heading", { name: "Messages", exact: true }).evaluate((heading) => heading.scrollIntoView());
  await check("ue-messages");
  await page.emulateMedia({ colorScheme: "dark" });
  await page.getByText("The same as a table").click();
  await page.getByRole("cell", { name: "RegistrationAccept" }).waitFor();
  await check("ue-messages-dark");
  await page.emulateMedia({ colorScheme: "light" });
  const downloading = page.waitForEvent("download");
  await page.getByRole("link", { name: "Download for Wireshark" }).click();
  const file = readFileSync(await (await downloading).path());
  // The magic of a section header block (pcapng).
  assert.equal(file.readUInt32LE(0), 0x0a0d0d0a);

  step("why another UE is refused");
  await please("refuse");
  await go("UEs");
  await page.getByLabel("Look up a UE that was refused").fill("001010000000002");
  await page.locator("form", { has: page.getByLabel("Look up a UE that was refused") }).getByRole("button").click();
  await page.getByText("What to do:").first().waitFor();
  const reason = await page.locator(".cause").first().innerText();
  assert.match(reason, /SIM|K and OPc|subscriber/, reason);
  await check("refused");

  step("trace");
  await go("User plane");
  await page.getByLabel("Seconds").fill("3");
  await page.getByRole("button", { name: "Start the trace" }).click();
  await please("traffic");
  await page.getByText(/\(succeeded\)/).waitFor({ timeout: 15000 });
  const packets = await page.getByText(/\d+ Packets, /).innerText();
  assert.doesNotMatch(packets, /^0 /, packets);
  await check("user-plane");

  step("radio");
  await go("Radio");
  await page.getByText("gnb-1").first().waitFor();
  await check("radio");

  step("the map");
  await go("Map");
  await page.getByLabel("Locate a UE").fill("001010000000001");
  await page.getByRole("button", { name: "Locate" }).click();
  await page.locator("ellipse").waitFor();
  await check("map");

  step("a policy is changed");
  await go("Services and policies");
  const text = page.getByLabel("Configuration file");
  await text.fill(`${await text.inputValue()}pcf: { default_5qi: 8 }\n`);
  await page.getByRole("button", { name: "Check" }).click();
  await page.getByText("+ pcf: { default_5qi: 8 }").waitFor();
  await check("policies");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText(/pcf: /).first().waitFor();

  step("a report of the lab");
  await go("Lab");
  await page.getByRole("link", { name: "sbi-1" }).click();
  await page.getByRole("cell", { name: "12 – 13" }).waitFor();
  const plot = page.getByRole("img", { name: "Plot: latency" });
  await plot.waitFor();
  assert.equal(await plot.evaluate((image) => image.naturalWidth), 400, "the plot is not shown");
  await check("lab");

  step("roles, backup");
  await go("Administration");
  const users = page.locator("section", { has: page.getByRole("heading", { name: "Users" }) });
  await users.getByLabel("Name").fill("vera");
  await users.locator("#f-role").selectOption("viewer");
  await users.getByLabel("First password").fill("first passphrase");
  await users.getByRole("button", { name: "Add a user" }).click();
  await users.getByRole("cell", { name: "vera", exact: true }).waitFor();
  await page.getByLabel("New folder on the core's machine").fill(await please("folder"));
  await page.getByRole("button", { name: "Make a backup" }).click();
  await page.getByText("Restore it with martlet restore").waitFor();
  await check("administration");

  step("overview, dark, phone, wall");
  await go("Overview");
  await page.getByRole("img", { name: /gNBs, / }).waitFor();
  await page.waitForTimeout(2500);
  await check("overview");
  await page.emulateMedia({ colorScheme: "dark" });
  await check("overview-dark");
  await page.emulateMedia({ colorScheme: "light" });
  await page.setViewportSize({ width: 375, height: 700 });
  await check("overview-phone");
  const wide = await page.evaluate(() => document.documentElement.scrollWidth);
  assert.ok(wide <= 376, `the page is ${wide} pixels wide on a phone`);
  await page.setViewportSize({ width: 2560, height: 1440 });
  await check("overview-wall");
  await page.setViewportSize({ width: 1280, height: 900 });

  step("keyboard");
  await page.goto(base);
  await page.getByRole("heading", { name: "Overview" }).waitFor();
  await page.evaluate(() => document.activeElement.blur());
  await page.keyboard.press("Tab");
  assert.equal(await page.evaluate(() => document.activeElement.className), "skip");

  step("a viewer");
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByLabel("User").fill("vera");
  await page.getByLabel("Password").fill("first passphrase");
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByLabel("Present password").fill("first passphrase");
  await page.getByLabel("New password").fill("another passphrase");
  await page.getByRole("button", { name: "Change password" }).click();
  await go("Subscribers");
  assert.equal(await page.getByRole("button", { name: "Make the batch" }).count(), 0);
  await go("Administration");
  await page.getByText("Only administrators see this page.").waitFor();

  const paint = await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime);
  console.log(`figure first_paint_ms ${paint?.toFixed(0)}`);
  assert.deepEqual(errors, [], "errors of the page");
  assert.deepEqual(foreign, [], "requests to other origins");
  console.log("passed");
} catch (error) {
  await page.screenshot({ path: join(screenshots, "failed.png"), fullPage: true }).catch(() => {});
  console.log(`failed ${error.stack}`);
  console.log(`errors ${JSON.stringify(errors)}`);
  process.exitCode = 1;
} finally {
  await browser.close();
  process.exit();
}
