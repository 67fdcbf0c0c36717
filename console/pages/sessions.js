// QoS flows and rules of N4 sessions, with their counters and throughput.
import { h, rate, table } from "../dom.js";
import { inPath } from "../supi.js";
import { T } from "../text.js";

// Throughput in bit/s of named counters: the difference of two readings.
export function meter() {
  const readings = new Map();
  return (name, bytes) => {
    const at = performance.now(); const before = readings.get(name);
    readings.set(name, { at, bytes });
    return before ? (Math.max(0, bytes - before.bytes) * 8000) / Math.max(1, at - before.at) : 0;
  };
}

const limit = (value) => (value ? `${rate(value.uplink)} / ${rate(value.downlink)}` : "–");

export function flows(n4Sessions, measure) {
  const now = (n4, flow, way) => rate(measure(`${n4.seid} ${flow.qer} ${way}`, flow[way]?.bytes ?? 0));
  const rows = n4Sessions.flatMap((n4) => (n4.flows ?? []).map((flow) => [flow.qfi, now(n4, flow, "uplink"), now(n4, flow, "downlink"),
    limit(flow.maximum), limit(flow.guaranteed),
    n4.rules.filter((rule) => rule.qers.includes(flow.qer)).map((rule) => rule.pdr).join(", ") || "–"]));
  return table(T.qosFlows, ["QFI", T.flowUp, T.flowDown, `${T.maximum} ↑ / ↓`, `${T.guaranteed} ↑ / ↓`, "PDR"], rows, T.nothing);
}

export function rules(n4Sessions) {
  const rows = n4Sessions.flatMap((n4) => n4.rules.map((rule) => [rule.engine ?? n4.engine, rule.pdr, T[rule.direction] ?? "–",
    rule.forwarded?.packets ?? "–", rule.forwarded?.bytes ?? "–", rule.precedence, rule.qfis.join(", ") || "–", rule.filters,
    `${(rule.action ?? "–").replace(/ \{.*\}$/, "")} → ${rule.destination ?? "–"}`]));
  return table(T.rules, [T.engine, "PDR", T.direction, T.packets, T.bytes, T.precedence, "QFI", T.filterCount, T.action], rows, T.nothing);
}

// The session's UE as a link, if this core knows it.
export const owner = (session, text) => (session.supi ? h("a", { href: `#/ues/${inPath(session.supi)}` }, text) : text);
