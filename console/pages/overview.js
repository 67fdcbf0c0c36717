// The network as a picture, key figures, alarms and the last events.
import { get, post } from "../api.js";
import { spark } from "../chart.js";
import { fill, h, rate, say, time } from "../dom.js";
import { T } from "../text.js";

const POINTS = 300;

export async function overview(at, _, context) {
  const { now, series } = await get("/overview");
  let points = series;
  const figures = h("div", { class: "grid" });
  const picture = h("div");
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
    fill(figures,
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
    fill(alarms, raised.length ? raised.map((alarm) => h("div", { class: "card" },
      h("div", { class: alarm.severity === "warning" || alarm.severity === "minor" ? "warn" : "bad" }, `${alarm.severity}: ${alarm.what}`),
      h("div", {}, alarm.remedy), h("div", { class: "soft" }, time(alarm.since), " ",
        alarm.acknowledged_by ? T.acknowledgedBy(alarm.acknowledged_by) : ""),
      !alarm.acknowledged_by && context.may("network") && h("button", { onclick: async () => {
        await post(`/alarms/${encodeURIComponent(alarm.id)}/acknowledgement`);
        say(T.done); drawAlarms();
      } }, T.acknowledge))) : h("p", { class: "good" }, T.noAlarms));
  }

  const lines = (await get("/events/recent?kinds=ue,gnb,function,alarm"))
    .map((event) => [event.kind, event.data]).slice(-12);
  function drawEvents() {
    fill(latest, lines.length ? h("ul", { class: "timeline" }, lines.slice().reverse().map(([kind, data]) => h("li", {}, describe(kind, data))))
      : h("p", { class: "soft" }, T.noEvents));
  }
  function add(kind, data) {
    lines.push([kind, data]);
    if (lines.length > 12) lines.shift();
    drawEvents();
  }

  drawFigures(now); fill(picture, draw(now)); drawEvents(); await drawAlarms();
  context.events(["overview", "alarm", "ue", "gnb", "function"], {
    overview(o) {
      points = points.concat({ registered: o.ues_registered, connected: o.ues_connected, sessions: o.sessions,
        uplink_bps: o.uplink_bps, downlink_bps: o.downlink_bps, drops_per_s: o.drops_per_s }).slice(-POINTS);
      drawFigures(o); fill(picture, draw(o));
    },
    alarm(data) { add("alarm", data); drawAlarms(); },
    ue(data) { add("ue", data); }, gnb(data) { add("gnb", data); }, function(data) { add("function", data); },
  });
}

function describe(kind, data) {
  if (kind === "ue") return [h("time", {}, time(data.ms / 1000)), " ", h("a", { href: `#/ues/${encodeURIComponent(data.supi)}` }, data.supi), ` ${data.nf.toUpperCase()}: ${data.what}`];
  if (kind === "gnb") return `gNB ${data.name}: ${data.connected ? "connected" : "lost"}`;
  if (kind === "function") return `${data.name.toUpperCase()}: ${data.running ? T.running : T.notRunning}`;
  return `${data.raised ? "Alarm" : "Cleared"}: ${data.alarm.what}`;
}

// gNBs, functions, UPFs and data networks from left to right; what is unhealthy has a thick border.
function draw(o) {
  const columns = [
    o.gnb_names.slice(0, 8).map((name) => ({ name: `gNB ${name}`, bad: false })),
    o.functions.filter((f) => f.name !== "upf").map((f) => ({ name: f.name.toUpperCase(), bad: !f.running })),
    o.upfs.map((upf) => ({ name: `UPF ${upf.n4}`, bad: !upf.associated })),
    o.data_networks.map((network) => ({ name: `${network.name} ${network.used}/${network.of}`, bad: network.of > 0 && network.used >= 0.9 * network.of })),
  ];
  if (!columns[0].length) columns[0].push({ name: `no ${T.gnb}`, bad: true });
  const rows = Math.max(4, ...columns.map((column) => column.length));
  const height = rows * 34 + 20;
  const x = [10, 250, 490, 730]; const width = 200;
  const middle = height / 2;
  const y = (column, n) => middle - (column.length * 34) / 2 + n * 34 + 2;
  const busy = o.uplink_bps + o.downlink_bps > 0;
  const name = `${o.gnbs} gNBs, ${o.functions.length} functions, ${o.upfs.length} UPFs, ${o.data_networks.length} data networks; uplink ${rate(o.uplink_bps)}, downlink ${rate(o.downlink_bps)}`;
  const lines = [];
  columns[0].forEach((_, n) => {
    const from = y(columns[0], n) + 14;
    lines.push(h("path", { class: "line", d: `M${x[0] + width} ${from} C ${x[0] + width + 20} ${from}, ${x[1] - 20} ${middle}, ${x[1]} ${middle}` }));
  });
  columns[2].forEach((_, n) => {
    const to = y(columns[2], n) + 14;
    lines.push(h("path", { class: "line", d: `M${x[1] + width} ${middle} C ${x[1] + width + 20} ${middle}, ${x[2] - 20} ${to}, ${x[2]} ${to}` }));
    columns[3].forEach((_, m) => {
      const end = y(columns[3], m) + 14;
      lines.push(h("path", { class: busy ? "line busy" : "line", d: `M${x[2] + width} ${to} C ${x[2] + width + 20} ${to}, ${x[3] - 20} ${end}, ${x[3]} ${end}` }));
    });
  });
  return h("svg", { class: "picture", viewBox: `0 0 940 ${height}`, role: "img", "aria-label": name }, lines,
    columns.map((column, c) => column.map((node, n) => h("g", {},
      h("rect", { class: node.bad ? "node bad" : "node", x: x[c], y: y(column, n), width, height: 28, rx: 5 }),
      h("text", { x: x[c] + 8, y: y(column, n) + 19 }, node.name.slice(0, 26))))));
}
