// Loads the overview of the console in Debian's Chromium, each time without a cache, and prints the
// times of the first contentful paint and of the figures, in milliseconds, as JSON.
//
//     node first_paint.mjs TOOLS URL USER PASSWORD ROUNDS
import { createRequire } from "node:module";
import { join } from "node:path";

const [tools, base, user, first, rounds] = process.argv.slice(2);
const { chromium } = createRequire(join(tools, "package.json"))("playwright-core");

// Signs in and changes the first password, as the user has to.
const password = "another passphrase";
const signIn = async (secret) => {
  const response = await fetch(`${base}/api/v1/session`, {
    method: "POST", headers: { "content-type": "application/json" },
    body: JSON.stringify({ user, password: secret }),
  });
  if (!response.ok) throw new Error(`sign-in: ${response.status} ${await response.text()}`);
  const cookie = response.headers.get("set-cookie").split(";")[0];
  return { cookie, csrf: (await response.json()).csrf_token };
};
const started = await signIn(first);
const changed = await fetch(`${base}/api/v1/session/password`, {
  method: "PUT",
  headers: { "content-type": "application/json", cookie: started.cookie, "x-csrf-token": started.csrf },
  body: JSON.stringify({ old: first, new: password }),
});
if (!changed.ok) throw new Error(`password: ${changed.status} ${await changed.text()}`);
const { cookie } = await signIn(password);
const [name, value] = cookie.split("=");

const browser = await chromium.launch({
  executablePath: "/usr/bin/chromium", headless: true,
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync"],
});
const times = { first_paint: [], figures: [] };
// The first load is not counted: the browser itself is cold.
for (let round = 0; round <= Number(rounds); round += 1) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
  await context.addCookies([{ name, value, url: base }]);
  const page = await context.newPage();
  await page.goto(base);
  const figures = await (await page.waitForFunction(() => document.querySelectorAll(".card .value").length >= 8 && performance.now())).jsonValue();
  const paint = await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime);
  if (round > 0) {
    times.first_paint.push(paint);
    times.figures.push(figures);
  }
  await context.close();
}
await browser.close();
console.log(JSON.stringify(times));
