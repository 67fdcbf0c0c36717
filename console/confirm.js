// A question before something that cannot be undone, in a modal dialog.
import { h } from "./dom.js";
import { T } from "./text.js";

// Asks, and returns a promise of whether the user confirms. `action` names the button, and the
// dialog; `text` says what is done to what; `more` is further content. The focus goes to Cancel,
// stays in the dialog, and comes back to the element that had it. Escape, another page and the end
// of the session are Cancel.
export function confirmed(action, text, more) {
  const before = document.activeElement;
  const cancel = h("button", { type: "button", onclick: () => dialog.close() }, T.cancel);
  const confirm = h("button", { type: "button", class: "danger", onclick: () => dialog.close("confirmed") }, action);
  const dialog = h("dialog", { class: "confirm", "aria-labelledby": "confirm-title", "aria-describedby": "confirm-text", onkeydown: stay },
    h("h2", { id: "confirm-title" }, action), h("p", { id: "confirm-text" }, text), more, h("div", { class: "buttons" }, cancel, confirm));
  // From the last element to the first one and back: the browser would leave the page.
  function stay(event) {
    if (event.key !== "Tab") return;
    const all = [...dialog.querySelectorAll("a[href], button, input, select, textarea")].filter((one) => !one.disabled);
    const end = event.shiftKey ? all[0] : all.at(-1);
    if (document.activeElement !== end) return;
    event.preventDefault();
    (event.shiftKey ? all.at(-1) : all[0]).focus();
  }
  const left = ["hashchange", "signed-out"]; const leave = () => dialog.close();
  for (const kind of left) window.addEventListener(kind, leave);
  document.body.append(dialog);
  dialog.showModal();
  cancel.focus();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => {
      for (const kind of left) window.removeEventListener(kind, leave);
      dialog.remove();
      if (before?.isConnected) before.focus(); else document.getElementById("main").focus();
      resolve(dialog.returnValue === "confirmed");
    }, { once: true });
  });
}
