// Places the names of marks in a picture so that none covers another name or a mark.

const FONT = '14px system-ui, "DejaVu Sans", sans-serif';
// Longest name in characters; a network-specific identifier may have 253.
const LONGEST = 28;
// Distances of a name from its mark in pixels, and directions in eighths of a turn, clockwise from
// the right: the first that are free are taken.
const DISTANCES = [4, 20, 40, 64, 90, 120];
const DIRECTIONS = [-1, 1, -3, 3, 0, 4, -2, 2];
// Space around a name in pixels.
const MARGIN = 2;

const meet = (a, b) => a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;
const isWithin = (box, [width, height]) => box.x >= 0 && box.y >= 0 && box.x + box.width <= width && box.y + box.height <= height;

let pen = null;
function sizeOf(text) {
  pen ??= document.createElement("canvas").getContext("2d");
  pen.font = FONT;
  const measured = pen.measureText(text);
  return { width: measured.width + 2 * MARGIN, height: measured.fontBoundingBoxAscent + measured.fontBoundingBoxDescent + 2 * MARGIN, above: measured.fontBoundingBoxAscent + MARGIN };
}

export const short = (name) => (name.length > LONGEST ? `${name.slice(0, LONGEST - 1)}…` : name);

// `marks` have a name, the centre `x` and `y`, and the distance `reach` from there to their edge;
// `size` is width and height of the picture; `unit` is a pixel of the screen in the picture. Returns
// for each mark where the text begins, and the `line` that leads to it if it is away from the mark,
// or null if there is no room for it.
export function placeLabels(marks, size, unit) {
  const taken = marks.map(({ x, y, reach }) => ({ x: x - reach, y: y - reach, width: 2 * reach, height: 2 * reach }));
  return marks.map(({ name, x, y, reach }) => {
    const text = sizeOf(short(name));
    const [width, height] = [text.width * unit, text.height * unit];
    for (const [n, distance] of DISTANCES.entries()) {
      for (const direction of DIRECTIONS) {
        const [cos, sin] = [Math.cos((direction * Math.PI) / 4), Math.sin((direction * Math.PI) / 4)];
        const from = reach + distance * unit;
        const [px, py] = [x + from * cos, y + from * sin];
        const box = { x: px - (width * (1 - cos)) / 2, y: py - (height * (1 - sin)) / 2, width, height };
        if (!isWithin(box, size) || taken.some((other) => meet(box, other))) continue;
        taken.push(box);
        const line = n === 0 ? null : { x1: x + reach * cos, y1: y + reach * sin, x2: px, y2: py };
        return { x: box.x + MARGIN * unit, y: box.y + text.above * unit, text: short(name), line };
      }
    }
    return null;
  });
}
