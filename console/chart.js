// A line of the last minutes, with a name for screen readers.
import { h } from "./dom.js";

export function spark(values, label) {
  const most = Math.max(1, ...values);
  const step = values.length > 1 ? 100 / (values.length - 1) : 100;
  const points = values.map((value, n) => `${n ? "L" : "M"}${(n * step).toFixed(2)} ${(30 - 28 * (value / most)).toFixed(2)}`);
  const last = values.length ? values[values.length - 1] : 0;
  return h("svg", { class: "spark", viewBox: "0 0 100 32", preserveAspectRatio: "none", role: "img",
    "aria-label": `${label}: now ${Math.round(last)}, at most ${Math.round(most)} in the last minutes` },
    h("path", { d: points.join(" ") }));
}
