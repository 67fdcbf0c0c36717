// Subscribers: edit, bulk import with a preview, SIM batches.
import { call, get, job, key, post } from "../api.js";
import { field, fill, h, say, showProblem, table, time } from "../dom.js";
import { rows } from "../table.js";
import { T } from "../text.js";

export async function subscribers(at, [supi], context) {
  if (supi) return edit(at, supi === "new" ? null : supi);
  const count = h("p", { class: "soft", "aria-live": "polite" });
  const list = rows({
    label: T.pages.subscribers, heads: [T.supi, T.msisdn, T.slices, T.dnn], path: "/subscribers",
    cells: (s) => [h("a", { href: `#/subscribers/${s.supi}` }, s.supi), s.msisdn ?? "–",
      s.slices.map((slice) => slice.sd ? `${slice.sst}-${slice.sd}` : slice.sst).join(", "),
      [...new Set(s.slices.flatMap((slice) => slice.dnns.map((dnn) => dnn.name)))].join(", ")],
    count: (all, shown) => { count.textContent = T.subscriberCount(all, shown); },
  });
  const problem = h("div");
  const form = h("form", { class: "inline", role: "search", onsubmit: (event) => { event.preventDefault(); load(); } },
    field("search", T.search, { type: "search", inputmode: "numeric" }, T.searchHint), h("button", { class: "main" }, T.search),
    context.may("subscribers") && h("a", { href: "#/subscribers/new" }, T.addSubscriber));
  async function load() {
    const search = form.elements.search.value.trim();
    try { await list.load(search ? `&search=${encodeURIComponent(search)}` : ""); fill(problem); }
    catch (error) { showProblem(form, error, problem); }
  }
  fill(at, form, problem, count, list.view,
    context.may("subscribers") && h("div", { class: "grid wide" }, importing(load), await batches(load)));
  await load();
}

function importing(done) {
  const at = h("div", { role: "status" });
  const form = h("form", { onsubmit: (event) => { event.preventDefault(); run(true); } },
    field("file", T.importFile, { type: "file" }), field("text", T.importText, { rows: 6 }),
    h("label", { class: "check" }, h("input", { type: "checkbox", name: "replace" }), T.replaceExisting), at,
    h("div", { class: "buttons" }, h("button", {}, T.preview), h("button", { type: "button", class: "main", onclick: () => run(false) }, T.doImport)));
  form.elements.file.addEventListener("change", async () => {
    const file = form.elements.file.files[0];
    if (file) form.elements.text.value = await file.text();
  });
  async function run(dry) {
    try {
      const started = await post("/subscriber-imports", { text: form.elements.text.value, dry_run: dry, replace: form.elements.replace.checked, lossy: false }, { "idempotency-key": key() });
      const ended = await job(started, (current) => fill(at, `${current.done} / ${current.total ?? "?"}`));
      fill(at, h("p", {}, T.importReport(ended.result)),
        table(T.preview, [T.supi, T.changed], ended.result.first.map((row) => [row.supi, row.change]), T.nothing));
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
        template: { supi: `imsi-${value("supi")}`, slices: [{ sst: 1, default: true, dnns: [{ name: value("dnn"), default: true }] }] },
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
  field("dnn", T.dnn, { value: "internet", required: true }), at, h("div", { class: "buttons" }, h("button", { class: "main" }, T.makeBatch)));
  async function show() {
    const all = await get("/sim-batches");
    fill(listed, table(T.batches, [T.name, T.firstImsi, T.batchCount, T.when], all.map((b) => [b.name, b.first, b.count, time(b.created)]), T.nothing));
  }
  await show();
  return h("section", {}, h("h2", {}, T.batch), form, listed);
}

async function edit(at, supi) {
  let tag = null;
  const problem = h("div");
  const form = h("form", { onsubmit: save },
    field("supi", T.supi, { required: true, readonly: supi !== null, value: supi ?? "imsi-" }),
    field("msisdn", T.msisdn, { inputmode: "numeric" }),
    field("key", T.key, { autocomplete: "off" }, supi ? `${T.keyHint} ${T.keepKey}` : T.keyHint),
    field("opc", T.opc, { autocomplete: "off" }, supi ? T.keepKey : null),
    field("ambr_uplink", T.ambrUp, { value: "1 Gbps" }), field("ambr_downlink", T.ambrDown, { value: "1 Gbps" }),
    field("slices", T.slices, { rows: 10, value: JSON.stringify([{ sst: 1, default: true, dnns: [{ name: "internet", default: true }] }], null, 2) }, T.slicesHint),
    problem, h("div", { class: "buttons" }, h("button", { class: "main" }, T.save),
      supi && h("button", { type: "button", class: "danger", onclick: remove }, T.removeSubscriber),
      h("a", { href: "#/subscribers" }, T.cancel)));
  let rest = {};
  async function load() {
    const { value, tag: current } = await call("GET", `/subscribers/${supi}`);
    tag = current;
    const { msisdn, ambr_uplink, ambr_downlink, slices, ...others } = value;
    rest = others;
    form.elements.msisdn.value = msisdn ?? "";
    form.elements.ambr_uplink.value = ambr_uplink; form.elements.ambr_downlink.value = ambr_downlink;
    form.elements.slices.value = JSON.stringify(slices, null, 2);
    fill(problem);
  }
  function body() {
    const value = (name) => form.elements[name].value.trim();
    let slices;
    try { slices = JSON.parse(value("slices")); } catch (error) {
      throw { detail: error.message, field: "slices", remedy: T.slicesHint };
    }
    const made = { ...rest, supi: value("supi"), ambr_uplink: value("ambr_uplink"), ambr_downlink: value("ambr_downlink"), slices };
    for (const name of ["msisdn", "key", "opc"]) if (value(name)) made[name] = value(name);
    return made;
  }
  function fail(error) {
    if (error.status === 412) {
      fill(problem, h("div", { class: "cause", role: "alert" }, h("p", {}, T.conflict),
        h("button", { type: "button", onclick: load }, T.theirs)));
    } else showProblem(form, error, problem);
  }
  async function save(event) {
    event.preventDefault();
    try {
      if (supi) await call("PUT", `/subscribers/${supi}`, body(), { "if-match": tag, "content-type": "application/json" });
      else await call("POST", "/subscribers", body(), { "idempotency-key": key() });
      say(T.done); location.hash = "#/subscribers";
    } catch (error) { fail(error); }
  }
  async function remove() {
    if (!confirm(T.confirmRemove(supi))) return;
    try { await call("DELETE", `/subscribers/${supi}`, undefined, { "if-match": tag }); say(T.done); location.hash = "#/subscribers"; }
    catch (error) { fail(error); }
  }
  // Shown with its values, which would replace what a user has typed already.
  if (supi) await load();
  fill(at, h("h2", {}, supi ? `${T.editSubscriber}: ${supi}` : T.addSubscriber), form);
}
