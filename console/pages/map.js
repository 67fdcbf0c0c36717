// Positions with their ellipses on a plan: an image with two reference points, or a plain grid.
import { call, get, post } from "../api.js";
import { field, fill, h, say, showProblem } from "../dom.js";
import { position } from "./ues.js";
import { T } from "../text.js";

const METRES = 111320;
// Tracks last while the console is open.
const tracks = new Map();

export async function map(at, _, context) {
  let plan = await get("/plan").catch(() => null);
  const picture = h("div"); const told = h("div", { role: "status" }); const problem = h("div");
  const form = h("form", { class: "inline", onsubmit: async (event) => {
    event.preventDefault();
    const digits = form.elements.supi.value.replace(/\D/g, "");
    fill(told);
    try {
      const located = await post(`/ues/imsi-${digits}/location`);
      const point = located.locationEstimate?.point;
      if (point) {
        const track = tracks.get(digits) ?? [];
        track.push({ ...point, ellipse: located.locationEstimate.uncertaintyEllipse, uncertainty: located.locationEstimate.uncertainty, at: Date.now() });
        tracks.set(digits, track.slice(-50));
      }
      fill(told, position(located)); fill(problem); draw();
    } catch (error) { showProblem(form, error, problem); }
  } }, field("supi", T.locateUe, { inputmode: "numeric", required: true }, T.imsi), h("button", { class: "main" }, T.locate));

  function draw() {
    const points = [...tracks.values()].flat();
    const view = plan ? onPlan(plan) : onGrid(points);
    const marks = [...tracks.entries()].flatMap(([digits, track]) => {
      const places = track.map((point) => view.place(point));
      const last = track[track.length - 1]; const [x, y] = places[places.length - 1];
      const major = Math.max(view.scale * (last.ellipse?.semiMajor ?? last.uncertainty ?? 1), 3);
      const minor = Math.max(view.scale * (last.ellipse?.semiMinor ?? last.uncertainty ?? 1), 3);
      const angle = (last.ellipse?.orientationMajor ?? 0) + view.turn;
      return [places.length > 1 && h("polyline", { class: "track", points: places.map((p) => p.join(",")).join(" ") }),
        h("ellipse", { class: "ellipse", cx: x, cy: y, rx: minor, ry: major, transform: `rotate(${angle} ${x} ${y})` }),
        h("circle", { class: "node", cx: x, cy: y, r: 4 }), h("text", { x: x + 8, y: y - 8 }, digits)];
    });
    const name = points.length ? `${T.mapLabel}: ${[...tracks.entries()].map(([digits, t]) => `${digits} at ${t[t.length - 1].lat.toFixed(5)}, ${t[t.length - 1].lon.toFixed(5)}`).join("; ")}` : T.noPosition;
    fill(picture, !points.length && h("p", { class: "soft" }, T.noPosition),
      h("svg", { class: "picture", viewBox: view.box, role: "img", "aria-label": name }, view.back, marks));
  }

  fill(at, context.may("network") && form, problem, told, picture, context.may("administration") && planForm());
  draw();

  function planForm() {
    const at2 = h("div"); let image = plan?.image ?? null;
    const reference = (n) => ["x", "y", "latitude", "longitude"].map((name) =>
      field(`${name}${n}`, `${T.point(n)}: ${T[name === "x" ? "px" : name === "y" ? "py" : name]}`, { type: "number", step: "any", value: plan?.references[n - 1]?.[name] ?? "" }));
    const form2 = h("form", { onsubmit: async (event) => {
      event.preventDefault();
      const point = (n) => Object.fromEntries(["x", "y", "latitude", "longitude"].map((name) => [name, Number(form2.elements[`${name}${n}`].value)]));
      try {
        const made = { name: form2.elements.name.value, image: image ?? "", references: [point(1), point(2)] };
        await call("PUT", "/plan", made);
        plan = made; say(T.done); draw();
      } catch (error) { showProblem(form2, error, at2); }
    } }, h("p", { class: "soft" }, T.planHint), field("name", T.planName, { value: plan?.name ?? "" }),
    field("image", T.planImage, { type: "file", accept: "image/png,image/jpeg" }), reference(1), reference(2), at2,
    h("div", { class: "buttons" }, h("button", { class: "main" }, T.savePlan)));
    form2.elements.image.addEventListener("change", () => {
      const reader = new FileReader();
      reader.onload = () => { image = reader.result; };
      if (form2.elements.image.files[0]) reader.readAsDataURL(form2.elements.image.files[0]);
    });
    return h("section", {}, h("h2", {}, T.plan), form2);
  }
}

// Two points fix scale, turn and shift of the image. East and north are flat here.
function onPlan(plan) {
  const [a, b] = plan.references;
  const east = (lon) => (lon - a.longitude) * METRES * Math.cos((a.latitude * Math.PI) / 180);
  const north = (lat) => (lat - a.latitude) * METRES;
  const [e, n] = [east(b.longitude), north(b.latitude)];
  const [dx, dy] = [b.x - a.x, b.y - a.y];
  const scale = Math.hypot(dx, dy) / Math.hypot(e, n);
  const turn = Math.atan2(dy, dx) - Math.atan2(-n, e);
  const place = ({ lat, lon }) => {
    const [x, y] = [east(lon) * scale, -north(lat) * scale];
    return [a.x + x * Math.cos(turn) - y * Math.sin(turn), a.y + x * Math.sin(turn) + y * Math.cos(turn)];
  };
  const width = Math.max(600, a.x, b.x) + 50; const height = Math.max(400, a.y, b.y) + 50;
  return { place, scale, turn: (turn * 180) / Math.PI, box: `0 0 ${width} ${height}`,
    back: h("image", { href: plan.image, x: 0, y: 0 }) };
}

function onGrid(points) {
  const origin = points[0] ?? { lat: 0, lon: 0 };
  const flat = points.map((p) => [(p.lon - origin.lon) * METRES * Math.cos((origin.lat * Math.PI) / 180), (p.lat - origin.lat) * METRES]);
  const size = (p) => p.ellipse?.semiMajor ?? p.uncertainty ?? 0;
  const reach = Math.max(50, ...flat.map(([x, y], n) => Math.max(Math.abs(x), Math.abs(y)) + size(points[n]))) * 1.1;
  const scale = 200 / reach;
  const place = ({ lat, lon }) => [400 + (lon - origin.lon) * METRES * Math.cos((origin.lat * Math.PI) / 180) * scale, 220 - (lat - origin.lat) * METRES * scale];
  const lines = [];
  for (let x = 0; x <= 800; x += 80) lines.push(h("line", { class: "grid-line", x1: x, x2: x, y1: 0, y2: 440 }));
  for (let y = 0; y <= 440; y += 80) lines.push(h("line", { class: "grid-line", x1: 0, x2: 800, y1: y, y2: y }));
  return { place, scale, turn: 0, box: "0 0 800 440", back: [...lines, h("text", { x: 8, y: 432 }, `80 px = ${(80 / scale).toFixed(0)} m`)] };
}
