// Success criteria of WCAG 2.2 that axe does not decide: reflow, targets, the focus in sight, reduced
// motion and forced colours. Each function checks the page as it is.
import assert from "node:assert/strict";

// Runs in the page: targets below 24 by 24 pixels that are neither in a sentence nor far enough from
// all others (2.5.8).
function smallTargets() {
  const boxOf = (element) => {
    const box = (element.matches("input[type=checkbox], input[type=radio]") && element.closest("label") || element).getBoundingClientRect();
    return { left: box.left, top: box.top, right: box.right, bottom: box.bottom, x: (box.left + box.right) / 2, y: (box.top + box.bottom) / 2 };
  };
  const isShown = (element) => element.checkVisibility({ visibilityProperty: true }) && element.getBoundingClientRect().right > 0;
  const all = [...document.querySelectorAll("a[href], button, input, select, textarea, summary")].filter(isShown).map((element) => [element, boxOf(element)]);
  const isSmall = (box) => box.right - box.left < 24 || box.bottom - box.top < 24;
  const isInSentence = (element) => getComputedStyle(element).display === "inline" && element.parentElement.textContent.trim() !== element.textContent.trim();
  const away = (point, box) => Math.hypot(Math.max(box.left - point.x, 0, point.x - box.right), Math.max(box.top - point.y, 0, point.y - box.bottom));
  const isCrowded = (element, box) => all.some(([other, of]) => other !== element && (away(box, of) < 12 || (isSmall(of) && Math.hypot(box.x - of.x, box.y - of.y) < 24)));
  return all.filter(([element, box]) => isSmall(box) && !isInSentence(element) && isCrowded(element, box))
    .map(([element, box]) => `${element.tagName} ${element.textContent.slice(0, 30)} ${(box.right - box.left).toFixed(1)} x ${(box.bottom - box.top).toFixed(1)}`);
}

// Runs in the page: the element with the focus, and whether any of it is in sight (2.4.11).
function focusInSight() {
  const at = document.activeElement;
  if (!at || at === document.body) return null;
  const box = at.getClientRects()[0];
  const part = (from, to, n) => from + 1 + ((to - from - 2) * n) / 4;
  const isHit = (x, y) => { const hit = document.elementFromPoint(x, y); return hit && (at.contains(hit) || hit.contains(at) && hit.tagName === "LABEL"); };
  const steps = [0, 1, 2, 3, 4];
  const isShown = Boolean(box) && steps.some((n) => steps.some((m) => isHit(part(box.left, box.right, n), part(box.top, box.bottom, m))));
  return { isShown, isSkip: at.className === "skip", name: `${at.tagName} ${at.id} ${at.textContent.slice(0, 30)}` };
}

// Content fits into the width of the window, except tables and pictures, which scroll (1.4.10).
export async function reflows(page, name) {
  const { width, needed, beyond } = await page.evaluate(() => ({
    width: innerWidth, needed: document.documentElement.scrollWidth,
    beyond: [...document.querySelectorAll("main *, header *")].filter((e) => e.getBoundingClientRect().right > innerWidth + 1 && !e.closest(".scroll, .rows"))
      .slice(0, 4).map((e) => `${e.tagName} ${e.id} ${e.className?.baseVal ?? e.className}`),
  }));
  assert.ok(needed <= width + 1, `the page ${name} is ${needed} pixels wide in a window of ${width}: ${beyond}`);
}

export async function targetsAreLarge(page, name) {
  assert.deepEqual(await page.evaluate(smallTargets), [], `targets of ${name}`);
}

// Passes all elements by the keyboard, while a message is shown.
export async function focusStaysInSight(page, name) {
  await page.evaluate(() => {
    document.getElementById("status").textContent = "A message that is as long as messages of this console are, and takes some lines.";
    document.querySelector(".skip").focus();
  });
  let passed = 0;
  for (; passed < 300; passed += 1) {
    await page.keyboard.press("Tab");
    const focus = await page.evaluate(focusInSight);
    if (!focus || focus.isSkip) break;
    assert.ok(focus.isShown, `${name}: the focus is hidden at ${focus.name}`);
  }
  await page.evaluate(() => { document.getElementById("status").textContent = ""; });
  assert.ok(passed > 5, `${name}: the keyboard passed ${passed} elements`);
}

// What would move does not if the user asks for that (2.3.3).
export async function nothingMoves(page) {
  const durations = () => page.evaluate(() => {
    const probe = document.createElement("div");
    probe.style.transition = "opacity 1s"; probe.style.animation = "unknown 1s";
    document.body.append(probe);
    const style = getComputedStyle(probe);
    const found = [style.transitionDuration, style.animationName];
    probe.remove();
    return found;
  });
  assert.deepEqual(await durations(), ["1s", "unknown"]);
  await page.emulateMedia({ reducedMotion: "reduce" });
  assert.deepEqual(await durations(), ["0s", "none"]);
  assert.equal(await page.evaluate(() => document.getAnimations().length), 0);
  await page.emulateMedia({ reducedMotion: null });
}

// With the colours of the user, what is chosen is still seen, and pictures have these colours, too.
export async function keepsForcedColours(page, name, then) {
  for (const colorScheme of ["light", "dark"]) {
    await page.emulateMedia({ forcedColors: "active", colorScheme });
    const found = await page.evaluate(() => {
      const channels = (colour) => colour.match(/[\d.]+/g).slice(0, 3).map((n) => { const c = n / 255; return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4; });
      const luminance = (colour) => channels(colour).reduce((sum, c, n) => sum + c * [0.2126, 0.7152, 0.0722][n], 0);
      const contrast = (a, b) => { const [x, y] = [luminance(a), luminance(b)]; return (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05); };
      const back = getComputedStyle(document.body).backgroundColor;
      const [current, other] = ["nav a[aria-current]", "nav a:not([aria-current])"].map((one) => getComputedStyle(document.querySelector(one)).backgroundColor);
      const faint = [...document.querySelectorAll(".picture text")].map((text) => contrast(getComputedStyle(text).fill, back)).filter((ratio) => ratio < 4.5);
      const pressed = [...document.querySelectorAll("[aria-pressed=true]")].map((one) => getComputedStyle(one).backgroundColor === getComputedStyle(document.querySelector("button:not([aria-pressed=true], .main)")).backgroundColor);
      return { forced: matchMedia("(forced-colors: active)").matches, isMarked: current !== other, faint, pressed };
    });
    assert.deepEqual([found.forced, found.isMarked, found.faint, found.pressed.filter(Boolean)], [true, true, [], []], `${name}, ${colorScheme}: ${JSON.stringify(found)}`);
    await then?.(`${name}-forced-${colorScheme}`);
  }
  await page.emulateMedia({ forcedColors: null, colorScheme: "light" });
}
