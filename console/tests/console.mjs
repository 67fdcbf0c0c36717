// The console in a real Chromium, against a live core. The Rust test starts both, and does what
// this script asks for.
//
//     node console.mjs TOOLS ADDRESS SCREENSHOTS   (the one-time password comes on standard input)
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { inBrowser } from "./browser.mjs";
import { labelsAreApart, manyLabelsAreApart } from "./labels.mjs";
import { reflows } from "./wcag.mjs";

// A picture of some rooms.
const plan = () => readFileSync(new URL("./plan.png", import.meta.url));

const PAGES = ["Overview", "UEs", "Subscribers", "Radio", "User plane", "Map", "Services and policies", "Lab", "Administration"];
// A name with markup, which would run a script if it became one.
const MARKUP = "<img src=x onerror=\"document.title='run'\"> <b>spring</b>";
const fileOf = (name) => name.toLowerCase().replaceAll(" ", "-");

// A subscriber as Open5GS exports it, with a rule that Martlet does not have in a subscriber.
const open5gs = (imsi, msisdn) => ({ imsi, msisdn: [msisdn], security: { k: "465B5CE8B199B49FAA5F0A2EE238A6BC", opc: "E8ED289DEBA952E4283B54E88E6183CA", amf: "8000" },
  slice: [{ sst: 1, default_indicator: true, session: [{ name: "internet", type: 1, pcc_rule: [{ qos: { index: 1 } }],
    qos: { index: 9, arp: { priority_level: 8, pre_emption_capability: 1, pre_emption_vulnerability: 1 } } }] }] });

