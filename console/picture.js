// The network as a picture: the control plane above; gNBs, UPFs, the switch and data networks from
// left to right below it. Each line has its throughput, and is the wider the more it carries. What
// is unhealthy has a thick border. A UPF that reports no figures has lines without them.
import { h, rate, shortRate, table } from "./dom.js";
import { T } from "./text.js";

// gNBs with a box of their own. The others share one.
const SHOWN = 8;
// Figures of the lines of a box that have a place.
const LABELLED = 2;
// Bits per second from which a line is wider.
const LOADS = [0, 1e6, 1e8, 1e9];

const sum = (lines) => ({ up: lines.reduce((n, line) => n + line.uplink_bps, 0), down: lines.reduce((n, line) => n + line.downlink_bps, 0) });
const figure = ({ up, down }) => `↑ ${shortRate(up)} ↓ ${shortRate(down)}`;
const loadOf = ({ up, down }) => LOADS.filter((least) => up + down > least).length;

// The figures of the lines of a box. Where there is no place for all, the last one is the sum of
// the others.
function figuresOf(lines) {
  const known = lines.filter((line) => line.at).map((line) => line.at);
  if (known.length <= LABELLED) return known.map(figure);
  const shown = known.slice(0, LABELLED - 1); const others = known.slice(LABELLED - 1);
  const whole = { up: others.reduce((n, at) => n + at.up, 0), down: others.reduce((n, at) => n + at.down, 0) };
  return [...shown.map(figure), `${T.moreUpfs(others.length)} ${figure(whole)}`];
}

// The boxes of the access side: gNBs, the unhealthy ones first, and peers with throughput that no gNB
// is known for.
function accessNodes(o) {
  const known = new Set(o.gnb_figures.map((gnb) => gnb.id));
  const strangers = [...new Set(o.lines.filter((line) => line.interface === "n3" && !known.has(line.peer) && line.uplink_bps + line.downlink_bps > 0).map((line) => line.peer))]
    .filter((peer) => o.gnb_figures.length < 256 || peer.includes(".") || peer.includes(":"));
  const gnbs = [...o.gnb_figures].sort((a, b) => (a.state === "connected") - (b.state === "connected"))
    .map((gnb) => ({ peers: [gnb.id], name: `${T.gnb} ${gnb.name}${gnb.state === "connected" ? "" : `: ${T.gnbState[gnb.state]}`}`,
      bad: gnb.state === "lost", warn: gnb.state === "deviates", linked: gnb.state !== "lost" }));
  const others = strangers.map((peer) => ({ peers: [peer], name: `N3 ${peer}`, linked: true }));
  const all = [...gnbs, ...others];
  const nodes = all.slice(0, SHOWN);
  const lost = o.gnb_figures.filter((gnb) => gnb.state === "lost").length;
  const hidden = o.gnbs + lost + others.length - nodes.length;
  if (hidden > 0) {
    const shown = new Set(nodes.flatMap((node) => node.peers));
    const peers = o.lines.filter((line) => line.interface === "n3" && !shown.has(line.peer)).map((line) => line.peer);
    nodes.push({ peers, name: `… ${hidden} ${T.gnbs}`, linked: true });
  }
  if (!nodes.length) nodes.push({ peers: [], name: T.noGnb, bad: true });
  return nodes;
}

// The lines between two columns: the numbers of their boxes, and the throughput if it is known.
function links(o, access, switched) {
  const between = (upf, kind, peers) => upf.uplink_bps === null ? null
    : sum(o.lines.filter((line) => line.interface === kind && line.upf === upf.n4 && peers.includes(line.peer)));
  const n3 = access.flatMap((node, from) => !node.linked ? [] : o.upfs.map((upf, to) => ({ from, to, at: between(upf, "n3", node.peers) })));
  const networks = o.data_networks.map((network) => network.name);
  if (!switched) {
    return [n3, o.upfs.flatMap((upf, from) => networks.map((name, to) => ({ from, to, at: between(upf, "n6", [name]) })))];
  }
  // The switch forwards for the UPF that has it.
  const n6 = o.lines.filter((line) => line.interface === "n6");
  const toSwitch = o.upfs.map((upf, from) => ({ from, to: 0, at: between(upf, "n6", networks) }));
  return [n3, toSwitch, networks.map((name, to) => ({ from: 0, to, at: sum(n6.filter((line) => line.peer === name)) }))];
}

