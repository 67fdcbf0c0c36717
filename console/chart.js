// Lines of values, with a name for screen readers.
import { h } from "./dom.js";
import { T } from "./text.js";

export function spark(values, label) {
  const most = Math.max(1, ...values);
  const step = values.length > 1 ? 100 / (values.length - 1) : 100;
  const points = values.map((value, n) => `${n ? "L" : "M"}${(n * step).toFixed(2)} ${(30 - 28 * (value / most)).toFixed(2)}`);
  const last = values.length ? values[values.length - 1] : 0;
  return h("svg", { class: "spark", viewBox: "0 0 100 32", preserveAspectRatio: "none", role: "img",
    "aria-label": T.sparkOf(label, Math.round(last), Math.round(most)) },
    h("path", { d: points.join(" ") }));
}

const clock = (ms) => new Date(ms).toISOString().slice(11, 19);
// The next round number above.
function round(most) {
  const power = 10 ** Math.floor(Math.log10(most));
  return [1, 2, 5, 10].map((n) => n * power).find((n) => n >= most) ?? most;
}

// Series over time with axes: `lines` are `{ name, points: [[ms, value], …] }`, and `written` gives a
// value as text.
export function plot(lines, label, written) {
  const all = lines.flatMap((line) => line.points);
  if (!all.length) return null;
  // In a narrow window the text keeps its size.
  const width = matchMedia("(max-width: 40rem)").matches ? 360 : 720;
  const [height, left, bottom] = [200, 76, 24];
  const first = Math.min(...all.map(([ms]) => ms)); const last = Math.max(first + 1000, ...all.map(([ms]) => ms));
  const most = round(Math.max(1e-9, ...all.map(([, value]) => value)));
  const x = (ms) => left + ((ms - first) / (last - first)) * (width - left - 12);
  const y = (value) => 10 + (1 - value / most) * (height - bottom - 14);
  const now = lines.map((line) => `${line.name} ${line.points.length ? written(line.points.at(-1)[1]) : "–"}`).join(", ");
  return h("svg", { class: "picture plotted", preserveAspectRatio: "xMinYMid", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${label}: ${now}` },
    [0, 0.5, 1].map((part) => [h("line", { class: "grid-line", x1: left, x2: width - 12, y1: y(part * most), y2: y(part * most) }),
      h("text", { x: left - 6, y: y(part * most) + 5, "text-anchor": "end" }, written(part * most))]),
    h("text", { x: left, y: height - 4 }, clock(first)), h("text", { x: width - 12, y: height - 4, "text-anchor": "end" }, clock(last)),
    lines.map((line, n) => [h("polyline", { class: `series series-${n}`, points: line.points.map(([ms, value]) => `${x(ms).toFixed(1)},${y(value).toFixed(1)}`).join(" ") }),
      line.points.length === 1 && h("circle", { class: "node", cx: x(line.points[0][0]), cy: y(line.points[0][1]), r: 3 }),
      lines.length > 1 && h("text", { class: `name-${n}`, x: left + 8 + n * 100, y: 22 }, line.name)]));
}