await inBrowser(async ({ page, base, read, please, step, check, checkBoth, checkDark, inDark, keepsFocus, reads, signIn, changePassword, go, confirm }) => {
  const foreign = [];
  page.on("request", (request) => { if (!request.url().startsWith(base) && !/^(data|blob):/.test(request.url())) foreign.push(request.url()); });

  const password = await read();
  step("first start");
  await page.goto(base);
  await signIn("admin", "wrong password");
  await page.getByRole("alert").waitFor();
  await checkBoth("sign-in");
  await signIn("admin", password);
  await page.getByRole("heading", { name: "Change password" }).waitFor();
  await checkBoth("password");
  await changePassword(password, "a correct horse battery");

  step("elements change in place");
  const order = await page.evaluate(async () => {
    const { update } = await import("/update.js");
    const { h } = await import("/dom.js");
    const box = h("div"); document.body.append(box);
    const pressed = [];
    const item = (key, n) => h("li", { "data-key": key }, h("button", { onclick: () => pressed.push(`${key}${n}`) }, `${key} ${n}`));
    const show = (keys, n, ...more) => update(box, more, h("ul", {}, keys.split("").map((key) => item(key, n))), h("details", {}, h("summary", {}, "more"), String(n)));
    const found = []; const focused = () => document.activeElement.textContent;
    show("abcd", 1);
    box.querySelector("details").open = true;
    box.querySelector("[data-key=c] button").focus();
    const first = document.activeElement;
    // Another order, rows that come and go, an element before the list, and its end.
    for (const [n, keys, ...more] of [[2, "dcba"], [3, "bca"], [4, "xcyb", h("p", {}, "new")], [5, "cyx"], [6, "yxbc", "text"], [7, "acb"]]) {
      show(keys, n, ...more);
      document.activeElement.click();
      found.push(`${[...box.querySelectorAll("li")].map((one) => one.dataset.key).join("")} ${focused()} ${document.activeElement === first}`);
    }
    show("ab", 8);
    const last = [box.contains(document.activeElement), box.querySelector("details").open, box.textContent];
    box.remove();
    return { found, pressed, last };
  });
  assert.deepEqual(order, {
    found: ["dcba c 2 true", "bca c 3 true", "xcyb c 4 true", "cyx c 5 true", "yxbc c 6 true", "acb c 7 true"],
    pressed: ["c2", "c3", "c4", "c5", "c6", "c7"], last: [true, true, "a 8b 8more8"],
  });

  step("a SIM batch");
  await go("Subscribers");
  const batch = page.locator("section", { has: page.getByRole("heading", { name: "SIM batch", exact: true }) });
  await batch.getByLabel("Name").fill(MARKUP);
  await batch.getByLabel("Number of SIMs").fill("5");
  await batch.getByLabel("First IMSI").fill("001010000001000");
  await batch.getByRole("button", { name: "Make the batch" }).click();
  await batch.getByRole("link", { name: "Save the keys (CSV)" }).waitFor();
  await page.getByRole("link", { name: "imsi-001010000001004" }).waitFor();
  // Text is never markup.
  await page.getByRole("region", { name: "SIM batches" }).getByRole("cell", { name: MARKUP, exact: true }).waitFor();
  assert.equal(await page.locator("main img, main b").count(), 0, "text became elements");
  await checkBoth("subscribers");

  step("a bulk import with a preview of what changes and what is lost");
  const imports = page.locator("section", { has: page.getByRole("heading", { name: "Bulk import", exact: true }) });
  await imports.getByLabel("Text: CSV").fill("not a file of subscribers");
  await imports.getByRole("button", { name: "Preview" }).click();
  await imports.getByRole("alert").waitFor();
  await imports.getByLabel("Text: CSV").fill(JSON.stringify([open5gs("001010000001001", "491700000011"), open5gs("001010000002001", "491700000012")]));
  await imports.getByRole("button", { name: "Preview" }).click();
  await imports.getByText("1 new, 1 changed, 0 equal").waitFor();
  await imports.getByText(/would be lost: .*pcc_rule/).waitFor();
  await imports.getByRole("row", { name: "imsi-001010000001001 changed msisdn – 491700000011" }).waitFor();
  await imports.getByRole("row", { name: "imsi-001010000001001 changed key (hidden) (hidden)" }).waitFor();
  await imports.getByRole("row", { name: "imsi-001010000002001 new – – –" }).waitFor();
  await imports.evaluate((section) => section.scrollIntoView());
  await checkBoth("import");
  await imports.getByRole("button", { name: "Import", exact: true }).click();
  await imports.getByRole("alert").getByText("fields would be lost").waitFor();
  await imports.getByLabel("Import although fields are lost").check();
  await imports.getByRole("button", { name: "Import", exact: true }).click();
  await imports.getByRole("alert").getByText("some of the subscribers exist").waitFor();
  await imports.getByLabel("Text: CSV").fill(JSON.stringify(open5gs("001010000002001", "491700000012")));
  await imports.getByRole("button", { name: "Import", exact: true }).click();
  await page.getByRole("link", { name: "imsi-001010000002001" }).waitFor();
  await page.locator("#f-search").fill("491700000012");
  await page.locator("#f-search").press("Enter");
  await page.getByText("imsi-001010000001001", { exact: true }).first().waitFor({ state: "detached" });
  await page.getByRole("link", { name: "imsi-001010000002001" }).waitFor();

  step("a subscriber is added");
  await page.getByRole("link", { name: "Add a subscriber" }).click();
  await page.getByRole("heading", { name: "Add a subscriber" }).waitFor();
  await page.getByRole("button", { name: "Save" }).click();
  await page.locator("#e-key", { hasText: "32 hexadecimal digits" }).waitFor();
  await checkBoth("subscriber-new");
  // The focus goes where the next step is when an item goes.
  await page.getByRole("button", { name: "Remove: Data network internet" }).click();
  assert.equal(await page.evaluate(() => document.activeElement.textContent), "Add a data network to the slice");
  await page.getByRole("link", { name: "Cancel" }).click();
  await page.getByRole("link", { name: "imsi-001010000002001" }).waitFor();

  step("a subscriber whose SUPI is a network-specific identifier");
  await page.getByRole("link", { name: "Add a subscriber" }).click();
  await page.locator("#f-supi").fill("nai-sensor@plant.example");
  await page.locator("#f-key").fill("465B5CE8B199B49FAA5F0A2EE238A6BC");
  await page.locator("#f-opc").fill("E8ED289DEBA952E4283B54E88E6183CA");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("heading", { name: "Subscribers", level: 1 }).waitFor();
  await page.locator("#f-search").fill("sensor@plant.example");
  await page.locator("#f-search").press("Enter");
  await page.getByText("imsi-001010000002001", { exact: true }).first().waitFor({ state: "detached" });
  await page.getByRole("link", { name: "nai-sensor@plant.example" }).click();
  await page.getByRole("heading", { name: "Change: nai-sensor@plant.example" }).waitFor();
  assert.equal(await page.getByLabel("UE AMBR uplink").inputValue(), "1 Gbps");
  await page.getByRole("link", { name: "Cancel" }).click();
  await page.getByRole("link", { name: "imsi-001010000002001" }).waitFor();

  step("a group, and a change of many with a preview");
  const many = page.locator("section", { has: page.getByRole("heading", { name: "Groups and changes of many" }) });
  await many.getByLabel("First digits of the IMSI").fill("00101000000100");
  await many.getByLabel("Join groups").fill("sensors");
  await many.getByRole("button", { name: "Preview the change" }).click();
  await many.getByText("5 subscribers match, 5 would change").waitFor();
  await many.getByRole("button", { name: "Apply the change" }).click();
  await many.getByText("5 subscribers were changed.").waitFor();
  await many.getByRole("cell", { name: "sensors", exact: true }).waitFor();
  await many.getByLabel("First digits of the IMSI").fill("");
  await many.locator('[name="select.group"]').fill("sensors");
  await many.getByLabel("Join groups").fill("");
  await many.getByLabel("UE AMBR uplink for all").fill("fast");
  await many.getByRole("button", { name: "Preview the change" }).click();
  await many.locator("#e-ambr_uplink", { hasText: "100 Mbps" }).waitFor();
  await many.getByLabel("UE AMBR uplink for all").fill("5 Mbps");
  await many.getByRole("button", { name: "Preview the change" }).click();
  await many.getByRole("cell", { name: "5 Mbps" }).first().waitFor();
  await many.scrollIntoViewIfNeeded();
  await many.getByRole("heading", { name: "Groups and changes of many" }).evaluate((heading) => heading.scrollIntoView());
  await checkBoth("groups");
  await many.getByRole("button", { name: "Apply the change" }).click();
  await many.getByText("5 subscribers were changed.").waitFor();
  await page.locator("#f-group").selectOption("sensors");
  await page.getByText("imsi-001010000000001").waitFor({ state: "detached" });

  step("an invalid field and a stale edit");
  await page.getByRole("link", { name: "imsi-001010000001000" }).click();
  await page.getByRole("heading", { name: "Change: imsi-001010000001000" }).waitFor();
  await page.getByLabel("UE AMBR uplink").fill("fast");
  await page.getByRole("button", { name: "Save" }).click();
  await page.locator("#e-ambr_uplink", { hasText: "100 Mbps" }).waitFor();
  assert.equal(await page.locator("#f-groups").inputValue(), "sensors");
  await page.getByLabel("UE AMBR uplink").fill("10 Mbps");
  const network = page.getByRole("group", { name: "Data network internet" });
  await network.getByLabel("ARP priority level").fill("16");
  await page.getByRole("button", { name: "Save" }).click();
  await page.locator('[id="e-slices[0].dnns[0].arp_priority"]', { hasText: "1" }).waitFor();
  await checkBoth("subscriber");
  await network.getByLabel("ARP priority level").fill("7");
  await please("edit");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Someone else changed this meanwhile").waitFor();
  await check("conflict");
  await page.getByRole("button", { name: "Load the current version" }).click();
  await page.getByText("Someone else changed this meanwhile").waitFor({ state: "detached" });
  await page.getByLabel("UE AMBR uplink").fill("10 Mbps");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("link", { name: "imsi-001010000001000" }).waitFor();

  step("a subscriber is removed");
  await page.getByRole("link", { name: "imsi-001010000001004" }).click();
  await page.getByRole("button", { name: "Remove", exact: true }).click();
  await page.getByRole("dialog").getByText("Remove the subscriber imsi-001010000001004 with its keys?", { exact: false }).waitFor();
  await check("confirm-subscriber");
  await confirm("Remove");
  await page.getByRole("link", { name: "imsi-001010000001003" }).waitFor();
  assert.equal(await page.getByRole("link", { name: "imsi-001010000001004" }).count(), 0);

  step("a UE registers and appears without a reload");
  await go("UEs");
  await please("register");
  await page.getByRole("link", { name: "imsi-001010000000001" }).waitFor();
  await checkBoth("ues");
  await page.getByRole("link", { name: "imsi-001010000000001" }).click();
  await page.getByText("PDU session 1").waitFor();
  await page.locator("summary", { hasText: "Rules in the datapath" }).click();
  await page.getByRole("region", { name: "Rules in the datapath" }).waitFor();
  // Throughput is the difference of two readings: it is there while packets pass.
  const flowNow = () => page.getByRole("region", { name: "QoS flows" }).getByRole("cell", { name: /^[1-9][\d.]* k?bit\/s$/ }).first().waitFor();
  const flowSeen = flowNow();
  await please("traffic");
  await flowSeen;
  const counted = page.getByRole("region", { name: "Rules in the datapath" }).getByRole("row", { name: /^xdp \d+ Uplink [1-9]\d* [1-9]\d* / });
  await counted.first().waitFor();
  // The counters are read every two seconds.
  await page.getByText(/[1-9]\d* packets, \d+ bytes/).first().waitFor();
  await checkBoth("ue");

  step("the page of a UE changes in place");
  const title = page.getByRole("heading", { name: /^PDU session 1/ });
  const details = page.locator("details", { has: page.locator("summary", { hasText: "Rules in the datapath" }) });
  const countOf = async (row) => Number((await row.first().getByRole("cell").nth(3).innerText()));
  const countedBefore = await countOf(counted);
  await keepsFocus(page.locator("summary", { hasText: "Rules in the datapath" }), title, async () => {
    await please("traffic");
    await reads("/sessions", 2);
  });
  const countedAfter = await countOf(counted);
  // Five packets.
  assert.ok(countedAfter >= countedBefore + 5, `the counter of the PDR went from ${countedBefore} to ${countedAfter}`);
  assert.ok(await details.evaluate((element) => element.open), "the rules are closed");
  await keepsFocus(page.getByRole("region", { name: "QoS flows" }), title, () => reads("/sessions", 2));

  step("its messages are recorded");
  await page.getByRole("button", { name: "Record messages" }).click();
  await page.getByText(/^Recording: /).waitFor();
  await please("register again");
  await page.locator("#f-procedure").selectOption("1");
  await page.getByText("The same as a table").click();
  const recordedBefore = await page.getByText(/^Recording: /).innerText();
  await keepsFocus(page.locator("#f-procedure"), page.getByRole("heading", { name: "Messages", exact: true }), async () => {
    await please("register again");
    await page.getByText(recordedBefore, { exact: true }).waitFor({ state: "detached" });
    await page.locator("#f-procedure option", { hasText: ". RegistrationRequest" }).nth(1).waitFor({ state: "attached" });
  });
  assert.equal(await page.locator("#f-procedure").inputValue(), "1", "the procedure is another one");
  await page.getByRole("cell", { name: "NAS", exact: true }).first().waitFor();
  await page.getByText("The same as a table").click();
  await page.locator("#f-procedure").selectOption("");
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
  await inDark(async () => {
    await page.getByText("The same as a table").click();
    await page.getByRole("cell", { name: "RegistrationAccept" }).waitFor();
    await check("ue-messages-dark");
  });
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
  await checkBoth("refused");
  await go("UEs");
  const ofIdentifier = page.waitForResponse((response) => new URL(response.url()).pathname === "/api/v1/ues/nai-sensor%40plant.example");
  await page.getByLabel("Look up a UE that was refused").fill("sensor@plant.example");
  await page.getByLabel("Look up a UE that was refused").press("Enter");
  await page.getByRole("heading", { name: "nai-sensor@plant.example" }).waitFor();
  assert.equal((await ofIdentifier).status(), 404);
  await page.getByText("The AMF does not know this UE.", { exact: false }).waitFor();

  step("trace");
  await go("User plane");
  await page.locator("#f-seconds").fill("3");
  await page.getByRole("button", { name: "Start the trace" }).click();
  await please("traffic");
  await page.getByText(/\(succeeded\)/).waitFor();
  const packets = await page.getByText(/\d+ Packets, /).innerText();
  assert.doesNotMatch(packets, /^0 /, packets);
  await page.locator("#f-session option", { hasText: "10.45." }).waitFor({ state: "attached" });
  await page.getByRole("link", { name: "imsi-001010000000001" }).waitFor();
  await counted.first().waitFor();
  const ruleBefore = await countOf(counted);
  const flowSeenHere = flowNow();
  await please("traffic");
  await flowSeenHere;
  await reads("/user-plane", 2);
  const ruleAfter = await countOf(counted);
  assert.ok(ruleAfter >= ruleBefore + 5, `the counter of the PDR went from ${ruleBefore} to ${ruleAfter}`);

  step("drops by reason");
  const dropped = (reason) => page.getByRole("region", { name: "Drops by reason" }).getByRole("row", { name: new RegExp(`^${reason} \\d+$`) });
  const dropsOf = async (reason) => ((await dropped(reason).count()) ? Number((await dropped(reason).innerText()).match(/\d+$/)[0]) : 0);
  const reasons = ["foreign source", "n6 isolation"];
  const dropsBefore = await Promise.all(reasons.map(dropsOf));
  await please("send packets that are dropped");
  await reads("/user-plane", 2);
  const dropsAfter = await Promise.all(reasons.map(dropsOf));
  // Seven of the one, and four of the other.
  assert.deepEqual(dropsAfter.map((count, n) => count - dropsBefore[n]), [7, 4], `${dropsBefore} ${dropsAfter}`);
  const board = page.getByRole("region", { name: "Temperature and governor" });
  await board.getByRole("row", { name: /^Temperature [1-9]\d*\.\d °C$/ }).waitFor();
  await board.getByRole("row", { name: /^Governor rests, .* set point 75\.0 °C$/ }).waitFor();
  for (const row of [/^CPU load [\d.]+ %$/, /^Memory in use [\d.]+ %$/, "CPU frequency 1500 MHz", /^Power \d\.\d\d W$/, "Set point 75.0 °C",
    "Permitted CPU load 100 %", "Packets in batches no", "Limits of throughput none"]) await board.getByRole("row", { name: row, exact: true }).waitFor();
  await page.getByRole("img", { name: /^Temperature over the last minutes/ }).waitFor();
  await check("user-plane");
  await page.getByRole("img", { name: /^Throughput over the last minutes/ }).waitFor();
  await checkDark("user-plane");
  const session = await page.locator("#f-session").inputValue();
  await keepsFocus(page.getByRole("link", { name: "imsi-001010000000001" }).first(), page.getByRole("heading", { name: "QoS flows and rules of a session" }), () => reads("/user-plane", 3));
  assert.equal(await page.locator("#f-session").inputValue(), session);

  step("radio");
  await go("Radio");
  await page.getByText("gnb-1").first().waitFor();
  await page.getByRole("region", { name: "Interfaces" }).getByRole("cell", { name: "N4" }).first().waitFor();
  await checkBoth("radio");
  await keepsFocus(page.getByRole("button", { name: "Abort the association" }), page.getByText("gnb-1").first(), () => reads("/gnbs", 2));

  step("the map, a plan, and a periodic request");
  await go("Map");
  await page.getByLabel("Locate a UE").fill("001010000000001");
  await page.getByRole("button", { name: "Locate", exact: true }).click();
  await page.locator("ellipse").waitFor();
  const writePlan = async () => {
    await page.getByLabel("Image (PNG or JPEG)").setInputFiles({ name: "plan.png", mimeType: "image/png", buffer: plan() });
    await page.getByLabel("Name of the plan").fill("ground floor");
    for (const [name, value] of [["x1", 40], ["y1", 360], ["latitude1", 54.082], ["longitude1", 12.08], ["x2", 600], ["y2", 40], ["latitude2", 54.102], ["longitude2", 12.12]]) {
      await page.locator(`#f-${name}`).fill(String(value));
    }
  };
  await writePlan();
  // Another user saves the first plan meanwhile.
  await please("save a plan");
  const ofPlan = page.locator("section", { has: page.getByRole("heading", { name: "Plan", exact: true }) });
  await page.getByRole("button", { name: "Save the plan" }).click();
  await ofPlan.getByText("Someone else changed this meanwhile").waitFor();
  assert.equal(await page.locator("svg.map image").count(), 0);
  await ofPlan.getByRole("button", { name: "Load the current version" }).click();
  await page.locator("svg.map image").waitFor({ state: "attached" });
  assert.equal(await ofPlan.getByLabel("Name of the plan").inputValue(), "cellar");
  await writePlan();
  await Promise.all([reads("/plan", 2), page.getByRole("button", { name: "Save the plan" }).click()]);
  assert.equal(await ofPlan.getByRole("alert").count(), 0);
  await please("change the plan");
  await ofPlan.getByLabel("Name of the plan").fill("second floor");
  await ofPlan.getByRole("button", { name: "Save the plan" }).click();
  await ofPlan.getByText("Someone else changed this meanwhile").waitFor();
  await check("map-conflict");
  await ofPlan.getByRole("button", { name: "Load the current version" }).click();
  await ofPlan.getByText("Someone else changed this meanwhile").waitFor({ state: "detached" });
  assert.equal(await ofPlan.getByLabel("Name of the plan").inputValue(), "first floor");
  assert.equal(await page.locator("#f-x2").inputValue(), "600");
  await ofPlan.getByLabel("Name of the plan").fill("ground floor");
  await Promise.all([reads("/plan", 2), ofPlan.getByRole("button", { name: "Save the plan" }).click()]);
  assert.equal(await ofPlan.getByRole("alert").count(), 0);
  const periodic = page.getByRole("form", { name: "Locate periodically" });
  await periodic.getByLabel("IMSI").fill("001010000000001");
  await periodic.getByLabel("Interval in seconds").fill("0");
  await periodic.getByRole("button", { name: "Start" }).click();
  await page.locator("#e-interval_s", { hasText: "3600" }).waitFor();
  await periodic.getByLabel("Interval in seconds").fill("1");
  await periodic.getByRole("button", { name: "Start" }).click();
  await page.getByRole("cell", { name: "3", exact: true }).waitFor();
  await page.getByRole("img", { name: /^Accuracy of imsi-001010000000001 over time/ }).waitFor();
  await page.getByRole("heading", { level: 1 }).evaluate((heading) => heading.scrollIntoView());
  await check("map");
  await keepsFocus(page.getByRole("button", { name: "Show: imsi-001010000000001" }), page.getByRole("heading", { name: "Locate periodically" }), () => reads("/location-requests", 2));
  await page.getByRole("button", { name: "Stop: imsi-001010000000001" }).click();
  await page.getByRole("cell", { name: "stopped" }).waitFor();
  await page.getByRole("heading", { level: 1 }).evaluate((heading) => heading.scrollIntoView());
  await checkDark("map");

  step("TRPs on the map");
  await please("register with multi-RTT");
  await page.getByLabel("Locate a UE").fill("001010000000003");
  await page.getByRole("button", { name: "Locate", exact: true }).click();
  await page.locator("svg.map text", { hasText: "001010000000003" }).waitFor();
  await go("Overview");
  await page.getByRole("listitem").filter({ hasText: "LMF: position determined" }).getByRole("link", { name: "imsi-001010000000003", exact: true }).waitFor();
  await go("Radio");
  await go("Map");
  await page.getByRole("region", { name: "Cells and TRPs" }).getByRole("row", { name: /^TRP 1 gNB 11 54\.092400 12\.099100$/ }).waitFor();
  for (const name of ["TRP 1", "TRP 2", "TRP 3"]) await page.locator("svg.map text.mast-name", { hasText: name }).waitFor();
  assert.equal(await page.locator("svg.map path.mast").count(), 4, "a cell and three TRPs");
  await checkBoth("map-trps");
  // Two UEs, one of them with a track, too, and four masts; some at the same place.
  for (const [name, width, height] of [["phone", 375, 700], ["wall", 2560, 1440], ["", 1280, 900]]) {
    await page.setViewportSize({ width, height });
    await page.waitForTimeout(200);
    await page.locator("svg.map").evaluate((picture) => picture.scrollIntoView());
    await labelsAreApart(page, 7);
    if (name) await check(`map-trps-${name}`);
  }
  await manyLabelsAreApart(page);
  const ofLocation = page.waitForResponse((response) => new URL(response.url()).pathname === "/api/v1/ues/nai-sensor%40plant.example/location");
  await page.getByLabel("Locate a UE").fill("sensor@plant.example");
  await page.getByRole("button", { name: "Locate", exact: true }).click();
  assert.equal((await ofLocation).ok(), false, "a UE that is not registered");
  await page.getByRole("button", { name: "Remove: imsi-001010000000001" }).click();
  const ofRequest = page.getByRole("dialog", { name: "Remove the location request", exact: true });
  await ofRequest.getByText("Remove the location request of imsi-001010000000001?", { exact: false }).waitFor();
  await ofRequest.getByRole("button", { name: "Cancel" }).click();
  await page.getByRole("button", { name: "Remove: imsi-001010000000001" }).click();
  await confirm("Remove the location request");
  await page.getByRole("button", { name: "Remove: imsi-001010000000001" }).waitFor({ state: "detached" });

  step("a UE is found by its MSISDN");
  await please("change the MSISDN");
  await go("UEs");
  await page.getByRole("link", { name: "imsi-001010000000003" }).waitFor();
  await page.locator("#f-search").fill("491700000099");
  await page.getByRole("link", { name: "imsi-001010000000003" }).waitFor({ state: "detached" });
  await page.getByRole("link", { name: "imsi-001010000000001" }).waitFor();
  await page.getByText("1 UE matches", { exact: false }).waitFor();
  await page.locator("#f-search").fill("sensor@plant.example");
  await page.getByText("0 UEs match", { exact: false }).waitFor();

  step("a slice and a policy are changed by their fields");
  await go("Services and policies");
  const open = async (title) => {
    await page.getByText(`Change: ${title}`, { exact: true }).click();
    return page.getByRole("form", { name: title });
  };
  const qos = await open("QoS and policies");
  await qos.getByLabel("Default ARP priority level").fill("16");
  await qos.getByRole("button", { name: "Add a flow" }).click();
  const flow = qos.getByRole("group", { name: "Flow 1" });
  await flow.getByLabel("Name").fill("voice");
  await qos.getByRole("button", { name: "Preview the change" }).click();
  await page.locator("#e-default_arp", { hasText: "1 to 15" }).waitFor();
  await page.locator('[id="e-flows[0].filters"]', { hasText: "1 to 15 filters" }).waitFor();
  await check("policies-invalid");
  await qos.getByLabel("Default ARP priority level").fill("7");
  await flow.getByLabel("Traffic, one filter in each line").fill("permit out 17 from 10.0.0.0/8 5060 to assigned");
  await qos.getByRole("button", { name: "Preview the change" }).click();
  await qos.getByText("+ ", { exact: false }).filter({ hasText: "default_arp: 7" }).first().waitFor();
  await qos.getByRole("button", { name: "Preview the change" }).scrollIntoViewIfNeeded();
  await check("policies-preview");
  await please("change the configuration");
  await qos.getByRole("button", { name: "Save" }).click();
  await qos.getByText("Someone else changed this meanwhile").waitFor();
  await check("policies-conflict");
  await qos.getByRole("button", { name: "Load the current version" }).click();
  await qos.getByText("Someone else changed this meanwhile").waitFor({ state: "detached" });
  await qos.getByLabel("Default ARP priority level").fill("7");
  await qos.getByRole("button", { name: "Save" }).click();
  await qos.getByText(/pcf: /).first().waitFor();
  const slices = await open("Slices");
  await slices.getByRole("button", { name: "Add a slice" }).click();
  await slices.getByLabel("SD").last().fill("0000a7");
  await slices.getByRole("button", { name: "Save" }).click();
  await slices.getByText("network.slices").first().waitFor();
  await page.getByRole("cell", { name: "0000a7" }).waitFor();
  await open("Data networks");
  const classifiers = await open("Uplink classifiers");
  await classifiers.getByRole("button", { name: "Add a classifier" }).click();
  await classifiers.getByLabel("Tracking area codes").fill("1");
  await classifiers.getByLabel("Traffic that leaves there").fill("no filter");
  await classifiers.getByRole("button", { name: "Preview the change" }).click();
  await page.locator('[id^="e-classifiers[0].local"]').filter({ hasText: /\S/ }).waitFor();
  await check("classifiers-invalid");
  await classifiers.getByLabel("Traffic that leaves there").fill("permit out ip from 10.98.0.0/16 to assigned");
  await classifiers.getByRole("button", { name: "Save" }).click();
  await classifiers.getByText("smf.branching").first().waitFor();
  await page.getByRole("region", { name: "Uplink classifiers" }).getByRole("row", { name: /^internet \S+:8805 1 permit out ip from 10\.98\.0\.0\/16 to assigned$/ }).waitFor();
  await checkDark("policies");
  await page.getByText("Change: Configuration file", { exact: true }).click();
  const text = page.getByLabel("Configuration file");
  await text.fill(`${await text.inputValue()}# A note of the operator.\n`);
  await page.getByRole("button", { name: "Check" }).click();
  await page.getByText("+ # A note of the operator.").waitFor();
  await check("policies");

  step("a report of the lab");
  await go("Lab");
  await page.getByText("No quick run can be started here").waitFor();
  await page.getByText("install martlet-lab", { exact: false }).waitFor();
  await checkBoth("lab-reports");
  await page.getByRole("link", { name: "sbi-1" }).click();
  await page.getByRole("cell", { name: "12 – 13" }).waitFor();
  const plot = page.getByRole("img", { name: "Plot: latency" });
  await plot.waitFor();
  assert.equal(await plot.evaluate((image) => image.naturalWidth), 400, "the plot is not shown");
  await checkBoth("lab");

  step("roles, backup");
  await go("Administration");
  const users = page.locator("section", { has: page.getByRole("heading", { name: "Users" }) });
  await users.getByLabel("Name").fill("vera");
  await users.locator("#f-role").selectOption("viewer");
  await users.getByLabel("First password").fill("first passphrase");
  await users.getByRole("button", { name: "Add a user" }).click();
  await users.getByRole("cell", { name: "vera", exact: true }).waitFor();
  const role = users.getByLabel("Role: vera");
  for (const name of ["operator", "viewer"]) {
    await keepsFocus(role, users.getByRole("heading", { name: "Users" }), async () => {
      await Promise.all([reads("/users", 1), role.selectOption(name)]);
    });
    assert.equal(await role.inputValue(), name);
  }
  await please("change a user");
  await role.selectOption("administrator");
  await users.getByText("Someone else changed this meanwhile").waitFor();
  await check("users-conflict");
  await users.getByRole("button", { name: "Load the current version" }).click();
  await users.getByText("Someone else changed this meanwhile").waitFor({ state: "detached" });
  assert.equal(await role.inputValue(), "operator", "the change of another administrator");
  await Promise.all([reads("/users", 1), role.selectOption("viewer")]);
  assert.equal(await role.inputValue(), "viewer");
  await users.getByLabel("Name").fill("otto");
  await users.getByLabel("First password").fill("first passphrase");
  await users.getByRole("button", { name: "Add a user" }).click();
  await users.getByRole("button", { name: "Remove: otto" }).click();
  await page.getByRole("dialog").getByText("Remove the user otto? Sessions and tokens of otto end.").waitFor();
  await check("confirm-user");
  await confirm("Remove the user");
  await users.getByRole("cell", { name: "otto", exact: true }).waitFor({ state: "detached" });
  const tokens = page.locator("section", { has: page.getByRole("heading", { name: "API tokens" }) });
  await tokens.getByLabel("Name").fill("grafana");
  await tokens.getByRole("button", { name: "Make a token" }).click();
  await tokens.getByText("Copy the token now").waitFor();
  await tokens.getByRole("cell", { name: "grafana", exact: true }).waitFor();
  await tokens.getByRole("button", { name: "Remove: grafana" }).click();
  const ofToken = page.getByRole("dialog", { name: "Remove the token", exact: true });
  await ofToken.getByText("Remove the token grafana of admin?", { exact: false }).waitFor();
  await ofToken.getByRole("button", { name: "Cancel" }).click();
  await tokens.getByRole("cell", { name: "grafana", exact: true }).waitFor();
  await tokens.getByRole("button", { name: "Remove: grafana" }).click();
  await confirm("Remove the token");
  await tokens.getByRole("cell", { name: "grafana", exact: true }).waitFor({ state: "detached" });
  assert.ok(await tokens.evaluate((section) => section.contains(document.activeElement)), "the focus of what is gone");
  await page.getByLabel("New folder on the core's machine").fill(await please("folder"));
  await page.getByRole("button", { name: "Make a backup" }).click();
  await page.getByText("It has the operator's key.").waitFor();
  await page.getByRole("region", { name: "Backups", exact: true }).getByRole("cell", { name: "admin", exact: true }).waitFor();
  await page.getByRole("region", { name: "Certificates" }).getByText(/^valid for [1-9]\d* days$/).first().waitFor();
  await check("administration");
  await inDark(async () => {
    await page.getByRole("heading", { name: "Audit log" }).evaluate((heading) => heading.scrollIntoView());
    await page.locator("details > summary").first().click();
    await check("administration-dark");
  });

  step("all pages of the audit log");
  await please("change many times");
  const entries = await page.evaluate(async () => (await (await fetch("/api/v1/audit?limit=1")).json()).items[0].number);
  await go("Overview");
  await go("Administration");
  const log = page.locator("section", { has: page.getByRole("heading", { name: "Audit log" }) });
  const older = log.getByRole("button", { name: "Older entries" });
  const shownEntries = () => log.locator("tbody tr").count();
  await older.waitFor();
  assert.equal(await shownEntries(), 50);
  while (await older.isVisible()) {
    const before = await shownEntries();
    await older.click();
    await page.waitForFunction((n) => document.querySelectorAll('[data-key="table Audit log"] tbody tr').length > n, before);
    await page.waitForTimeout(100);
  }
  assert.equal(await shownEntries(), entries, "entries of the audit log");
  await log.getByText(`All ${entries} entries are shown.`).waitFor();
  await log.getByText("The chain of hashes is intact.").waitFor();
  assert.equal(await page.evaluate(() => document.activeElement.getAttribute("aria-label")), "Audit log");

  step("overview, dark, phone, wall");
  await go("Overview");
  await page.getByRole("img", { name: /gNBs, / }).waitFor();
  await page.waitForTimeout(2500);
  await checkBoth("overview");
  await page.evaluate(() => { globalThis.picture = document.querySelector("svg.picture"); });
  await keepsFocus(page.locator(".timeline a").first(), page.getByRole("heading", { name: "The network" }), () => page.waitForTimeout(2500));
  assert.ok(await page.evaluate(() => globalThis.picture.isConnected), "the picture is another element");
  await page.setViewportSize({ width: 375, height: 700 });
  for (const name of PAGES) {
    await go(name);
    await page.waitForTimeout(300);
    await checkBoth(`${fileOf(name)}-phone`);
    await reflows(page, name);
  }
  await page.setViewportSize({ width: 2560, height: 1440 });
  for (const name of PAGES) {
    await go(name);
    await page.waitForTimeout(300);
    await checkBoth(`${fileOf(name)}-wall`);
  }
  await page.setViewportSize({ width: 1280, height: 900 });

  step("what is unhealthy stands out");
  assert.equal(await page.locator(".picture .node.bad").count(), 0);
  await go("Radio");
  await page.getByRole("button", { name: "Abort the association" }).click();
  await confirm("Abort the association");
  await page.getByText("gNBs: none").waitFor();
  await go("Overview");
  await page.locator(".picture .node.bad").waitFor();
  await page.locator(".picture").getByText(": lost").waitFor();
  await checkBoth("overview-fault");
  await page.getByRole("button", { name: "Acknowledge" }).click();
  await page.getByText("acknowledged by admin").waitFor();
  // Who acknowledges the loss of a gNB has it forgotten.
  await page.locator(".picture").getByText("no gNB", { exact: true }).waitFor();
  const ofAlarms = page.locator("section", { has: page.getByRole("heading", { name: "Alarms" }) });
  assert.ok(await ofAlarms.evaluate((section) => section.contains(document.activeElement)), "the focus of what is gone");

  step("keyboard");
  await page.goto(base);
  await page.getByRole("heading", { name: "Overview" }).waitFor();
  await page.evaluate(() => document.activeElement.blur());
  await page.keyboard.press("Tab");
  assert.equal(await page.evaluate(() => document.activeElement.className), "skip");

  step("the end of a session");
  await go("UEs");
  await page.evaluate(async () => {
    const { csrf_token: token } = await (await fetch("/api/v1/session")).json();
    await fetch("/api/v1/session", { method: "DELETE", headers: { "x-csrf-token": token } });
  });
  // The page has no request of its own. Its events end, and are refused.
  await page.getByRole("heading", { name: "Sign in", exact: true }).waitFor();
  await signIn("admin", "a correct horse battery");
  await page.getByRole("heading", { level: 1, name: "UEs" }).waitFor();

  step("sign-ins in another window");
  const changeAfterSignIn = (user, password) => page.evaluate(async (credentials) => {
    const { call } = await import("/api.js");
    await fetch("/api/v1/session", { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(credentials) });
    return call("PATCH", "/users/vera", { role: "viewer" }).then(() => "changed", (problem) => problem.status);
  }, { user, password });
  assert.equal(await changeAfterSignIn("admin", "a correct horse battery"), "changed", "of the same user");
  await page.getByText("admin (administrator)").waitFor();
  assert.equal(await changeAfterSignIn("vera", "first passphrase"), 403);
  await page.getByRole("heading", { name: "Sign in", exact: true }).waitFor();
  await page.getByRole("alert").getByText("vera has signed in with another window", { exact: false }).waitFor();
  assert.equal(await page.getByText("admin (administrator)").count(), 0);
  await check("sign-in-other");
  await signIn("admin", "a correct horse battery");
  await page.getByRole("heading", { level: 1, name: "UEs" }).waitFor();

  step("a viewer");
  await go("Overview");
  await page.getByRole("button", { name: "Sign out" }).click();
  await signIn("vera", "first passphrase");
  await changePassword("first passphrase", "another passphrase");
  await go("Subscribers");
  assert.equal(await page.getByRole("button", { name: "Make the batch" }).count(), 0);
  await go("Administration");
  await page.getByText("Only administrators see this page.").waitFor();

  const paint = await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime);
  console.log(`figure first_paint_ms ${paint?.toFixed(0)}`);
  assert.deepEqual(foreign, [], "requests to other origins");
});
