// Users, API tokens, the audit log, backup, certificates and version.
import { call, get, post } from "../api.js";
import { confirmed } from "../confirm.js";
import { conflict, field, fill, h, say, showProblem, table, time } from "../dom.js";
import { T } from "../text.js";
import { update } from "../update.js";
import { backups } from "./backups.js";

const ROLES = ["viewer", "operator", "administrator"];
const SCOPES = ["read", "subscribers", "network", "administration"];

export async function administration(at, _, context) {
  if (!context.may("administration")) { fill(at, h("p", {}, T.onlyAdministrators)); return; }
  const version = await get("/version");
  const functions = await get("/functions");
  const program = h("section", {}, h("h2", {}, T.version), h("dl", {}, h("dt", {}, T.program), h("dd", {}, `martlet ${version.version}`),
    h("dt", {}, "API"), h("dd", {}, h("a", { href: "/api/v1/openapi.json" }, "/api/v1, OpenAPI 3.1"))),
  table(T.functionVersions, [T.name, T.state, T.restarts], functions.map((f) => [f.name.toUpperCase(), h("span", { class: f.running ? "good" : "bad" }, f.running ? T.running : T.notRunning), f.restarts]), T.nothing),
  h("p", {}, h("a", { href: "#/policies" }, T.toConfiguration)));
  fill(at, h("div", { class: "grid wide" }, await users(), await tokens(), h("div", {}, await certificates(), program)),
    await backups(), await audit());
}

async function users() {
  const listed = h("div"); const stale = h("div"); const problem = h("div");
  let tag = null;
  async function show() {
    const { value: all, tag: current } = await call("GET", "/users");
    tag = current; fill(stale);
    update(listed, table(T.users, [T.name, T.role, ""], all.map((user) => [user.name,
      h("select", { "aria-label": `${T.role}: ${user.name}`, value: user.role, onchange: async (event) => {
        await change("PATCH", user, { role: event.target.value });
      } }, ROLES.map((role) => h("option", { value: role, selected: role === user.role }, role))),
      h("button", { class: "danger", "aria-label": `${T.remove}: ${user.name}`, onclick: async () => {
        if (!await confirmed(T.removeUser, T.confirmUser(user.name))) return;
        await change("DELETE", user);
      } }, T.remove)]), T.nothing, all.map((user) => user.name)));
  }
  // Changes a user if no user was changed since they were read.
  async function change(method, user, body) {
    try {
      await call(method, `/users/${encodeURIComponent(user.name)}`, body, { "if-match": tag, "content-type": "application/json" });
      say(T.done);
    } catch (error) {
      if (error.status === 412) { fill(stale, conflict(() => show().then(() => listed.querySelector("select")?.focus()))); return; }
      say(error.detail);
    }
    await show();
  }
  const form = h("form", { onsubmit: async (event) => {
    event.preventDefault();
    try {
      await post("/users", { name: form.elements.name.value, role: form.elements.role.value, password: form.elements.password.value });
      form.reset(); fill(problem); say(T.done); await show();
    } catch (error) { showProblem(form, error, problem); }
  } }, field("name", T.name, { required: true, autocomplete: "off" }), field("role", T.role, { options: ROLES.map((r) => [r, r]) }),
  field("password", T.firstPassword, { type: "password", autocomplete: "new-password", required: true }), problem,
  h("div", { class: "buttons" }, h("button", { class: "main" }, T.addUser)));
  await show();
  return h("section", {}, h("h2", {}, T.users), listed, stale, form);
}

async function tokens() {
  const listed = h("div"); const problem = h("div"); const made = h("div", { role: "status" });
  async function show() {
    const all = await get("/tokens");
    update(listed, table(T.tokens, [T.name, T.user, T.scopes, T.expires, ""], all.map((token) => [token.name, token.user, token.scopes.join(", "), time(token.expires),
      h("button", { class: "danger", "aria-label": `${T.remove}: ${token.name}`, onclick: () => removed(token) }, T.remove)]), T.nothing, all.map((token) => token.id)));
  }
  async function removed(token) {
    if (!await confirmed(T.removeToken, T.confirmToken(token.name, token.user))) return;
    try { await call("DELETE", `/tokens/${token.id}`); } catch (error) { say(error.detail); }
    await show();
  }
  const form = h("form", { onsubmit: async (event) => {
    event.preventDefault();
    const scopes = SCOPES.filter((scope) => form.elements[`scope-${scope}`].checked);
    try {
      const answer = await post("/tokens", { name: form.elements["token-name"].value, scopes, days: Number(form.elements.days.value) });
      fill(made, h("p", { class: "warn" }, T.tokenMade), h("pre", { tabindex: 0 }, answer.token)); fill(problem); await show();
    } catch (error) { showProblem(form, error, problem); }
  } }, field("token-name", T.name, { required: true }), field("days", T.days, { type: "number", min: 1, max: 366, value: 90 }),
  h("fieldset", {}, h("legend", {}, T.scopes), SCOPES.map((scope) => h("label", { class: "check" },
    h("input", { type: "checkbox", name: `scope-${scope}`, checked: scope === "read" }), scope))), problem, made,
  h("div", { class: "buttons" }, h("button", { class: "main" }, T.addToken)));
  await show();
  return h("section", {}, h("h2", {}, T.tokens), listed, form);
}

async function certificates() {
  const all = await get("/certificates");
  const until = (days) => new Date(Date.now() + days * 86400000).toISOString().slice(0, 10);
  return h("section", {}, h("h2", {}, T.certificates), table(T.certificates, [T.name, T.validity, T.expires], all.map((c) => [c.file,
    h("span", { class: c.days < 30 ? "bad" : null }, T.validFor(c.days)), until(c.days)]), T.nothing));
}

// Entries in pages, the latest first.
async function audit() {
  const chain = h("p"); const listed = h("div"); const end = h("p", { class: "soft", role: "status" });
  const items = []; let next = null; let intact = true;
  const shown = (value) => JSON.stringify(value, null, 1);
  const more = (entry) => (entry.before === null && entry.after === null ? "–" : h("details", {}, h("summary", {}, T.detailsOf(entry.number)),
    entry.before !== null && [h("div", { class: "soft" }, T.before), h("pre", { tabindex: 0 }, shown(entry.before))],
    entry.after !== null && [h("div", { class: "soft" }, T.after), h("pre", { tabindex: 0 }, shown(entry.after))]));
  const older = h("button", { type: "button", onclick: async () => {
    older.disabled = true;
    try { await load(); } catch (error) { say(error.detail); }
    older.disabled = false;
    if (older.hidden) listed.querySelector(".scroll")?.focus(); else older.focus();
  } }, T.olderEntries);
  async function load() {
    const page = await get(`/audit?limit=50${next ? `&cursor=${encodeURIComponent(next)}` : ""}`);
    items.push(...page.items); next = page.next ?? null; intact &&= page.intact;
    update(chain, h("span", { class: intact ? "good" : "bad" }, intact ? T.intact : T.notIntact));
    update(listed, table(T.audit, [T.when, T.who, T.what, T.target, ""], items.map((entry) => [time(entry.at), `${entry.who} (${entry.via})`, entry.what, entry.target, more(entry)]),
      T.nothing, items.map((entry) => entry.number)));
    older.hidden = next === null;
    fill(end, next === null && T.allEntries(items.length));
  }
  await load();
  return h("section", {}, h("h2", {}, T.audit), chain, listed, end, h("div", { class: "buttons" }, older));
}
