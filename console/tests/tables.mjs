// The tables of many rows in a real Chromium: what they keep when an event comes, keys, what they
// tell a screen reader, and the times of interactions. The Rust test starts the core, adds
// subscribers and UEs, and does what this script asks for.
//
//     node tables.mjs TOOLS ADDRESS SCREENSHOTS   (standard input: the one-time password, then the
//          numbers of subscribers, of those that are scrolled through, of UEs and of rounds)
import assert from "node:assert/strict";
import { inBrowser } from "./browser.mjs";
import { Interactions } from "./interaction.mjs";

const ROWS = 'document.querySelectorAll(".rows .body [aria-rowindex]")';
const LOADED = 'Number(document.querySelector("main p[aria-live]").textContent.match(/(\\d+) are loaded/)[1])';
// Rows that are elements at most, of any number.
const ELEMENTS = 60;
const CONNECTED = "registered, connected";
const IDLE = "registered, idle";

const imsi = (n) => `imsi-${String(1010000000000 + n).padStart(15, "0")}`;

await inBrowser(async ({ page, please, step, checkBoth, check, firstStart, go }) => {
  await firstStart();
  const [subscribers, scrolled, ues, rounds] = (await please("fill")).split(" ").map(Number);
  const interactions = new Interactions(page);
  const requests = [];
  page.on("request", (request) => { if (/\/api\/v1\/(subscribers|ues)\?/.test(request.url())) requests.push(request.url()); });
  const table = (name) => page.getByRole("table", { name });
  const row = (n) => page.getByRole("row", { name: new RegExp(imsi(n)) });
  const rowLink = (n) => page.getByRole("link", { name: imsi(n), exact: true });
  const inState = (n, state) => row(n).filter({ hasText: state }).waitFor();
  const link = (name) => page.getByRole("navigation").getByRole("link", { name, exact: true });
  const submit = (text) => async () => { await page.getByLabel("Search").fill(text); await page.getByLabel("Search").press("Enter"); };
  const loaded = () => page.evaluate(LOADED);
  const scrollTop = (name) => table(name).evaluate((view) => view.scrollTop);
  const oneRow = `${ROWS}.length === 1 && ${ROWS}[0].textContent.includes(of)`;
  const timed = interactions.timed.bind(interactions);

  // The policy of the page allows no expression in its own polling.
  async function until(expression) {
    const giveUp = Date.now() + 90000;
    while (!await page.evaluate(expression)) {
      assert.ok(Date.now() < giveUp, `not so: ${expression}`);
      await page.waitForTimeout(50);
    }
  }
  const rowsAre = (count) => until(`${ROWS}.length === ${count}`);

  // Reads on until so many rows are loaded.
  async function scrollThrough(name, count) {
    for (let has = await loaded(); has < count; has = await loaded()) {
      await table(name).hover();
      await timed(`${name}: next page`, () => page.mouse.wheel(0, 1e6), `${LOADED} > of`, has);
    }
    const drawn = await page.evaluate(`${ROWS}.length`);
    assert.ok(drawn > 0 && drawn < ELEMENTS, `${drawn} rows are elements`);
  }

  // A page of the table is opened with requests for one page of rows.
  async function open(name) {
    await go("Overview");
    requests.length = 0;
    await timed(`${name}: open`, () => link(name).click(), `${ROWS}.length > 5`);
    await page.waitForTimeout(700);
    assert.ok(requests.length <= 2, `a page and what changed meanwhile: ${requests}`);
    assert.ok(requests.every((url) => url.endsWith("?limit=200")), String(requests));
  }

  // A screen reader is told the number of all rows, and the number of each row.
  async function rowsAreNumbered(name, count) {
    const found = await table(name).evaluate((view) => ({
      count: view.getAttribute("aria-rowcount"),
      head: view.querySelector("[role=columnheader]").parentElement.getAttribute("aria-rowindex"),
      numbers: [...view.querySelectorAll(".body [role=row]")].map((one) => Number(one.getAttribute("aria-rowindex"))),
      cells: [...view.querySelectorAll(".body [role=row]")].map((one) => one.querySelectorAll("[role=cell]").length),
      heads: view.querySelectorAll("[role=columnheader]").length,
    }));
    assert.deepEqual([found.count, found.head], [`${count + 1}`, "1"]);
    assert.deepEqual(found.numbers, found.numbers.map((_, n) => found.numbers[0] + n), "rows are in order");
    assert.ok(found.cells.every((cells) => cells === found.heads), "each cell has a head");
  }

  // Text of a row covers neither another cell nor another row.
  async function cellsAreApart() {
    const covered = await page.evaluate(() => [...document.querySelectorAll(".rows [role=row]")].flatMap((row) => {
      const boxOf = (element) => element.getBoundingClientRect();
      const outer = boxOf(row); const boxes = [...row.children].map(boxOf);
      const meet = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
      const isOut = (box) => box.top < outer.top || box.bottom > outer.bottom || box.right > outer.right;
      return boxes.some((a, n) => isOut(a) || boxes.slice(n + 1).some((b) => meet(a, b))) ? [row.textContent] : [];
    }));
    assert.deepEqual(covered, []);
    const gaps = await page.evaluate(`[...${ROWS}].slice(1).map((row, n) => row.offsetTop - ${ROWS}[n].offsetTop - ${ROWS}[n].offsetHeight)`);
    assert.ok(gaps.length > 1 && gaps.every((gap) => gap >= 0 && gap <= 1), `rows overlap: ${gaps}`);
    const cut = await page.evaluate(`[...${ROWS}].flatMap((row) => [...row.children].slice(0, 2)).filter((cell) => cell.scrollWidth > cell.clientWidth).map((cell) => cell.textContent)`);
    assert.deepEqual(cut, [], "a SUPI or a state is cut");
  }

  // What has the focus: its text, the number of its row, and whether a user sees the focus.
  const focus = () => page.evaluate(() => {
    const at = document.activeElement; const box = at.getBoundingClientRect();
    const style = getComputedStyle(at);
    // The edges of the outline too: WCAG 2.4.11 and 2.4.7.
    const inside = (x, y) => at.contains(document.elementFromPoint(x, y));
    return {
      text: at.textContent, role: at.getAttribute("role"),
      row: Number(at.closest("[aria-rowindex]")?.getAttribute("aria-rowindex")),
      outline: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2,
      shown: inside(box.left + 2, box.top + 2) && inside(box.right - 2, box.bottom - 2),
    };
  });
  // A key moves the focus to the link of a row, where the user sees it.
  async function keyTo(key, number) {
    await page.keyboard.press(key);
    const found = await focus();
    assert.deepEqual([found.row, found.outline, found.shown], [number, true, true], `${key}: ${JSON.stringify(found)}`);
  }
  // The rows at the other end of the table are read before the focus is there.
  async function keyToEnd(key, number) {
    await page.keyboard.press(key);
    await until(`document.activeElement.closest("[aria-rowindex]")?.getAttribute("aria-rowindex") === "${number}"`);
    const found = await focus();
    assert.deepEqual([found.row, found.outline, found.shown], [number, true, true], `${key}: ${JSON.stringify(found)}`);
  }

  step("subscribers");
  for (let round = 0; round < rounds; round += 1) {
    await open("Subscribers");
    await scrollThrough("Subscribers", round === 0 ? scrolled : 600);
    if (round === 0) await checkBoth("subscribers-many");
    await rowsAreNumbered("Subscribers", subscribers);
    const isRow = `[...${ROWS}].some((row) => row.getAttribute("aria-rowindex") == of)`;
    const jump = (key, to) => timed(`Subscribers: ${key}`, () => table("Subscribers").press(key), isRow, to);
    for (let n = 0; n < 2; n += 1) {
      await table("Subscribers").focus();
      await jump("Home", 2);
      await jump("PageDown", 25);
      await jump("End", subscribers + 1);
      await rowLink(subscribers).waitFor();
      await jump("PageUp", subscribers - 25);
      await table("Subscribers").hover();
      await timed("Subscribers: wheel", () => page.mouse.wheel(0, -4000), `!(${isRow})`, subscribers - 25);
    }
    await jump("Home", 2);
    const wanted = imsi(subscribers - 7 * round);
    await timed("Subscribers: search", submit(wanted.slice(5)), oneRow, wanted);
    await timed("Subscribers: open one", () => page.getByRole("link", { name: wanted }).click(), "document.querySelector('h2')?.textContent.includes(of) && document.querySelector('#f-supi')", wanted);
    await timed("Subscribers: back", () => page.getByRole("link", { name: "Cancel" }).click(), `${ROWS}.length > 5`);
    await timed("Subscribers: filter by group", () => page.locator("#f-group").selectOption("meters"), `${ROWS}.length > 5 && [...${ROWS}].every((row) => row.textContent.includes("meters"))`);
    await timed("Subscribers: no filter", () => page.locator("#f-group").selectOption(""), `${ROWS}.length > 5 && ![...${ROWS}].every((row) => row.textContent.includes("meters"))`);
  }

  step("UEs");
  for (let round = 0; round < rounds; round += 1) {
    await open("UEs");
    await scrollThrough("UEs", round === 0 ? ues : 200);
    await rowsAreNumbered("UEs", ues);
    const wanted = imsi(ues - 7 * round);
    await timed("UEs: search", submit(wanted), oneRow, wanted);
    await timed("UEs: search by address", submit("10.45.0.2"), `${ROWS}.length === 1 && !${ROWS}[0].textContent.includes(of)`, wanted);
    await timed("UEs: no search", submit(""), `${ROWS}.length > 5`);
    await timed("UEs: filter by state", () => page.locator("#f-state").selectOption(IDLE), `${ROWS}.length > 0 && [...${ROWS}].every((row) => row.textContent.includes("${IDLE}"))`);
    await timed("UEs: no filter", () => page.locator("#f-state").selectOption(""), `[...${ROWS}].some((row) => row.textContent.includes("${CONNECTED}"))`);
    await timed("UEs: open one", () => rowLink(5).click(), "document.querySelector('h2')?.textContent === of && document.querySelector('dl dd')", imsi(5));
  }
  interactions.report(`of ${subscribers} subscribers and ${ues} UEs`);

  step("keys move the focus in the rows");
  await open("UEs");
  await rowLink(1).focus();
  await keyTo("ArrowDown", 3);
  const fit = await table("UEs").evaluate((view) => Math.floor((view.clientHeight - view.querySelector(".head").offsetHeight) / 37));
  await keyTo("PageDown", 3 + fit);
  await keyTo("ArrowUp", 2 + fit);
  await keyTo("PageUp", 2);
  await keyTo("PageUp", 2);
  const end = ues + 1;
  await keyToEnd("End", end);
  await page.getByText("the last 200 are loaded").waitFor();
  await rowsAreNumbered("UEs", ues);
  await check("ues-end");
  await keyTo("PageUp", end - fit);
  // Rows before those in sight are read, and move none of them.
  await table("UEs").hover();
  for (let has = await loaded(); has < ues; has = await loaded()) {
    await page.mouse.wheel(0, -1e6);
    await until(`${LOADED} > ${has}`);
  }
  assert.equal((await focus()).row, end - fit, "the focus is lost");
  await keyToEnd("Home", 2);
  await page.getByRole("button", { name: "Last row" }).click();
  await row(ues - 1).waitFor();
  await rowsAreNumbered("UEs", ues);
  await page.getByRole("button", { name: "First row" }).click();
  await rowLink(1).waitFor();
  await open("UEs");
  await rowLink(1).focus();
  // The order of the keyboard passes the rows, and is not hidden by the head.
  for (let n = 3; n < 40; n += 1) await keyTo("Tab", n);
  for (let n = 38; n >= 10; n -= 1) await keyTo("Shift+Tab", n);
  // A row with the focus stays out of sight, and keys go on from there.
  await table("UEs").hover();
  await page.mouse.wheel(0, 4000);
  await until(`${ROWS}.length > 5 && [...${ROWS}].filter((row) => row.getAttribute("aria-rowindex") > 80).length > 5`);
  assert.equal((await focus()).row, 10, "the focus is lost");
  await keyTo("ArrowDown", 11);

  step("an event changes one row, and keeps the others, the place and the focus");
  await go("Overview");
  // The page reads again when it is connected to the events, which takes long on a busy machine.
  const stream = page.waitForResponse(/\/events\?kinds=ue_state/, { timeout: 90000 }).catch(() => null);
  await go("UEs");
  await stream;
  await inState(2, CONNECTED);
  await scrollThrough("UEs", Math.min(ues, 400));
  await table("UEs").evaluate((view) => { view.scrollTop = 220 * 37; });
  await rowLink(225).focus();
  await page.evaluate(() => { globalThis.focused = document.activeElement; });
  await row(223).evaluate((element) => { globalThis.changed = element; });
  const place = await scrollTop("UEs");
  const before = await loaded();
  // The page has read what changed before it was connected to the events.
  for (let seen = -1; seen !== requests.length;) { seen = requests.length; await page.waitForTimeout(1500); }
  requests.length = 0;
  const kept = async () => {
    assert.ok(await page.evaluate(() => globalThis.focused.isConnected && globalThis.focused === document.activeElement), "the focus is lost");
    assert.equal(await loaded(), before, "rows are lost");
    assert.ok(await page.evaluate(() => globalThis.changed.isConnected), "the row is another element");
  };
  await please("release UE 223");
  await inState(223, IDLE);
  await inState(225, CONNECTED);
  await kept();
  assert.equal(await scrollTop("UEs"), place, "the place is lost");
  // One page alone is read, and not the first one. A slow poll sees two changes.
  assert.ok(requests.length >= 1 && requests.length <= 3, String(requests));
  assert.ok(requests.every((url) => url === requests[0] && url.includes("limit=200&cursor=")), String(requests));
  await checkBoth("ues-many");
  // The row with the focus changes.
  await rowLink(223).focus();
  await page.evaluate(() => { globalThis.focused = document.activeElement; });
  await please("connect UE 223");
  await inState(223, CONNECTED);
  await kept();

  step("a row that comes before those in sight moves none of them");
  const top = () => rowLink(223).evaluate((element) => element.getBoundingClientRect().top);
  const number = async () => Number(await row(223).getAttribute("aria-rowindex"));
  await table("UEs").evaluate((view) => { view.scrollTop = 215 * 37; });
  const [topBefore, numberBefore, countBefore] = [await top(), await number(), await loaded()];
  await please("register UE 205");
  await until(`${LOADED} === ${countBefore + 1}`);
  assert.deepEqual([await top(), await number()], [topBefore, numberBefore + 1]);
  assert.ok(await page.evaluate(() => globalThis.focused === document.activeElement), "the focus is lost");
  await rowsAreNumbered("UEs", ues + 1);

  step("rows of a search and of a filter change");
  await submit(imsi(223))();
  await rowsAre(1);
  await please("release UE 223");
  await inState(223, IDLE);
  assert.equal(await loaded(), 1, "the search is lost");
  await page.locator("#f-state").selectOption(IDLE);
  await rowsAre(1);
  await rowLink(223).focus();
  await please("connect UE 223");
  await page.getByRole("cell", { name: "none" }).waitFor();
  assert.equal((await focus()).role, "table", "the focus of a row that went is at the table");
  await page.locator("#f-state").selectOption("");
  await inState(223, CONNECTED);
  await submit("")();
  await page.locator("#f-gnb").fill("gnb-9");
  await page.locator("#f-gnb").press("Enter");
  await page.getByRole("cell", { name: "none" }).waitFor();
  await page.locator("#f-gnb").fill("gnb-1");
  await page.locator("#f-gnb").press("Enter");
  await until(`${ROWS}.length > 10 && [...${ROWS}].every((row) => row.textContent.includes("gnb-1"))`);
  await page.locator("#f-gnb").fill("");
  await page.locator("#f-state").selectOption(CONNECTED);
  await until(`${ROWS}.length > 10 && [...${ROWS}].every((row) => row.textContent.includes("${CONNECTED}"))`);
  const connected = await page.evaluate("Number(document.querySelector('main p[aria-live]').textContent.match(/\\d+/)[0])");
  await please("deregister UE 2");
  await row(2).waitFor({ state: "detached" });
  await page.getByText(new RegExp(`^${connected - 1} UEs match`)).waitFor();
  await inState(3, CONNECTED);

  step("the page of a UE shows that it became idle");
  await rowLink(3).click();
  await page.getByText(CONNECTED, { exact: true }).waitFor();
  await page.getByRole("link", { name: "Show on the map" }).focus();
  await please("release UE 3");
  await page.getByText(IDLE, { exact: true }).waitFor();
  assert.equal((await focus()).text, "Show on the map", "the focus is lost");

  step("a phone, a narrow window, and a larger font");
  const again = async (name) => {
    await go("Overview");
    await go("UEs");
    await inState(1, CONNECTED);
    await cellsAreApart();
    await check(name);
  };
  await again("ues");
  await page.setViewportSize({ width: 375, height: 700 });
  await again("ues-phone");
  await go("Subscribers");
  await row(1).waitFor();
  await cellsAreApart();
  await check("subscribers-phone");
  await page.setViewportSize({ width: 780, height: 700 });
  await again("ues-narrow");
  await page.setViewportSize({ width: 1280, height: 900 });
  await page.evaluate(() => { document.documentElement.style.fontSize = "200%"; });
  await again("ues-large-font");
});
