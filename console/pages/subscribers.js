// Subscribers: edit, groups, bulk import with a preview, SIM batches.
import { call, get, job, key, post } from "../api.js";
import { confirmed } from "../confirm.js";
import { conflict, field, fill, h, say, showProblem, table, time } from "../dom.js";
import { typed } from "../form.js";
import { rows } from "../table.js";
import { groups, written } from "./groups.js";
import { inPath, searchOf } from "../supi.js";
import { T } from "../text.js";

export async function subscribers(at, [supi], context) {
  if (supi) return edit(at, supi === "new" ? null : supi);
  const count = h("p", { class: "soft", "aria-live": "polite" });
  const list = rows({
    label: T.pages.subscribers, heads: [T.supi, T.msisdn, T.slices, T.dataNetworksAndGroups], path: "/subscribers",
    cells: (s) => [h("a", { href: `#/subscribers/${inPath(s.supi)}` }, s.supi), s.msisdn ?? "–",
      s.slices.map((slice) => slice.sd ? `${slice.sst}-${slice.sd}` : slice.sst).join(", "),
      [[...new Set(s.slices.flatMap((slice) => slice.dnns.map((dnn) => dnn.name)))].join(", "),
        s.groups?.length ? ` · ${s.groups.join(", ")}` : ""].join("")],
    count: (all, shown, part) => { count.textContent = T.subscriberCount(all, shown, part); },
  });
  const problem = h("div");
  const form = h("form", { class: "inline", role: "search", onsubmit: (event) => { event.preventDefault(); load(); } },
    field("search", T.search, { type: "search" }, T.subscriberHint), field("group", T.group, { options: [["", T.anyGroup]] }),
    h("button", { class: "main" }, T.search),
    context.may("subscribers") && h("a", { href: "#/subscribers/new" }, T.addSubscriber));
  async function load() {
    const search = searchOf(form.elements.search.value);
    const group = form.elements.group.value;
    const filter = [["search", search], ["group", group]].filter(([, value]) => value).map(([name, value]) => `&${name}=${encodeURIComponent(value)}`);
    try { await list.load(filter.join("")); fill(problem); }
    catch (error) { showProblem(form, error, problem); }
  }
  // The groups may change with each change of subscribers.
  async function loadGroups() {
    const select = form.elements.group; const chosen = select.value;
    const found = await get("/subscriber-groups");
    fill(select, [["", T.anyGroup], ...found.map((one) => [one.name, `${one.name} (${one.subscribers})`])].map(([value, text]) => h("option", { value }, text)));
    select.value = chosen;
  }
  const again = () => Promise.all([load(), loadGroups()]);
  form.elements.group.addEventListener("change", load);
  const changes = h("div");
  fill(at, form, problem, h("div", { class: "over-rows" }, count, list.ends), list.view, changes);
  // The groups of many subscribers take longer than the first page.
  await load();
  await loadGroups();
  if (context.may("subscribers")) fill(changes, await groups(again), h("div", { class: "grid wide" }, importing(again), await batches(again)));
}

// A row for each field that differs, or one for a new subscriber.
function importRows({ supi, change, differences }) {
  if (!differences.length) return [[supi, T.changes[change], "–", "–", "–"]];
  return differences.map((one) => [supi, T.changes[change], one.field, written(one.before), written(one.after)]);
}

function importing(done) {
  const at = h("div", { role: "status" });
  const form = h("form", { onsubmit: (event) => { event.preventDefault(); run(true); } },
    field("file", T.importFile, { type: "file" }), field("text", T.importText, { rows: 6 }),
    h("label", { class: "check" }, h("input", { type: "checkbox", name: "replace" }), T.replaceExisting),
    h("label", { class: "check" }, h("input", { type: "checkbox", name: "lossy" }), T.acceptLost), at,
    h("div", { class: "buttons" }, h("button", {}, T.preview), h("button", { type: "button", class: "main", onclick: () => run(false) }, T.doImport)));
  form.elements.file.addEventListener("change", async () => {
    const file = form.elements.file.files[0];
    if (file) form.elements.text.value = await file.text();
  });
  async function run(dry) {
    try {
      const started = await post("/subscriber-imports", { text: form.elements.text.value, dry_run: dry, replace: form.elements.replace.checked, lossy: form.elements.lossy.checked }, { "idempotency-key": key() });
      const ended = await job(started, (current) => fill(at, `${current.done} / ${current.total ?? "?"}`));
      fill(at, h("p", {}, T.importReport(ended.result)),
        ended.result.lost?.length ? h("p", { class: "warn" }, T.lostFields(ended.result.lost)) : null,
        table(T.preview, [T.supi, T.changed, T.fieldName, T.before, T.after], ended.result.first.flatMap(importRows), T.nothing));
      if (!dry) { say(T.done); done(); }
    } catch (problem) { showProblem(form, problem, at); }
  }
  return h("section", {}, h("h2", {}, T.importing), form);
}

