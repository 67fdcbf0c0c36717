// Elements without markup in strings: text is always text.
import { T } from "./text.js";

const SVG = "http://www.w3.org/2000/svg";
const SVG_TAGS = new Set(["svg", "path", "rect", "circle", "ellipse", "line", "text", "g", "image", "title", "polyline"]);

export function h(tag, attributes = {}, ...children) {
  const element = SVG_TAGS.has(tag) ? document.createElementNS(SVG, tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) listen(element, name.slice(2), value);
    else if (name === "value") element.value = value;
    else if (name === "checked") element.checked = value;
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  add(element, children);
  return element;
}

// The handlers of elements by the kind of event. An element that is changed in place gets others.
const handlers = new WeakMap();
const handle = (event) => handlers.get(event.currentTarget)?.[event.type]?.(event);

function listen(element, kind, handler) {
  const own = handlers.get(element) ?? {};
  if (!own[kind]) element.addEventListener(kind, handle);
  handlers.set(element, { ...own, [kind]: handler });
}

// Gives an element the handlers of another one, and no others.
export function takeHandlers(element, from) {
  const own = handlers.get(element); const wanted = handlers.get(from);
  if (!own && !wanted) return;
  for (const kind of Object.keys(own ?? {})) if (!wanted?.[kind]) element.removeEventListener(kind, handle);
  for (const kind of Object.keys(wanted ?? {})) if (!own?.[kind]) element.addEventListener(kind, handle);
  handlers.set(element, { ...wanted });
}

export function add(element, children) {
  for (const child of children.flat(Infinity)) {
    if (child === undefined || child === null || child === false) continue;
    element.append(child instanceof Node ? child : String(child));
  }
}

export function fill(element, ...children) {
  element.replaceChildren();
  add(element, children);
  return element;
}

export function say(text) {
  const status = document.getElementById("status");
  status.textContent = text;
  clearTimeout(say.timer);
  say.timer = setTimeout(() => { status.textContent = ""; }, 6000);
}

export function field(name, label, attributes = {}, hint) {
  const tag = attributes.options ? "select" : attributes.rows ? "textarea" : "input";
  const { options, value: initial, ...rest } = attributes;
  const control = h(tag, { id: `f-${name}`, name, ...rest },
    (options ?? []).map(([value, text]) => h("option", { value }, text)));
  if (initial !== undefined) control.value = initial;
  const error = h("span", { id: `e-${name}`, class: "error", hidden: true });
  control.setAttribute("aria-describedby", `e-${name}`);
  return h("label", { for: `f-${name}` }, label, hint && h("span", { class: "soft" }, hint), control, error);
}

const plain = (name) => name.replace(/\[\d+\]/g, "");

// The control for a field of the API: the same name, the list around an item, or the last word.
function controlOf(form, name) {
  const all = [...(form.elements ?? [])].filter((control) => control.name);
  const named = (wanted) => all.find((control) => control.name === wanted);
  const list = name.replace(/\[\d+\]$/, "");
  const last = plain(name).split(".").pop();
  return named(name) ?? named(list) ?? all.find((control) => plain(control.name) === plain(name)) ?? named(last);
}

// Shows the problems of the API at their fields, and the others at `at`.
export function showProblem(form, problem, at) {
  for (const error of form.querySelectorAll(".error")) { error.hidden = true; error.textContent = ""; }
  for (const control of form.querySelectorAll("[aria-invalid]")) control.removeAttribute("aria-invalid");
  const text = [problem.detail, problem.remedy].filter(Boolean).join(": ");
  const errors = problem.errors?.length ? problem.errors
    : problem.field ? [{ field: problem.field, detail: text }] : [];
  const others = errors.length ? [] : [text];
  let first = null;
  for (const { field: name, detail } of errors) {
    const control = controlOf(form, name);
    const error = control && form.querySelector(`#e-${CSS.escape(control.name)}`);
    if (!error) { others.push(`${name}: ${detail}`); continue; }
    error.textContent = error.textContent ? `${error.textContent}; ${detail}` : detail;
    error.hidden = false;
    control.setAttribute("aria-invalid", "true");
    control.closest("details")?.setAttribute("open", "");
    first ??= control;
  }
  fill(at, others.map((other) => h("p", { class: "error", role: "alert" }, other)));
  first?.focus();
  return Boolean(first);
}

// A stale edit: nothing was overwritten, and `load` shows the current version.
export const conflict = (load) => h("div", { class: "cause", role: "alert" }, h("p", {}, T.conflict),
  h("button", { type: "button", onclick: load }, T.theirs));

export function time(seconds) {
  return new Date(seconds * 1000).toISOString().replace("T", " ").slice(0, 19);
}

export function rate(bits) {
  const units = ["bit/s", "kbit/s", "Mbit/s", "Gbit/s"];
  let n = bits; let unit = 0;
  while (n >= 1000 && unit < units.length - 1) { n /= 1000; unit += 1; }
  return `${n < 10 ? n.toFixed(1) : Math.round(n)} ${units[unit]}`;
}

// The same in few characters, where the unit is known.
export const shortRate = (bits) => rate(bits).replace(/ ?bit\/s$/, "").replace(/ ([kMG])$/, "\u00a0$1");

// What may be wider than the window scrolls by itself, also by the keyboard.
export const scrolling = (label, content) => h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": label }, content);

// A table that is updated has a key for each row, by which the row stays.
export function table(caption, heads, rows, empty, keys = []) {
  if (!rows.length) return h("p", { class: "soft" }, `${caption}: ${empty}`);
  return h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": caption, "data-key": `table ${caption}` },
    h("table", {}, h("caption", {}, caption),
      h("thead", {}, h("tr", {}, heads.map((head) => h("th", { scope: "col" }, head)))),
      h("tbody", {}, rows.map((row, n) => h("tr", { "data-key": keys[n] }, row.map((cell) => h("td", {}, cell)))))));
}
