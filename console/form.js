// Forms with typed fields and lists of them. A control has the name that the API gives its field,
// such as `flows[0].five_qi`, so that a problem is shown there.
import { field, fill, h } from "./dom.js";
import { T } from "./text.js";

const lines = (text) => text.split(/\n/).map((line) => line.trim()).filter(Boolean);
const words = (text) => text.split(/[\s,;]+/).filter(Boolean);

// How the value of each type is shown and read. Nothing written is no value.
const TYPES = {
  text: { show: (v) => v ?? "", read: (c) => c.value.trim() || undefined },
  number: { show: (v) => v ?? "", read: (c) => (c.value === "" ? undefined : Number(c.value)), attributes: { type: "number", step: 1 } },
  select: { show: (v) => v ?? "", read: (c) => c.value || undefined },
  words: { show: (v) => (v ?? []).join(", "), read: (c) => words(c.value) },
  numbers: { show: (v) => (v ?? []).join(", "), read: (c) => words(c.value).map(Number) },
  lines: { show: (v) => (v ?? []).join("\n"), read: (c) => lines(c.value), attributes: { rows: 3, class: "short" } },
};

function simple(of, value, prefix) {
  const { show, read, attributes } = TYPES[of.type ?? "text"];
  const view = field(`${prefix}${of.name}`, of.label, { ...attributes, ...of.attributes, options: of.options, value: show(value) }, of.hint);
  const control = view.querySelector("input, select, textarea");
  return { view, read: () => read(control) };
}

function check(of, value, prefix) {
  const control = h("input", { type: "checkbox", name: `${prefix}${of.name}`, checked: value ?? false });
  return { view: h("label", { class: "check" }, control, of.label), read: () => control.checked };
}

// An object that may be absent.
function group(of, value, prefix) {
  const inner = typed(of.fields, value, `${prefix}${of.name}.`);
  const read = () => { const found = inner.read(); return Object.values(found).every((v) => v === undefined || v === "") ? undefined : found; };
  return { view: h("fieldset", {}, h("legend", {}, of.label), inner.view), read };
}

function items(of, value, prefix) {
  const box = h("div", { class: "items" });
  let rows = [];
  const read = () => rows.map((row) => row.read());
  function draw(values) {
    rows = values.map((one, n) => typed(of.fields, one, `${prefix}${of.name}[${n}].`));
    fill(box, rows.map((row, n) => h("fieldset", { class: "item" }, h("legend", {}, of.title(values[n], n)), row.view,
      h("button", { type: "button", class: "danger", "aria-label": `${T.remove}: ${of.title(values[n], n)}`, onclick: () => {
        draw(read().filter((_, m) => m !== n)); box.dispatchEvent(new Event("input", { bubbles: true }));
        box.lastElementChild.focus();
      } }, T.remove))),
    h("button", { type: "button", onclick: () => {
      draw([...read(), of.make()]);
      box.querySelector("fieldset.item:last-of-type input")?.focus();
      box.dispatchEvent(new Event("input", { bubbles: true }));
    } }, of.add));
  }
  draw(value ?? []);
  return { view: h("fieldset", {}, h("legend", {}, of.label), box), read };
}

const KINDS = { check, group, items };

// Controls for the fields of an object. Members without a field stay as they are.
export function typed(fields, value, prefix = "") {
  const parts = fields.map((of) => ({ name: of.name, ...(KINDS[of.type] ?? simple)(of, value?.[of.name], prefix) }));
  const read = () => {
    const found = { ...value };
    for (const part of parts) {
      const now = part.read();
      if (now === undefined) delete found[part.name]; else found[part.name] = now;
    }
    return found;
  };
  return { view: h("div", { class: "typed" }, parts.map((part) => part.view)), read };
}
