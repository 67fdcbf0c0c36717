// The network as a picture, key figures, alarms and the last events.
import { get, post } from "../api.js";
import { spark } from "../chart.js";
import { fill, h, rate, say, scrolling, time } from "../dom.js";
import { lineTable, picture as drawingOf } from "../picture.js";
import { inPath } from "../supi.js";
import { T } from "../text.js";
import { update } from "../update.js";

const POINTS = 300;

export async function overview(at, _, context) {
  const { now, series } = await get("/overview");
  let points = series;
  const figures = h("div", { class: "grid figures" });
  const drawing = h("div");
  const picture = scrolling(T.picture, drawing);
  const lineFigures = h("div");
  const alarms = h("div");
  const latest = h("div");
  fill(at, figures, h("h2", {}, T.picture), picture, lineFigures,
    h("div", { class: "grid wide" },
      h("section", {}, h("h2", {}, T.alarms), alarms),
      h("section", {}, h("h2", {}, T.lastEvents), latest)));

  const card = (label, value, values) => h("div", { class: "card" }, h("div", { class: "label" }, label),
    h("div", { class: "value" }, value), values.length > 1 && spark(values, label));

  function drawFigures(o) {
    const of = (name) => points.map((point) => point[name]);
    update(figures,
      card(T.registered, o.ues_registered, of("registered")),
      card(T.connected, o.ues_connected, of("connected")),
      card(T.sessions, o.sessions, of("sessions")),
      card(T.uplink, rate(o.uplink_bps), of("uplink_bps")),
      card(T.downlink, rate(o.downlink_bps), of("downlink_bps")),
      card(T.drops, Math.round(o.drops_per_s), of("drops_per_s")),
      card(T.gnbs, o.gnbs, []), card(T.subscribersCount, o.subscribers, []));
  }

  async function drawAlarms() {
    const raised = await get("/alarms");
    update(alarms, raised.length ? raised.map((alarm) => h("div", { class: "card", "data-key": alarm.id },
      h("div", { class: alarm.severity === "warning" || alarm.severity === "minor" ? "warn" : "bad" }, `${alarm.severity}: ${alarm.what}`),
      h("div", {}, alarm.remedy), h("div", { class: "soft" }, time(alarm.since), " ",
        alarm.acknowledged_by ? T.acknowledgedBy(alarm.acknowledged_by) : ""),
      !alarm.acknowledged_by && context.may("network") && h("button", { onclick: async () => {
        await post(`/alarms/${encodeURIComponent(alarm.id)}/acknowledgement`);
        say(T.done); drawAlarms();
      } }, T.acknowledge))) : h("p", { class: "good" }, T.noAlarms));
  }

  const lines = (await get("/events/recent?kinds=ue,gnb,function,alarm"))
    .map((event, n) => [event.kind, event.data, n]).slice(-12);
  let added = lines.at(-1)?.[2] ?? 0;
  function drawEvents() {
    update(latest, lines.length ? h("ul", { class: "timeline" }, lines.slice().reverse().map(([kind, data, n]) => h("li", { "data-key": n }, describe(kind, data))))
      : h("p", { class: "soft" }, T.noEvents));
  }
  function add(kind, data) {
    added += 1;
    lines.push([kind, data, added]);
    if (lines.length > 12) lines.shift();
    drawEvents();
  }

  function drawNetwork(o) { update(drawing, drawingOf(o)); update(lineFigures, lineTable(o)); }

  drawFigures(now); drawNetwork(now); drawEvents(); await drawAlarms();
  context.events(["overview", "alarm", "ue", "gnb", "function"], {
    overview(o) {
      points = points.concat({ registered: o.ues_registered, connected: o.ues_connected, sessions: o.sessions,
        uplink_bps: o.uplink_bps, downlink_bps: o.downlink_bps, drops_per_s: o.drops_per_s }).slice(-POINTS);
      drawFigures(o); drawNetwork(o);
    },
    alarm(data) { add("alarm", data); drawAlarms(); },
    ue(data) { add("ue", data); }, gnb(data) { add("gnb", data); }, function(data) { add("function", data); },
    // Events are lost, as with a restart of the core.
    reset() { again().catch(() => {}); },
  });
  async function again() {
    points = (await get("/overview")).series;
    await drawAlarms();
  }
  // The text of an alarm changes without an event, and so does who has acknowledged it.
  const timer = setInterval(() => drawAlarms().catch(() => {}), 30000);
  context.onLeave(() => clearInterval(timer));
}

function describe(kind, data) {
  if (kind === "ue") return [h("time", {}, time(data.ms / 1000)), " ", h("a", { href: `#/ues/${inPath(data.supi)}` }, data.supi), ` ${data.nf.toUpperCase()}: ${data.what}`];
  if (kind === "gnb") return T.gnbEvent(data);
  if (kind === "function") return `${data.name.toUpperCase()}: ${data.running ? T.running : T.notRunning}`;
  return T.alarmEvent(data);
}