export function picture(o) {
  const functions = o.functions.filter((f) => f.name !== "upf");
  const access = accessNodes(o);
  const columns = [
    { name: "gnbs", nodes: access },
    { name: "upfs", nodes: o.upfs.map((upf) => ({ name: `UPF ${upf.n4}`, bad: !upf.associated })) },
    ...(o.switch ? [{ name: "switch", nodes: [{ name: T.switch, below: `${o.switch.sessions} ${T.sessions}`, bad: !o.switch.connected }] }] : []),
    { name: "networks", nodes: o.data_networks.map((network) => ({ name: `${network.name} ${network.used}/${network.of}`, bad: network.of > 0 && network.used >= 0.9 * network.of })) },
  ];
  // Figures need place: with a switch for each gap, with lines between UPFs beside them.
  const width = o.switch || o.lines.some((line) => line.interface === "n9") ? 150 : 190; const gap = (940 - 20 - width) / (columns.length - 1);
  const all = links(o, access, Boolean(o.switch));
  const rows = Math.max(2, ...columns.map((column) => column.nodes.length));
  // A box with two lines needs the place of two figures, and more lines cross at them.
  const pitch = [38, 38, 52][o.upfs.length] ?? 64;
  const perRow = 6; const top = 40 + Math.ceil(functions.length / perRow) * 34; const low = top + 66;
  const middle = low + rows * pitch / 2; const height = low + rows * pitch + 16;
  const x = (c) => 10 + c * gap;
  const y = (c, n) => middle - columns[c].nodes.length * pitch / 2 + n * pitch + pitch / 2 - 14;
  const drawn = []; const labels = [];
  all.forEach((lines, c) => {
    const last = c + 2 === columns.length;
    // Figures are at the end where the lines are apart.
    const atEnd = last && columns[c].name !== "gnbs" && !(o.switch && c === 1);
    const ends = new Map();
    for (const line of lines) {
      const key = atEnd ? line.to : line.from;
      ends.set(key, [...(ends.get(key) ?? []), line]);
    }
    const [start, span] = [x(c) + width, gap - width]; const centre = start + span / 2;
    // A line is flat where its figure is.
    const [bend, bendToo] = atEnd ? [0.4, 0.1] : [0.9, 0.6];
    for (const [box, of] of ends) {
      of.forEach((line, n) => {
        const shift = of.length > 1 ? Math.round((n / (of.length - 1) - 0.5) * 16) : 0;
        const from = y(c, line.from) + 14 + (atEnd ? 0 : shift); const to = y(c + 1, line.to) + 14 + (atEnd ? shift : 0);
        const load = line.at ? loadOf(line.at) : 0;
        drawn.push(h("path", { class: load ? `line busy load-${load}` : "line", d: `M${start} ${from} C ${start + bend * span} ${from}, ${start + bendToo * span} ${to}, ${x(c + 1)} ${to}` }));
      });
      // The first figure is above the lines, the second one below them.
      const own = y(atEnd ? c + 1 : c, box) + 14; const half = of.length > 1 ? 8 : 0;
      figuresOf(of).forEach((text, n) => labels.push(h("text", { class: "rate on-line", x: atEnd ? x(c + 1) - 5 : start + 5,
        y: n === 0 ? own - half - 6 : own + half + 15, "text-anchor": atEnd ? "end" : "start" }, text)));
    }
    const name = c === 0 ? T.n3 : last ? T.n6 : "";
    if (!name) return;
    const known = lines.filter((line) => line.at).map((line) => ({ uplink_bps: line.at.up, downlink_bps: line.at.down }));
    const whole = sum(known);
    const above = middle - Math.max(columns[c].nodes.length, columns[c + 1].nodes.length) * pitch / 2;
    const text = known.length ? [`${name} ↑ ${rate(whole.up)}`, `↓ ${rate(whole.down)}`] : [name, ""];
    text.forEach((words, n) => labels.push(h("text", { class: "rate", x: centre, y: above - 28 + 16 * n, "text-anchor": "middle" }, words)));
  });
  // Lines between UPFs bend to the right.
  for (const line of o.lines.filter((one) => one.interface === "n9")) {
    const [from, to] = [line.upf, line.peer].map((n4) => o.upfs.findIndex((upf) => upf.n4 === n4));
    if (from < 0 || to < 0) continue;
    const side = x(1) + width; const [a, b] = [y(1, from) + 14, y(1, to) + 14];
    const at = { up: line.uplink_bps, down: line.downlink_bps }; const load = loadOf(at);
    drawn.push(h("path", { class: load ? `line busy load-${load}` : "line", d: `M${side} ${a} C ${side + 34} ${a}, ${side + 34} ${b}, ${side} ${b}` }));
    const texts = [`${T.n9} ↑ ${shortRate(at.up)}`, `↓ ${shortRate(at.down)}`];
    texts.forEach((text, n) => labels.push(h("text", { class: "rate on-line", x: side + 28, y: (a + b) / 2 - 4 + 15 * n }, text)));
  }
  const upfAt = x(1) + width / 2; const gnbAt = x(0) + width / 2;
  drawn.push(h("path", { class: "line signalling", d: `M${gnbAt} ${top + 8} V${y(0, 0)}` }));
  if (o.upfs.length) drawn.push(h("path", { class: "line signalling", d: `M${upfAt} ${top + 8} V${y(1, 0)}` }));
  labels.push(h("text", { x: gnbAt + 6, y: top + 24 }, T.n2), h("text", { x: upfAt + 6, y: top + 24 }, T.n4));
  const boxes = functions.map((f, n) => ({ name: f.name.toUpperCase(), bad: !f.running, x: 20 + (n % perRow) * 151, y: 36 + Math.floor(n / perRow) * 34 }));
  const name = T.pictureOf(o, rate(o.uplink_bps), rate(o.downlink_bps));
  const kind = (one) => one.bad ? "node bad" : one.warn ? "node warned" : "node";
  const node = (one, left, at, wide) => h("g", {}, h("rect", { class: kind(one), x: left, y: at, width: wide, height: 28, rx: 5 }),
    h("text", { x: left + 8, y: at + 19 }, cut(one.name, Math.floor((wide - 12) / 7.3))),
    one.below && h("text", { class: "rate", x: left + 8, y: at + 43 }, one.below));
  return h("svg", { class: o.switch ? "picture network narrow" : "picture network", viewBox: `0 0 940 ${height}`, role: "img", "aria-label": name },
    h("rect", { class: "area", x: 10, y: 4, width: 920, height: top + 4, rx: 6 }), h("text", { class: "soft-text", x: 20, y: 24 }, T.controlPlane),
    drawn, boxes.map((one) => node(one, one.x, one.y, 139)),
    columns.map((column, c) => column.nodes.map((one, n) => node(one, x(c), y(c, n), width))), labels);
}

const cut = (text, most) => text.length > most ? `${text.slice(0, most - 1)}…` : text;

// The same lines as text, for all gNBs.
export function lineTable(o) {
  const names = new Map(o.gnb_figures.map((gnb) => [gnb.id, `${T.gnb} ${gnb.name}`]));
  const ends = (line) => line.interface === "n3" ? [names.get(line.peer) ?? line.peer, `UPF ${line.upf}`]
    : [`UPF ${line.upf}`, line.interface === "n9" ? `UPF ${line.peer}` : line.peer];
  const silent = o.upfs.filter((upf) => upf.uplink_bps === null).map((upf) => upf.n4);
  return h("details", { class: "lines" }, h("summary", {}, T.linesAsText),
    table(T.linesOfNetwork, [T.interface, T.lineFrom, T.lineTo, T.uplink, T.downlink],
      o.lines.map((line) => [line.interface.toUpperCase(), ...ends(line), rate(line.uplink_bps), rate(line.downlink_bps)]), T.noLines,
      o.lines.map((line) => `${line.interface} ${line.upf} ${line.peer}`)),
    silent.length > 0 && h("p", { class: "soft" }, T.noFiguresOf(silent.join(", "))));
}