async function batches(done) {
  const at = h("div", { role: "status" }); const listed = h("div");
  const form = h("form", { onsubmit: async (event) => {
    event.preventDefault();
    const value = (name) => form.elements[name].value.trim();
    try {
      const made = await post("/sim-batches", {
        name: value("name"), count: Number(value("count")), first_msisdn: value("first_msisdn") || null,
        template: { supi: `imsi-${value("supi")}`, slices: [{ sst: 1, default: true, dnns: [{ name: value("dnn"), default: true }] }],
          groups: value("batch-groups").split(/[\s,;]+/).filter(Boolean) },
      }, { "idempotency-key": key() });
      const lines = ["imsi,key,opc", ...made.sims.map((sim) => `${sim.imsi},${sim.key},${sim.opc}`)].join("\n");
      const url = URL.createObjectURL(new Blob([lines], { type: "text/csv" }));
      fill(at, h("p", { class: "warn" }, T.batchMade(made.sims.length)),
        h("a", { href: url, download: `sims-${made.batch.id}.csv` }, T.saveKeys));
      await show(); done();
    } catch (problem) { showProblem(form, problem, at); }
  } },
  field("name", T.batchName, { required: true }), field("count", T.batchCount, { type: "number", min: 1, max: 10000, value: 10 }),
  field("supi", T.firstImsi, { inputmode: "numeric", required: true }), field("first_msisdn", T.firstMsisdn, { inputmode: "numeric" }),
  field("dnn", T.dnn, { value: "internet", required: true }), field("batch-groups", T.groupNames), at, h("div", { class: "buttons" }, h("button", { class: "main" }, T.makeBatch)));
  async function show() {
    const all = await get("/sim-batches");
    fill(listed, table(T.batches, [T.name, T.firstImsi, T.batchCount, T.when], all.map((b) => [b.name, b.first, b.count, time(b.created)]), T.nothing));
  }
  await show();
  return h("section", {}, h("h2", {}, T.batch), form, listed);
}

const TYPES = "IPV4, IPV6, IPV4V6, ETHERNET, UNSTRUCTURED";
const byte = (name, label, max) => ({ name, label, type: "number", attributes: { min: name === "sst" ? 0 : 1, max } });
const DNN = [
  { name: "name", label: T.dnn, attributes: { required: true } }, { name: "default", label: T.isDefault, type: "check" },
  { name: "session_types", label: T.sessionTypes, type: "words", hint: TYPES },
  { name: "ambr_uplink", label: T.sessionAmbrUp, hint: T.ambrHint }, { name: "ambr_downlink", label: T.sessionAmbrDown },
  byte("five_qi", T.fiveQi, 255), byte("arp_priority", T.arp, 15),
  { name: "static_ipv4", label: T.staticIpv4 }, { name: "static_ipv6", label: T.staticIpv6 },
  { name: "ssc_modes", label: T.sscModes, type: "numbers" }, { name: "framed_routes", label: T.framedRoutes, type: "words" },
];
const newDnn = () => ({ name: "internet", default: true, session_types: ["IPV4"], ambr_uplink: "1 Gbps", ambr_downlink: "1 Gbps", five_qi: 9, arp_priority: 8, ssc_modes: [1] });
const FIELDS = [
  { name: "groups", label: T.groupNames, type: "words" },
  { name: "slices", label: T.slices, type: "items", add: T.addSlice, title: (s, n) => T.sliceTitle(s?.sd ? `${s.sst}-${s.sd}` : s?.sst ?? n + 1),
    make: () => ({ sst: 1, default: false, dnns: [newDnn()] }), fields: [
      byte("sst", "SST", 255), { name: "sd", label: "SD", hint: T.sdHint }, { name: "default", label: T.isDefault, type: "check" },
      { name: "dnns", label: T.dataNetworks, type: "items", fields: DNN, add: T.addDnn, title: (d, n) => T.dnnTitle(d?.name || n + 1), make: () => ({ ...newDnn(), default: false }) },
    ] },
];

