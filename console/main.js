// Sign-in, navigation and pages.
import { beginSignIn, call, endSignIn, events, provider, session, signIn } from "./api.js";
import { field, fill, h, say, showProblem } from "./dom.js";
import { fromPath } from "./supi.js";
import { T } from "./text.js";
import { overview } from "./pages/overview.js";
import { ues } from "./pages/ues.js";
import { subscribers } from "./pages/subscribers.js";
import { radio } from "./pages/radio.js";
import { userplane } from "./pages/userplane.js";
import { map } from "./pages/map.js";
import { policies } from "./pages/policies.js";
import { lab } from "./pages/lab.js";
import { administration } from "./pages/administration.js";

const PAGES = { overview, ues, subscribers, radio, userplane, map, policies, lab, administration };
const main = document.getElementById("main");
const header = document.getElementById("header");
let who = null;
let failed = null;
let leave = [];

function drawHeader(current) {
  if (!who) { fill(header, h("strong", {}, T.title)); return; }
  const links = Object.keys(PAGES).map((name) => h("li", {},
    h("a", { href: `#/${name}`, "aria-current": name === current ? "page" : null }, T.pages[name])));
  fill(header, h("strong", {}, T.title), h("nav", { "aria-label": T.navigation }, h("ul", {}, links)),
    h("span", { class: "user" }, T.signedInAs(who.user, who.role)),
    h("button", { onclick: signOut }, T.signOut));
}

async function signOut() {
  try { await call("DELETE", "/session"); } catch { /* it has ended already */ }
  who = null; show();
}

function signInPage(failed) {
  const at = h("div"); const other = h("div");
  const form = h("form", { onsubmit: async (event) => {
    event.preventDefault();
    try {
      who = await signIn(form.elements.user.value, form.elements.password.value);
      show();
    } catch (problem) { showProblem(form, problem, at); }
  } },
  field("user", T.user, { autocomplete: "username", required: true }),
  field("password", T.password, { type: "password", autocomplete: "current-password", required: true }),
  at, h("div", { class: "buttons" }, h("button", { class: "main" }, T.signIn)));
  fill(main, h("h1", {}, T.signIn), form, other);
  form.elements.user.focus();
  if (failed) showProblem(form, failed, at);
  provider().then((name) => name && fill(other, h("h2", {}, T.orElse),
    h("button", { onclick: async () => {
      try { location.assign(await beginSignIn()); } catch (problem) { showProblem(form, problem, at); }
    } }, T.signInWith(name)))).catch(() => {});
}

function passwordPage() {
  const at = h("div");
  const form = h("form", { onsubmit: async (event) => {
    event.preventDefault();
    const [old, next] = [form.elements.old.value, form.elements.new.value];
    try {
      await call("PUT", "/session/password", { old, new: next });
      who = await session();
      say(T.done); show();
    } catch (problem) { showProblem(form, { ...problem, field: problem.field === "password" ? "new" : problem.field, detail: problem.detail, remedy: problem.remedy }, at); }
  } },
  field("old", T.oldPassword, { type: "password", autocomplete: "current-password", required: true }),
  field("new", T.newPassword, { type: "password", autocomplete: "new-password", required: true, minlength: 12 }),
  at, h("div", { class: "buttons" }, h("button", { class: "main" }, T.changePassword)));
  fill(main, h("h1", {}, T.changePassword), h("p", {}, T.mustChange), form);
  form.elements.old.focus();
}

const context = {
  may: (scope) => who?.scopes.includes(scope) ?? false,
  events: (kinds, handlers) => { leave.push(events(kinds, handlers)); },
  onLeave: (then) => leave.push(then),
};

async function show() {
  for (const end of leave) end();
  leave = [];
  if (!who) { drawHeader(); signInPage(failed); failed = null; return; }
  if (who.must_change_password) { drawHeader(); passwordPage(); return; }
  const [name, ...rest] = location.hash.replace(/^#\//, "").split("/").map(fromPath);
  const page = Object.hasOwn(PAGES, name) ? name : "overview";
  drawHeader(page);
  document.title = `${T.pages[page]} – ${T.title}`;
  fill(main, h("h1", {}, T.pages[page]));
  const at = h("div");
  main.append(at);
  try {
    await PAGES[page](at, rest, context);
  } catch (problem) {
    at.append(h("p", { class: "error", role: "alert" }, [problem.detail ?? problem.message, problem.remedy].filter(Boolean).join(": ")));
  }
}

window.addEventListener("hashchange", () => { show(); main.focus(); });
window.addEventListener("signed-out", (event) => { if (who) { who = null; failed = event.detail; show(); } });
if (location.pathname === "/oidc") {
  const parameters = new URLSearchParams(location.search);
  // The code is of no use twice, and leaves the history of the browser.
  history.replaceState(null, "", "/");
  try { who = await endSignIn(parameters); } catch (problem) { failed = problem; }
} else {
  try { who = await session(); } catch { who = null; }
}
show();
