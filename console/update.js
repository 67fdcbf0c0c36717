// Changes elements in place: what stays keeps its focus, selected text, scrolled place and what a
// user has typed or opened.
import { add, takeHandlers } from "./dom.js";

const keyOf = (node) => node.dataset?.key ?? null;
const isLike = (old, node) => old.nodeName === node.nodeName && old.nodeType === node.nodeType && keyOf(old) === keyOf(node);

// Makes the children of an element equal to these. A child with the attribute `data-key` stays the
// same element as long as its key is there; others stay by their order. If the element with the
// focus goes, `element` has the focus.
export function update(element, ...children) {
  const wanted = document.createDocumentFragment();
  add(wanted, children);
  const focused = element.contains(document.activeElement) && document.activeElement !== element;
  mergeChildren(element, wanted);
  if (focused && !element.contains(document.activeElement)) {
    element.tabIndex = -1;
    element.focus({ preventScroll: true });
  }
  return element;
}

function mergeChildren(element, wanted) {
  const keyed = new Map([...element.children].filter((old) => keyOf(old) !== null).map((old) => [keyOf(old), old]));
  const keys = new Set([...wanted.children].map(keyOf));
  // What is gone goes first, so that nothing has to move for it.
  for (const [key, old] of keyed) if (!keys.has(key)) old.remove();
  let at = element.firstChild;
  for (const node of [...wanted.childNodes]) {
    let old = keyOf(node) === null ? at : keyed.get(keyOf(node));
    if (keyOf(node) === null) while (old && !isLike(old, node)) old = old.nextSibling;
    keyed.delete(keyOf(node));
    if (!old || !isLike(old, node)) { element.insertBefore(node, at); continue; }
    bring(old, at);
    at = old.nextSibling;
    merge(old, node);
  }
  while (at) { const rest = at; at = at.nextSibling; rest.remove(); }
}

// Makes an element follow the one before `at`. An element that moves loses the focus, so those
// between the two move if the focus is not in them.
function bring(old, at) {
  const between = [];
  for (let one = at; one !== old; one = one.nextSibling) between.push(one);
  if (between.some((one) => one.contains(document.activeElement))) { old.parentNode.insertBefore(old, at); return; }
  for (const one of between) if (keyOf(one) === null) one.remove(); else old.parentNode.append(one);
}

function merge(old, node) {
  if (old.nodeType !== Node.ELEMENT_NODE) {
    if (old.nodeValue !== node.nodeValue) old.nodeValue = node.nodeValue;
    return;
  }
  // The user opens and closes details.
  const isKept = (name) => name === "open" && old.nodeName === "DETAILS";
  for (const { name } of [...old.attributes]) if (!node.hasAttribute(name) && !isKept(name)) old.removeAttribute(name);
  for (const { name, value } of node.attributes) {
    if (old.getAttribute(name) !== value && !isKept(name)) old.setAttribute(name, value);
  }
  takeHandlers(old, node);
  mergeChildren(old, node);
  // An option that is selected by its attribute is what the server says.
  const given = old.nodeName === "SELECT" && [...old.options].find((option) => option.defaultSelected);
  if (given) old.value = given.value;
}
