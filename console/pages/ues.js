// All UEs, and the page of one: state, procedures with causes, messages, sessions, rules, position.
import { get, post } from "../api.js";
import { cause } from "../causes.js";
import { spark } from "../chart.js";
import { confirmed } from "../confirm.js";
import { field, fill, h, rate, say, table } from "../dom.js";
import { rows } from "../table.js";
import { recorder } from "./ladder.js";
import { flows, meter, rules } from "./sessions.js";
import { inPath, searchOf, supiOf } from "../supi.js";
import { T } from "../text.js";
import { update } from "../update.js";

const STATES = ["registered, connected", "registered, idle", "registering", "deregistered"];

export async function ues(at, [supi], context) {
  if (supi) return one(at, supi, context);
  const count = h("p", { class: "soft", "aria-live": "polite" });
  const list = rows({
    label: T.pages.ues, heads: [T.supi, T.state, T.gnb, T.sessions], path: "/ues",
    cells: (ue) => [h("a", { href: `#/ues/${inPath(ue.supi)}` }, ue.supi), ue.state, ue.gnb ?? "–", ue.sessions.join(", ") || "–"],
    count: (all, shown, part) => { count.textContent = T.ueCount(all, shown, part); },
  });
  const form = h("form", { class: "inline", role: "search", onsubmit: (event) => { event.preventDefault(); load(); } },
    field("search", T.search, { type: "search" }, T.searchHint),
    field("state", T.state, { options: [["", T.anyState], ...STATES.map((s) => [s, s])] }),
    field("gnb", T.gnb, {}), h("button", { class: "main" }, T.search));
  const look = h("form", { class: "inline", onsubmit: (event) => {
    event.preventDefault();
    const wanted = supiOf(look.elements.imsi.value);
    if (wanted) location.hash = `#/ues/${inPath(wanted)}`;
  } }, field("imsi", T.lookUp, {}, T.imsi), h("button", {}, T.search));
  const problem = h("div");
  let timer = null;
  const shown = async (reading) => {
    try { await reading; fill(problem); } catch (error) {
      fill(problem, h("p", { class: "error", role: "alert" }, [error.detail, error.remedy].filter(Boolean).join(": ")));
    }
  };
  const load = () => {
    clearTimeout(timer);
    const value = (name) => (name === "search" ? searchOf(form.elements.search.value) : form.elements[name].value.trim());
    const filter = ["search", "state", "gnb"].filter(value).map((name) => `&${name}=${encodeURIComponent(value(name))}`).join("");
    return shown(list.load(filter));
  };
  form.elements.state.addEventListener("change", load);
  form.elements.search.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(load, 250); });
  fill(at, form, problem, h("div", { class: "over-rows" }, count, list.ends), list.view, look);
  await load();
  let due = null;
  const soon = () => { due ??= setTimeout(() => { due = null; shown(list.refresh()); }, 500); };
  context.onLeave(() => { clearTimeout(due); clearTimeout(timer); });
  context.events(["ue_state"], { ue_state: soon, reset: soon, open: soon });
}

async function one(at, supi, context) {
  const state = h("div"); const sessions = h("div"); const history = h("div"); const ladder = h("div");
  const outcome = h("div", { role: "status" });
  const actions = h("div", { class: "buttons", hidden: true });
  fill(at, h("h2", {}, supi), state, actions, outcome, h("h2", {}, T.sessions), sessions,
    h("h2", {}, T.messages), context.may("network") ? recorder(supi, context) : h("p", { class: "soft" }, T.noMessages),
    h("h2", {}, T.history), history, h("h2", {}, T.ladder), ladder);
  const act = (name, label, danger) => h("button", { class: danger ? "danger" : null, onclick: async () => {
    if (danger && !await confirmed(label, T.confirmDeregister(supi))) return;
    fill(outcome, T.done.slice(0, 0));
    try {
      const done = await post(`/ues/${inPath(supi)}/${name}`);
      if (name === "location") fill(outcome, position(done)); else { fill(outcome, done.done); say(done.done); }
    } catch (problem) { fill(outcome, h("p", { class: "error" }, problem.detail)); }
    load();
  } }, label);

  // They stay with the focus when the state changes.
  if (context.may("network")) fill(actions, act("release", T.release), act("paging", T.page), act("location", T.locate),
    h("a", { class: "button", href: `#/map/${inPath(supi)}` }, T.onMap), act("deregistration", T.deregister, true));

  async function load() {
    try {
      const ue = await get(`/ues/${inPath(supi)}`);
      update(state, h("dl", {}, h("dt", {}, T.state), h("dd", {}, ue.state), h("dt", {}, T.gnb), h("dd", {}, ue.gnb ?? "–"),
        h("dt", {}, T.protocols), h("dd", {}, [ue.lpp, ue.lcs_upp].map((has) => (has ? T.yes : T.no)).join(" / "))));
      actions.hidden = false;
    } catch (problem) {
      actions.hidden = problem.status === 404;
      update(state, h("p", {}, problem.status === 404 ? T.notKnown : problem.detail));
    }
    await loadSessions();
    const { items } = await get(`/ues/${inPath(supi)}/history?last=200`).catch((problem) => ({ items: [], problem }));
    update(history, items.length ? h("ol", { class: "timeline", "aria-label": `${T.historyOf} ${supi}` }, keyed(items).reverse().map(([entry, key]) => event(entry, key)))
      : h("p", { class: "soft" }, T.noHistory));
    update(ladder, items.length ? [h("p", { class: "soft" }, T.ladderHint), drawLadder(items.slice(-25))] : null);
  }

  // Throughput is the difference of two readings of the counters.
  const rates = new Map(); const measure = meter();
  async function loadSessions() {
    const found = await get(`/ues/${inPath(supi)}/sessions`).catch(() => []);
    const now = performance.now();
    for (const s of found) {
      const sum = (way) => s.user_plane.reduce((all, n4) => all + n4[way].bytes, 0);
      const before = rates.get(s.id); const totals = { uplink: sum("uplink"), downlink: sum("downlink") };
      const per = before ? 8000 / Math.max(now - before.at, 1) : 0;
      const bps = (way) => Math.max(0, before ? (totals[way] - before.totals[way]) * per : 0);
      const series = [...(before?.series ?? []), { uplink: bps("uplink"), downlink: bps("downlink") }].slice(-150);
      rates.set(s.id, { at: now, totals, series });
    }
    update(sessions, found.length ? found.map((s) => session(s, rates.get(s.id).series, measure)) : h("p", { class: "soft" }, T.nothing));
  }

  await load();
  const timer = setInterval(() => loadSessions().catch(() => {}), 2000);
  context.onLeave(() => clearInterval(timer));
  let due = null;
  context.onLeave(() => clearTimeout(due));
  const soon = () => { due ??= setTimeout(() => { due = null; load(); }, 300); };
  context.events(["ue", "ue_state"], {
    ue(data) { if (data.supi === supi) soon(); },
    ue_state(data) { if (data.supis.includes(supi) || !data.complete) soon(); },
    reset: soon,
  });
}

