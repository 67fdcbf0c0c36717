// Positions with their ellipses on a plan: an image with two reference points, or a plain grid.
// Tracks of periodic requests, their accuracy over time, cells and TRPs.
import { call, get, post } from "../api.js";
import { plot } from "../chart.js";
import { confirmed } from "../confirm.js";
import { conflict, field, fill, h, say, showProblem, table } from "../dom.js";
import { placeLabels } from "../labels.js";
import { position } from "./ues.js";
import { inPath, shortOf, supiOf } from "../supi.js";
import { T } from "../text.js";
import { update } from "../update.js";

const METRES = 111320;
// Height of the picture at most, in pixels: that of style.css.
const HIGHEST = 544;
// Single positions last while the console is open; tracks of periodic requests are the server's.
const single = new Map();

export async function map(at, [given], context) {
  const may = context.may("network");
  let plan = null; let tag = null;
  async function loadPlan() {
    try { ({ value: plan, tag } = await call("GET", "/plan")); } catch (problem) { if (problem.status !== 404) throw problem; }
    size = await sizeOf(plan);
  }
  const points = await get("/transmission-points").catch(() => []);
  let size = null; let requests = []; let tracks = new Map(); let chosen = null;
  await loadPlan();
  const picture = h("div"); const told = h("div", { role: "status" }); const problem = h("div"); const problem2 = h("div");
  const listed = h("div"); const accuracy = h("div");
  const form = h("form", { class: "inline", onsubmit: async (event) => {
    event.preventDefault();
    const supi = supiOf(form.elements.supi.value);
    fill(told);
    try {
      const located = await post(`/ues/${inPath(supi)}/location`);
      const shape = located.locationEstimate ?? {}; const ellipse = shape.uncertaintyEllipse;
      if (shape.point) {
        const found = { ms: Date.now(), latitude: shape.point.lat, longitude: shape.point.lon, semi_major: ellipse?.semiMajor ?? shape.uncertainty ?? 0,
          semi_minor: ellipse?.semiMinor ?? shape.uncertainty ?? 0, orientation: ellipse?.orientationMajor ?? 0 };
        single.set(supi, [...(single.get(supi) ?? []), found].slice(-50));
      }
      fill(told, position(located)); showProblem(form, {}, problem); fill(problem); draw();
    } catch (error) { showProblem(form, error, problem); }
  } }, field("supi", T.locateUe, { required: true, value: shortOf(given ?? "") }, T.imsi), h("button", { class: "main" }, T.locate));

  const periodic = h("form", { class: "inline", novalidate: true, "aria-label": T.periodic, onsubmit: async (event) => {
    event.preventDefault();
    const value = (name) => periodic.elements[name].value;
    try {
      const started = await post("/location-requests", { supi: supiOf(value("periodic.supi")), interval_s: Number(value("interval_s")), seconds: Number(value("seconds")) });
      chosen = started.id; showProblem(periodic, {}, problem2); fill(problem2); await load();
    } catch (error) { showProblem(periodic, error.field === "supi" ? { ...error, field: "periodic.supi" } : error, problem2); }
  } }, field("periodic.supi", T.imsi, { required: true, value: shortOf(given ?? "") }),
  field("interval_s", T.interval, { type: "number", min: 1, max: 3600, value: 5 }), field("seconds", T.duration, { type: "number", min: 1, max: 86400, value: 600 }),
  h("button", { class: "main" }, T.startPeriodic));

  async function load() {
    requests = await get("/location-requests");
    const whole = await Promise.all(requests.slice(0, 20).map((one) => get(`/location-requests/${one.id}`).catch(() => null)));
    tracks = new Map(whole.filter(Boolean).map((one) => [one.id, one]));
    chosen ??= requests[0]?.id ?? null;
    drawList(); draw();
  }
  const act = async (method, path) => { try { await call(method, path, method === "POST" ? {} : undefined); } catch (error) { say(error.detail); } await load(); };
  async function removed(one) {
    if (await confirmed(T.removeRequest, T.confirmRequest(one.supi))) await act("DELETE", `/location-requests/${one.id}`);
  }
  function drawList() {
    const named = (label, one) => ({ "aria-label": `${label}: ${one.supi}` });
    update(listed, table(T.requests, [T.supi, T.state, T.interval, T.positions, T.failures, T.lastAccuracy, ""], requests.map((one) => {
      const track = tracks.get(one.id)?.positions ?? one.positions; const last = track.at(-1);
      return [one.supi, T.states[one.state], one.interval_s, track.length, [String(one.failures), one.last_failure && h("div", { class: "bad" }, one.last_failure)],
        last ? `${last.semi_major.toFixed(1)} m` : "–", h("div", { class: "buttons" },
          h("button", { ...named(T.showTrack, one), "aria-pressed": String(one.id === chosen), onclick: () => { chosen = one.id; drawList(); draw(); } }, T.showTrack),
          one.state === "running" && h("button", { ...named(T.stop, one), onclick: () => act("POST", `/location-requests/${one.id}/stop`) }, T.stop),
          h("button", { class: "danger", ...named(T.remove, one), onclick: () => removed(one) }, T.remove))];
    }), T.nothing, requests.map((one) => one.id)));
  }

  function draw() {
    const all = [...[...single].map(([supi, track]) => [shortOf(supi), track, false]),
      ...[...tracks.values()].filter((one) => one.positions.length).map((one) => [shortOf(one.supi), one.positions, one.id === chosen])];
    const places = [...all.flatMap(([, track]) => track), ...points];
    const view = plan ? onPlan(plan, size) : onGrid(places);
    // Units of the picture for a pixel of the screen: marks and text have the same size in each plan.
    const [width, height] = view.size;
    const unit = Math.max(width / (picture.clientWidth || width), height / HIGHEST);
    const marks = all.map(([, track, isChosen]) => {
      const last = track.at(-1); const line = track.map(view.place); const [x, y] = line.at(-1);
      const major = Math.max(view.scale * last.semi_major, 3 * unit); const minor = Math.max(view.scale * last.semi_minor, 3 * unit);
      return [line.length > 1 && h("polyline", { class: `track${isChosen ? " chosen" : ""}`, points: line.map((p) => p.join(",")).join(" ") }),
        line.slice(0, -1).map(([px, py]) => h("circle", { class: "past", cx: px, cy: py, r: 2.5 * unit })),
        h("ellipse", { class: "ellipse", cx: x, cy: y, rx: minor, ry: major, transform: `rotate(${last.orientation + view.turn} ${x} ${y})` }),
        h("circle", { class: "node", cx: x, cy: y, r: 4 * unit })];
    });
    const masts = points.map((point) => {
      const [x, y] = view.place(point);
      return h("path", { class: "mast", d: `M${x} ${y - 8 * unit} l${7 * unit} ${13 * unit} h${-14 * unit} z` });
    });
    const named = [...all.map(([name, track]) => ({ name, at: track.at(-1), reach: 5, kind: null })), ...points.map((point) => ({ name: point.name, at: point, reach: 9, kind: "mast-name" }))]
      .map(({ name, at: where, reach, kind }) => { const [x, y] = view.place(where); return { name, x, y, reach: reach * unit, kind }; });
    const labels = placeLabels(named, view.size, unit);
    const without = named.filter((_, n) => !labels[n]).map(({ name }) => name);
    const lines = labels.map((label) => label?.line && h("line", { class: "leader", ...label.line }));
    const names = labels.map((label, n) => label && h("text", { class: named[n].kind, x: label.x, y: label.y }, label.text));
    const where = all.map(([name, track]) => T.isAt(name, track.at(-1).latitude.toFixed(5), track.at(-1).longitude.toFixed(5))).join("; ");
    update(picture, !all.length && h("p", { class: "soft" }, T.noPosition),
      h("svg", { class: "picture map", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": all.length ? `${T.mapLabel}: ${where}` : T.noPosition }, view.back, lines, masts, marks, names),
      without.length > 0 && h("p", { class: "soft" }, T.withoutName(without)),
      view.note && h("p", { class: "soft" }, view.note));
    picture.querySelector("svg").style.setProperty("--unit", unit);
    const track = tracks.get(chosen);
    update(accuracy, track?.positions.length ? [h("h2", {}, T.accuracyOver(track.supi)),
      plot([{ name: T.lastAccuracy, points: track.positions.map((p) => [p.ms, p.semi_major]) }], T.accuracyOver(track.supi), (value) => `${Number(value.toPrecision(3))} ${T.metres}`)] : null);
  }

  fill(at, may && form, problem, told, picture, accuracy,
    may && [h("h2", {}, T.periodic), periodic, problem2, listed],
    table(T.points, [T.name, T.source, "PCI", T.latitude, T.longitude], points.map((p) => [p.name, p.source, p.pci, p.latitude.toFixed(6), p.longitude.toFixed(6)]), T.nothing),
    context.may("administration") && planForm());
  draw();
  window.addEventListener("resize", draw);
  context.onLeave(() => window.removeEventListener("resize", draw));
  if (may) {
    await load();
    let due = null;
    context.onLeave(() => clearTimeout(due));
    context.events(["position"], { position() { due ??= setTimeout(() => { due = null; load(); }, 300); } });
  }

  function planForm() {
    const at2 = h("div"); let image = null;
    const reference = (n) => ["x", "y", "latitude", "longitude"].map((name) =>
      field(`${name}${n}`, `${T.point(n)}: ${T[name === "x" ? "px" : name === "y" ? "py" : name]}`, { type: "number", step: "any" }));
    const form2 = h("form", { onsubmit: async (event) => {
      event.preventDefault();
      const point = (n) => Object.fromEntries(["x", "y", "latitude", "longitude"].map((name) => [name, Number(form2.elements[`${name}${n}`].value)]));
      try {
        const made = { name: form2.elements.name.value, image: image ?? "", references: [point(1), point(2)] };
        // The first plan replaces none that was saved since.
        await call("PUT", "/plan", made, tag ? { "if-match": tag } : { "if-none-match": "*" });
        await loadPlan(); say(T.done); showProblem(form2, {}, at2); fill(at2); draw();
      } catch (error) {
        if (error.status === 412) fill(at2, conflict(theirs)); else showProblem(form2, error, at2);
      }
    } }, h("p", { class: "soft" }, T.planHint), field("name", T.planName),
    field("image", T.planImage, { type: "file", accept: "image/png,image/jpeg" }),
    h("div", { class: "grid" }, reference(1)), h("div", { class: "grid" }, reference(2)), at2,
    h("div", { class: "buttons" }, h("button", { class: "main" }, T.savePlan)));
    form2.elements.image.addEventListener("change", () => {
      const reader = new FileReader();
      reader.onload = () => { image = reader.result; };
      if (form2.elements.image.files[0]) reader.readAsDataURL(form2.elements.image.files[0]);
    });
    // The values of the plan that was read.
    function show() {
      image = plan?.image ?? null;
      form2.elements.name.value = plan?.name ?? ""; form2.elements.image.value = "";
      for (const n of [1, 2]) for (const name of ["x", "y", "latitude", "longitude"]) form2.elements[`${name}${n}`].value = plan?.references[n - 1]?.[name] ?? "";
    }
    async function theirs() {
      try { await loadPlan(); } catch (error) { showProblem(form2, error, at2); return; }
      show(); fill(at2); draw(); form2.elements.name.focus();
    }
    show();
    return h("section", {}, h("h2", {}, T.plan), form2);
  }
}

// Width and height of the image of a plan.
async function sizeOf(plan) {
  if (!plan) return null;
  const image = new Image();
  image.src = plan.image;
  try { await image.decode(); } catch { return null; }
  return [image.naturalWidth, image.naturalHeight];
}

// Two points fix scale, turn and shift of the image. East and north are flat here.
function onPlan(plan, size) {
  const [a, b] = plan.references;
  const east = (lon) => (lon - a.longitude) * METRES * Math.cos((a.latitude * Math.PI) / 180);
  const north = (lat) => (lat - a.latitude) * METRES;
  const [e, n] = [east(b.longitude), north(b.latitude)];
  const [dx, dy] = [b.x - a.x, b.y - a.y];
  const scale = Math.hypot(dx, dy) / Math.hypot(e, n);
  const turn = Math.atan2(dy, dx) - Math.atan2(-n, e);
  const place = ({ latitude, longitude }) => {
    const [x, y] = [east(longitude) * scale, -north(latitude) * scale];
    return [a.x + x * Math.cos(turn) - y * Math.sin(turn), a.y + x * Math.sin(turn) + y * Math.cos(turn)];
  };
  const [width, height] = size ?? [Math.max(600, a.x, b.x) + 50, Math.max(400, a.y, b.y) + 50];
  return { place, scale, turn: (turn * 180) / Math.PI, size: [width, height],
    back: h("image", { href: plan.image, x: 0, y: 0 }) };
}

function onGrid(points) {
  const origin = points[0] ?? { latitude: 0, longitude: 0 };
  const east = (p) => (p.longitude - origin.longitude) * METRES * Math.cos((origin.latitude * Math.PI) / 180);
  const north = (p) => (p.latitude - origin.latitude) * METRES;
  const reach = Math.max(50, ...points.map((p) => Math.max(Math.abs(east(p)), Math.abs(north(p))) + (p.semi_major ?? 0))) * 1.1;
  const scale = 200 / reach;
  const place = (p) => [400 + east(p) * scale, 220 - north(p) * scale];
  const lines = [];
  for (let x = 0; x <= 800; x += 80) lines.push(h("line", { class: "grid-line", x1: x, x2: x, y1: 0, y2: 440 }));
  for (let y = 0; y <= 440; y += 80) lines.push(h("line", { class: "grid-line", x1: 0, x2: 800, y1: y, y2: y }));
  return { place, scale, turn: 0, size: [800, 440], back: lines, note: T.gridSquare((80 / scale).toFixed(0)) };
}