async function edit(at, supi) {
  let tag = null; let rest = {};
  const problem = h("div"); const controls = h("div"); let values = null;
  // The API names what is wrong, and what to write.
  const form = h("form", { onsubmit: save, novalidate: true },
    h("div", { class: "typed" }, field("supi", T.supi, { required: true, readonly: supi !== null, value: supi ?? "imsi-" }),
    field("msisdn", T.msisdn, { inputmode: "numeric" }),
    field("key", T.key, { autocomplete: "off" }, supi ? `${T.keyHint} ${T.keepKey}` : T.keyHint),
    field("opc", T.opc, { autocomplete: "off" }, supi ? T.keepKey : null),
    field("ambr_uplink", T.ambrUp, { value: "1 Gbps" }), field("ambr_downlink", T.ambrDown, { value: "1 Gbps" }),
    field("service_kind", T.serviceArea, { options: [["", T.noRestriction], ["allowed", T.allowed], ["not_allowed", T.notAllowed]] }),
    field("service_area", T.tacs, { inputmode: "numeric" })),
    controls, problem, h("div", { class: "buttons" }, h("button", { class: "main" }, T.save),
      supi && h("button", { type: "button", class: "danger", onclick: remove }, T.removeSubscriber),
      h("a", { href: "#/subscribers" }, T.cancel)));
  function draw(value) { values = typed(FIELDS, value); fill(controls, values.view); }
  async function load() {
    const { value, tag: current } = await call("GET", `/subscribers/${inPath(supi)}`);
    tag = current;
    const { msisdn, ambr_uplink, ambr_downlink, slices, groups: of, service_area: area, ...others } = value;
    rest = others;
    form.elements.msisdn.value = msisdn ?? "";
    form.elements.ambr_uplink.value = ambr_uplink; form.elements.ambr_downlink.value = ambr_downlink;
    const [kind, tacs] = Object.entries(area ?? {})[0] ?? ["", []];
    form.elements.service_kind.value = kind; form.elements.service_area.value = tacs.join(", ");
    draw({ slices, groups: of ?? [] }); fill(problem);
  }
  function body() {
    const value = (name) => form.elements[name].value.trim();
    const made = { ...rest, ...values.read(), supi: value("supi"), ambr_uplink: value("ambr_uplink"), ambr_downlink: value("ambr_downlink") };
    const kind = value("service_kind");
    if (kind) made.service_area = { [kind]: value("service_area").split(/[\s,;]+/).filter(Boolean).map(Number) };
    for (const name of ["msisdn", "key", "opc"]) if (value(name)) made[name] = value(name);
    return made;
  }
  function fail(error) {
    if (error.status === 412) {
      fill(problem, conflict(() => load().then(() => form.elements.msisdn.focus())));
    } else showProblem(form, error, problem);
  }
  async function save(event) {
    event.preventDefault();
    try {
      if (supi) await call("PUT", `/subscribers/${inPath(supi)}`, body(), { "if-match": tag, "content-type": "application/json" });
      else await call("POST", "/subscribers", body(), { "idempotency-key": key() });
      say(T.done); location.hash = "#/subscribers";
    } catch (error) { fail(error); }
  }
  async function remove() {
    if (!await confirmed(T.removeSubscriber, T.confirmRemove(supi))) return;
    try { await call("DELETE", `/subscribers/${inPath(supi)}`, undefined, { "if-match": tag }); say(T.done); location.hash = "#/subscribers"; }
    catch (error) { fail(error); }
  }
  // Shown with its values, which would replace what a user has typed already.
  if (supi) await load(); else draw({ groups: [], slices: [{ sst: 1, default: true, dnns: [newDnn()] }] });
  fill(at, h("h2", {}, supi ? `${T.editSubscriber}: ${supi}` : T.addSubscriber), form);
}
