// Counters, drops, tables, temperature, and a live trace.
import { call, get, job, post } from "../api.js";
import { field, fill, h, showProblem, table } from "../dom.js";
import { T } from "../text.js";

export async function userplane(at, _, context) {
  const shown = h("div"); const packets = h("div", { role: "status" });
  let left = false;
  context.onLeave(() => { left = true; });
  async function load() {
    const top = await get("/user-plane");
    const pairs = (object) => Object.entries(object ?? {}).filter(([, value]) => value !== null).map(([name, value]) => [name.replaceAll("_", " "), typeof value === "object" ? JSON.stringify(value) : value]);
    fill(shown, h("p", {}, `${T.datapath}: `, h("strong", {}, top.datapath), `, ${T.sessions}: ${top.sessionCount}`),
      h("div", { class: "grid wide" },
        table(T.dropsByReason, [T.why, T.packets], pairs(top.drops), T.nothing),
        table(T.tables, [T.name, "Used", "Of"], top.tables.map((t) => [t.table, t.used, t.capacity]), T.nothing),
        table(T.board, ["", ""], [...pairs(top.board), ...pairs(top.governor)], T.nothing),
        table(T.topSessions, [T.address, T.uplink, T.downlink, "SEID"], top.sessions.map((s) => [s.ue, `${s.uplink.packets} / ${s.uplink.bytes} B`, `${s.downlink.packets} / ${s.downlink.bytes} B`, s.seid]), T.nothing)));
  }
  let running = null;
  const at2 = h("div");
  const form = h("form", { class: "inline", onsubmit: async (event) => {
    event.preventDefault();
    const lines = [];
    fill(packets, T.noPackets);
    try {
      running = await post("/traces", { seconds: Number(form.elements.seconds.value), forwarded: form.elements.forwarded.checked, ue: form.elements.ue.value.trim() || null });
      const ended = await job(running, (current) => draw(current.result?.packets ?? lines, current), () => left);
      draw(ended.result?.packets ?? [], ended);
    } catch (problem) { showProblem(form, problem, at2); }
  } },
  field("seconds", T.seconds, { type: "number", min: 1, max: 600, value: 10 }), field("ue", T.onlyUe, {}),
  h("label", { class: "check" }, h("input", { type: "checkbox", name: "forwarded", checked: true }), T.forwarded),
  h("button", { class: "main" }, T.startTrace),
  h("button", { type: "button", onclick: () => running && call("DELETE", `/jobs/${running.id}`) }, T.cancelJob));
  function draw(list, current) {
    fill(packets, h("p", {}, `${list.length} ${T.packets}, ${current.done} s (${current.state})`),
      table(T.packets, ["UE", "Packet"], list.slice(-50).reverse().map((packet) => {
        const { ue, bytes, ...rest } = packet;
        return [(ue ?? []).join(", ") || "–", Object.entries(rest).filter(([, v]) => v !== null && typeof v !== "object").map(([n, v]) => `${n} ${v}`).join(", ")];
      }), T.noPackets));
  }
  fill(at, shown, context.may("network") && [h("h2", {}, T.trace), form, at2, packets]);
  await load().catch((problem) => fill(shown, h("p", { class: "error" }, problem.detail)));
  const timer = setInterval(() => load().catch(() => {}), 3000);
  context.onLeave(() => clearInterval(timer));
}
