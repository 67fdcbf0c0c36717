// Counters, drops, tables, offload of hot flows, temperature and governor, a live trace, captures.
import { call, get, job, post } from "../api.js";
import { plot } from "../chart.js";
import { field, fill, h, rate, showProblem, table } from "../dom.js";
import { flows, meter, owner, rules } from "./sessions.js";
import { T } from "../text.js";
import { update } from "../update.js";

const POINTS = 200;

// How the values of the board and of its governor are shown, in the order of the table.
const percent = (share) => `${Number((100 * share).toPrecision(2))} %`;
const celsius = (value) => `${value.toFixed(1)} °C`;
const BOARD = { temperature: celsius, cpu: percent, memory: percent, frequency: (hertz) => `${Math.round(hertz / 1e6)} MHz`,
  power: (watts) => `${watts.toFixed(2)} W` };
const limitsOf = (limits) => Object.entries(limits).map(([name, bps]) => `${T.trafficClasses[name] ?? name}: ${rate(bps)}`).join(", ");
const GOVERNOR = { state: String, setPoint: celsius, predicted: celsius, allowedLoad: percent, batching: (is) => (is ? T.yes : T.no),
  limits: (limits) => limitsOf(limits) || T.nothing, simulatedThrottledMs: (ms) => (ms ? `${ms} ms` : null) };

function boardRows(top) {
  const rows = (values, kinds) => Object.entries(kinds).filter(([name]) => (values?.[name] ?? null) !== null)
    .map(([name, show]) => [T.boardValues[name], show(values[name])]).filter(([, text]) => text !== null);
  const without = (top.board?.temperature ?? null) === null ? [[T.temperature, T.noSensor]] : [];
  return [...without, ...rows(top.board, BOARD), ...(top.governor ? rows(top.governor, GOVERNOR) : [[T.boardValues.state, T.off]])];
}

