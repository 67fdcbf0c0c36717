// Names in the map do not cover each other, nor marks.
import assert from "node:assert/strict";

// Runs in the page: pairs of names, and of names and marks, that cover each other; by the boxes of
// the browser.
function covered() {
  const meet = (a, b) => a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1;
  const picture = document.querySelector("svg.map"); const outer = picture.getBoundingClientRect();
  const boxes = (what) => [...picture.querySelectorAll(what)].map((element) => [element.textContent || element.getAttribute("class"), element.getBoundingClientRect()]);
  const names = boxes("text"); const marks = boxes("circle.node, path.mast");
  const found = names.flatMap(([name, box], n) => [...names.slice(n + 1), ...marks].filter(([, other]) => meet(box, other)).map(([other]) => `${name} and ${other}`));
  const cut = names.filter(([, box]) => box.left < outer.left - 1 || box.right > outer.right + 1 || box.top < outer.top - 1 || box.bottom > outer.bottom + 1).map(([name]) => `${name} is cut`);
  return { found: [...found, ...cut], names: names.map(([name]) => name) };
}

export async function labelsAreApart(page, count) {
  const { found, names } = await page.evaluate(covered);
  assert.deepEqual(found, [], `names in the map: ${names}`);
  assert.equal(names.length, count, `names in the map: ${names}`);
}

// Names of many marks, some at the same place: they are apart, and a line leads to those that are
// away from their mark. What has no room has no name.
export async function manyLabelsAreApart(page) {
  const { placed, lines, long } = await page.evaluate(async () => {
    const { placeLabels, short } = await import("/labels.js");
    const { h } = await import("/dom.js");
    const marks = Array.from({ length: 80 }, (_, n) => ({ name: `nai-sensor-${n}@plant.example`.slice(4), x: 40 + ((n * 37) % 19) * 38, y: 20 + ((n * 53) % 11) * 38, reach: 5 }));
    marks.push(...Array.from({ length: 6 }, (_, n) => ({ name: `same place ${n}`, x: 600, y: 420, reach: 5 })));
    const labels = placeLabels(marks, [800, 440], 1);
    const picture = h("svg", { class: "picture map", viewBox: "0 0 800 440", width: 800, height: 440 },
      marks.map(({ x, y }) => h("circle", { class: "node", cx: x, cy: y, r: 5 })),
      labels.map((label) => label && h("text", { x: label.x, y: label.y }, label.text)));
    document.querySelector("svg.map").replaceWith(picture);
    return { placed: labels.filter(Boolean).length, lines: labels.filter((label) => label?.line).length, long: short("u".repeat(253)).length };
  });
  const { found } = await page.evaluate(covered);
  assert.deepEqual(found, []);
  assert.ok(placed > 20 && placed < 86 && lines > 5, `${placed} names, ${lines} lines`);
  assert.ok(long < 40, "a name that is too long is shortened");
}
