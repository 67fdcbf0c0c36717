// The network as a picture, key figures, alarms and the last events.
import { get, post } from "../api.js";
import { spark } from "../chart.js";
import { fill, h, rate, say, scrolling, time } from "../dom.js";
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
  const alarms = h("div");
  const latest = h("div");
  fill(at, figures, h("h2", {}, T.picture), picture,
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

  drawFigures(now); update(drawing, draw(now)); drawEvents(); await drawAlarms();
  context.events(["overview", "alarm", "ue", "gnb", "function"], {
    overview(o) {
      points = points.concat({ registered: o.ues_registered, connected: o.ues_connected, sessions: o.sessions,
        uplink_bps: o.uplink_bps, downlink_bps: o.downlink_bps, drops_per_s: o.drops_per_s }).slice(-POINTS);
      drawFigures(o); update(drawing, draw(o));
    },
    alarm(data) { add("alarm", data); drawAlarms(); },
    ue(data) { add("ue", data); }, gnb(data) { add("gnb", data); }, function(data) { add("function", data); },
  });
}

function describe(kind, data) {
  if (kind === "ue") return [h("time", {}, time(data.ms / 1000)), " ", h("a", { href: `#/ues/${inPath(data.supi)}` }, data.supi), ` ${data.nf.toUpperCase()}: ${data.what}`];
  if (kind === "gnb") return T.gnbEvent(data);
  if (kind === "function") return `${data.name.toUpperCase()}: ${data.running ? T.running : T.notRunning}`;
  return T.alarmEvent(data);
}

// The control plane above; gNBs, UPFs, the switch and data networks from left to right below it, with
// the throughput on the lines. What is unhealthy has a thick border.
function draw(o) {
  const functions = o.functions.filter((f) => f.name !== "upf");
  const columns = [
    { name: "gnbs", nodes: o.gnb_names.slice(0, 8).map((name) => ({ name: `${T.gnb} ${name}`, bad: false })) },
    { name: "upfs", nodes: o.upfs.map((upf) => ({ name: `UPF ${upf.n4}`, bad: !upf.associated })) },
    ...(o.switch ? [{ name: "switch", nodes: [{ name: `${T.switch}: ${o.switch.sessions} ${T.sessions}`, bad: !o.switch.connected }] }] : []),
    { name: "networks", nodes: o.data_networks.map((network) => ({ name: `${network.name} ${network.used}/${network.of}`, bad: network.of > 0 && network.used >= 0.9 * network.of })) },
  ];
  if (o.gnbs > 8) columns[0].nodes.push({ name: `… ${o.gnbs - 8} ${T.gnbs}`, bad: false });
  if (!columns[0].nodes.length) columns[0].nodes.push({ name: T.noGnb, bad: true });
  const width = 190; const gap = (940 - 20 - width) / (columns.length - 1);
  const rows = Math.max(2, ...columns.map((column) => column.nodes.length));
  const perRow = 6; const top = 40 + Math.ceil(functions.length / perRow) * 34; const low = top + 60;
  const middle = low + rows * 17; const height = low + rows * 34 + 16;
  const x = (c) => 10 + c * gap;
  const y = (c, n) => middle - columns[c].nodes.length * 17 + n * 34 + 3;
  const lines = []; const labels = [];
  for (let c = 0; c + 1 < columns.length; c += 1) {
    const busy = o.uplink_bps + o.downlink_bps > 0;
    const centre = x(c) + width + (gap - width) / 2;
    columns[c].nodes.forEach((_, n) => columns[c + 1].nodes.forEach((__, m) => {
      const [from, to] = [y(c, n) + 14, y(c + 1, m) + 14];
      lines.push(h("path", { class: busy ? "line busy" : "line", d: `M${x(c) + width} ${from} C ${centre} ${from}, ${centre} ${to}, ${x(c + 1)} ${to}` }));
    }));
    const name = c === 0 ? T.n3 : columns[c + 1].name === "networks" ? T.n6 : "";
    const most = Math.max(columns[c].nodes.length, columns[c + 1].nodes.length);
    const above = middle - most * 17;
    labels.push(h("text", { class: "rate", x: centre, y: above - 24, "text-anchor": "middle" }, `${name} ↑ ${rate(o.uplink_bps)}`),
      h("text", { class: "rate", x: centre, y: above - 8, "text-anchor": "middle" }, `↓ ${rate(o.downlink_bps)}`));
  }
  const upfAt = x(1) + width / 2; const gnbAt = x(0) + width / 2;
  const firstOf = (c) => y(c, 0);
  lines.push(h("path", { class: "line signalling", d: `M${gnbAt} ${top + 8} V${firstOf(0)}` }), h("path", { class: "line signalling", d: `M${upfAt} ${top + 8} V${firstOf(1)}` }));
  labels.push(h("text", { x: gnbAt + 6, y: top + 24 }, T.n2), h("text", { x: upfAt + 6, y: top + 24 }, T.n4));
  const boxes = functions.map((f, n) => ({ name: f.name.toUpperCase(), bad: !f.running, x: 20 + (n % perRow) * 151, y: 36 + Math.floor(n / perRow) * 34 }));
  const name = T.pictureOf(o, rate(o.uplink_bps), rate(o.downlink_bps));
  const node = (one, left, at, wide, chars) => h("g", {}, h("rect", { class: one.bad ? "node bad" : "node", x: left, y: at, width: wide, height: 28, rx: 5 }),
    h("text", { x: left + 8, y: at + 19 }, one.name.slice(0, chars)));
  return h("svg", { class: "picture", viewBox: `0 0 940 ${height}`, role: "img", "aria-label": name },
    h("rect", { class: "area", x: 10, y: 4, width: 920, height: top + 4, rx: 6 }), h("text", { class: "soft-text", x: 20, y: 24 }, T.controlPlane),
    lines, boxes.map((one) => node(one, one.x, one.y, 139, 14)),
    columns.map((column, c) => column.nodes.map((one, n) => node(one, x(c), y(c, n), width, 25))), labels);
}