export async function userplane(at, _, context) {
  const shown = h("div"); const packets = h("div", { role: "status" });
  // Readings since the page was opened.
  const readings = []; const moves = [];
  let left = false;
  context.onLeave(() => { left = true; });
  const pairs = (object) => Object.entries(object ?? {}).filter(([, value]) => value !== null && value !== undefined)
    .map(([name, value]) => [name.replaceAll("_", " "), typeof value === "object" ? JSON.stringify(value) : typeof value === "number" ? Number(value.toFixed(3)) : value]);

  function remember(top) {
    const before = readings.at(-1);
    const now = { ms: Date.now(), uplink: top.counters?.uplink_bytes ?? 0, downlink: top.counters?.downlink_bytes ?? 0,
      temperature: top.board?.temperature ?? null, on: top.details?.switch?.movedOn, off: top.details?.switch?.movedOff };
    const per = before ? 8000 / Math.max(1, now.ms - before.ms) : 0;
    now.up = before ? Math.max(0, now.uplink - before.uplink) * per : 0;
    now.down = before ? Math.max(0, now.downlink - before.downlink) * per : 0;
    if (before && (now.on !== before.on || now.off !== before.off)) moves.unshift([new Date(now.ms).toISOString().slice(11, 19), now.on - before.on, now.off - before.off]);
    readings.push(now);
    if (readings.length > POINTS) readings.shift();
    moves.splice(10);
  }

  function offload(top) {
    const of = top.details?.switch;
    if (!of) return h("section", {}, h("h2", {}, T.offload), h("p", { class: "soft" }, T.noSwitch));
    return h("section", {}, h("h2", {}, T.offload), h("dl", {},
      [[T.switch, h("span", { class: of.connected ? "good" : "bad" }, of.connected ? T.up : T.down)], [T.onSwitch, `${of.sessions.onSwitch} / ${of.sessions.most}`],
        [T.knownSessions, of.sessions.known], [T.movedOn, of.movedOn], [T.movedOff, of.movedOff], [T.failures, of.failed]]
        .flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, value)])),
    of.lastFailure && h("p", { class: of.connected ? "soft" : "bad" }, T.lastFailure(of.lastFailure)), table(T.moves, [T.when, T.movedOn, T.movedOff], moves, T.nothing));
  }

  async function load() {
    const top = await get("/user-plane");
    remember(top);
    const series = (name) => readings.slice(1).map((one) => [one.ms, one[name]]);
    const heat = readings.filter((one) => one.temperature !== null).map((one) => [one.ms, one.temperature]);
    const now = readings.at(-1);
    update(shown, h("p", {}, `${T.datapath}: `, h("strong", {}, top.datapath), `, ${T.sessions}: ${top.sessionCount}, ${T.uplink} ${rate(now.up)}, ${T.downlink} ${rate(now.down)}`),
      plot([{ name: T.uplink, points: series("up") }, { name: T.downlink, points: series("down") }], T.overTime(T.throughput), rate),
      offload(top),
      h("div", { class: "grid wide" },
        table(T.dropsByReason, [T.why, T.packets], pairs(top.drops), T.nothing),
        table(T.tables, [T.name, T.used, T.ofCapacity, "%"], top.tables.map((t) => [t.table.replaceAll("_", " "), t.used, t.capacity, t.capacity ? ((100 * t.used) / t.capacity).toFixed(1) : "–"]), T.nothing),
        table(T.board, [T.name, T.value], boardRows(top), T.nothing),
        table(T.latencies, [T.name, T.value], pairs(top.latencyNs), T.nothing)),
      heat.length > 1 && plot([{ name: T.temperature, points: heat }], T.overTime(T.temperature), (value) => `${Number(value.toPrecision(3))} °C`),
      table(T.topSessions, [T.address, T.uplink, T.downlink, "SEID"], top.sessions.map((s) => [owner(s, s.ue), T.packetsBytes(s.uplink), T.packetsBytes(s.downlink), s.seid]), T.nothing, top.sessions.map((s) => s.seid)));
    offer(top.sessions);
    await loadChosen();
  }

  // Flows and rules of one session. The choice stays as it is while the page is read again.
  const choice = field("session", T.session, { options: [] }); const chosen = h("div");
  const select = choice.querySelector("select"); const measure = meter();
  select.addEventListener("change", () => loadChosen());
  function offer(sessions) {
    update(select, sessions.map((s) => h("option", { value: s.seid, "data-key": s.seid }, `${s.ue || T.unknown} (${s.seid})`)));
  }
  async function loadChosen() {
    const seid = select.value;
    const one = seid ? await get(`/user-plane/sessions/${seid}`).catch(() => null) : null;
    if (seid !== select.value) return;
    update(chosen, one ? [h("p", {}, owner(one, one.supi ?? T.unknown), `, ${one.ue.join(", ")}`), flows([one], measure), rules([one])] : h("p", { class: "soft" }, T.nothing));
  }

  let running = null;
  const at2 = h("div");
  const form = h("form", { class: "inline", onsubmit: async (event) => {
    event.preventDefault();
    fill(packets, T.noPackets);
    try {
      running = await post("/traces", { seconds: Number(form.elements.seconds.value), forwarded: form.elements.forwarded.checked, ue: form.elements.ue.value.trim() || null });
      const ended = await job(running, (current) => draw(current.result?.packets ?? [], current), () => left);
      draw(ended.result?.packets ?? [], ended);
    } catch (problem) { showProblem(form, problem, at2); }
  } },
  field("seconds", T.seconds, { type: "number", min: 1, max: 600, value: 10 }), field("ue", T.onlyUe, {}),
  h("label", { class: "check" }, h("input", { type: "checkbox", name: "forwarded", checked: true }), T.forwarded),
  h("button", { class: "main" }, T.startTrace),
  h("button", { type: "button", onclick: () => running && call("DELETE", `/jobs/${running.id}`) }, T.cancelJob));
  function draw(list, current) {
    update(packets, h("p", {}, `${list.length} ${T.packets}, ${current.done} s (${current.state})`),
      table(T.packets, ["UE", T.packet], list.slice(-50).reverse().map((packet) => {
        const { ue, bytes, ...rest } = packet;
        return [(ue ?? []).join(", ") || "–", Object.entries(rest).filter(([, v]) => v !== null && typeof v !== "object").map(([n, v]) => `${n} ${v}`).join(", ")];
      }), T.noPackets));
  }
  const captured = h("div", { role: "status" }); const at3 = h("div");
  const capture = h("form", { class: "inline", onsubmit: async (event) => {
    event.preventDefault();
    fill(at3);
    try {
      const started = await post("/captures", { seconds: Number(capture.elements["capture-seconds"].value) });
      const show = (current) => update(captured, h("dl", {}, pairs({ state: current.state, ...current.result }).flatMap(([n, v]) => [h("dt", {}, n), h("dd", {}, v)])));
      show(await job(started, show, () => left));
    } catch (problem) { showProblem(capture, problem, at3); }
  } }, field("capture-seconds", T.seconds, { type: "number", min: 1, max: 3600, value: 10 }), h("button", {}, T.startCapture));
  fill(at, shown, h("section", {}, h("h2", {}, T.flowsAndRules), h("div", { class: "form" }, choice), chosen), context.may("network") && [h("h2", {}, T.trace), form, at2, packets,
    h("h2", {}, T.captureN6), h("p", { class: "soft" }, T.captureHint), capture, at3, captured]);
  await load().catch((problem) => fill(shown, h("p", { class: "error" }, problem.detail)));
  const timer = setInterval(() => load().catch(() => {}), 2000);
  context.onLeave(() => clearInterval(timer));
}