// Entries with a key for each: the same entry has the same one when the history is read again.
function keyed(items) {
  const seen = new Map();
  return items.map((entry) => {
    const name = `${entry.ms} ${entry.nf} ${entry.what}`;
    seen.set(name, (seen.get(name) ?? 0) + 1);
    return [entry, `${name} ${seen.get(name)}`];
  });
}

function event(entry, key) {
  const more = Object.entries(entry.more ?? {}).filter(([name]) => name !== "log.line");
  const why = cause(entry);
  return h("li", { "data-key": key }, h("time", {}, new Date(entry.ms).toISOString().slice(0, 23).replace("T", " ")), " ",
    h("strong", {}, `${(entry.nf ?? "").toUpperCase()}: ${entry.what}`), " ",
    h("span", { class: "soft" }, more.map(([name, value]) => `${name}=${value}`).join(" ")),
    why && h("div", { class: "cause" }, h("div", {}, `${T.why}: ${why[0]}`), h("div", {}, `${T.remedy}: ${why[1]}`)));
}

function session(s, series, measure) {
  const last = series.at(-1);
  const drops = Object.entries(Object.assign({}, ...s.user_plane.map((n4) => n4.drops ?? {})));
  return h("section", { class: "card", "data-key": s.id }, h("h3", {}, T.sessionOf(s.id, s.addresses.join(", ") || T.unknown)),
    h("div", { class: "grid figures" }, ["uplink", "downlink"].map((way) => h("div", { class: "card" }, h("div", { class: "label" }, `${T[way]}: ${T.liveThroughput}`),
      h("div", { class: "value" }, rate(last[way])), series.length > 1 && spark(series.map((one) => one[way]), `${T[way]}: ${T.liveThroughput}`)))),
    h("dl", {}, s.upfs.flatMap((upf) => [h("dt", {}, "UPF"), h("dd", {}, `${upf.upf}, SEID ${upf.seid}, TEID ${upf.teid}`)]),
      s.user_plane.flatMap((n4) => [h("dt", {}, T.uplink), h("dd", {}, T.packetsBytes(n4.uplink)),
        h("dt", {}, T.downlink), h("dd", {}, T.packetsBytes(n4.downlink))]),
      drops.flatMap(([name, count]) => [h("dt", {}, `${T.dropped}: ${name}`), h("dd", { class: "bad" }, count)])),
    flows(s.user_plane, measure),
    h("details", {}, h("summary", {}, T.rules), rules(s.user_plane)));
}

export function position(location) {
  const shape = location.locationEstimate ?? {};
  const point = shape.point ?? {};
  const ellipse = shape.uncertaintyEllipse;
  return h("dl", {}, h("dt", {}, T.position), h("dd", {}, `${point.lat?.toFixed(6)}, ${point.lon?.toFixed(6)}`),
    ellipse && [h("dt", {}, T.ellipse), h("dd", {}, `${ellipse.semiMajor} m × ${ellipse.semiMinor} m, ${ellipse.orientationMajor}°`)]);
}

// Functions as columns, and an arrow between the functions of consecutive events.
function drawLadder(items) {
  const names = [...new Set(["ue", ...items.map((item) => item.nf ?? "?")])];
  const x = (name) => 70 + names.indexOf(name) * 220;
  const height = 50 + items.length * 26;
  let before = "ue";
  const arrows = items.map((item, n) => {
    const y = 48 + n * 26; const to = item.nf ?? "?";
    const from = before === to ? "ue" : before;
    before = to;
    const bad = cause(item);
    return h("g", {}, h("path", { class: bad ? "line bad" : "line", d: `M${x(from)} ${y} H${x(to)}` }),
      h("circle", { class: bad ? "node bad" : "node", cx: x(to), cy: y, r: 5 }),
      h("text", { x: Math.min(x(from), x(to)) + 12, y: y - 4 }, item.what.slice(0, 60)));
  });
  return h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": T.ladder },
    h("svg", { class: "picture ladder", width: 200 + names.length * 220, height, viewBox: `0 0 ${200 + names.length * 220} ${height}`, role: "img",
      "aria-label": items.map((item) => `${item.nf}: ${item.what}`).join("; ") },
    names.map((name) => h("g", {}, h("text", { x: x(name) - 20, y: 18 }, name.toUpperCase()),
      h("path", { class: "line", d: `M${x(name)} 26 V${height}` }))), arrows));
}

