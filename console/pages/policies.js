// Slices, data networks, QoS and uplink classifiers by their fields; the configuration file as text.
import { call, post } from "../api.js";
import { conflict, fill, h, say, showProblem, table } from "../dom.js";
import { typed } from "../form.js";
import { T } from "../text.js";

const sliceName = (s) => (s?.sd ? `${s.sst}-${s.sd}` : String(s?.sst ?? ""));
const number = (name, label, min, max, hint) => ({ name, label, type: "number", hint, attributes: { min, max } });
const PROTECTION = [["", T.unset], ...["required", "preferred", "not_needed"].map((word) => [word, word.replace("_", " ")])];

const SLICE = [number("sst", "SST", 0, 255), { name: "sd", label: "SD", hint: T.sdHint, attributes: { maxlength: 6 } }];
const NETWORK = [
  { name: "name", label: T.name, attributes: { required: true } },
  { name: "pool", label: T.pool4, hint: "10.45.0.0/16" }, { name: "pool6", label: T.pool6, hint: "fd45::/48" },
  { name: "static_pool", label: T.staticPool4, hint: "10.45.255.0/24" }, { name: "static_pool6", label: T.staticPool6, hint: "fd45:0:0:ff00::/56" },
  { name: "dns", label: T.dns, type: "words" }, { name: "pcscf", label: T.pcscf, type: "words" },
  number("mtu", "MTU", 576, 9000), { name: "unstructured", label: T.unstructured },
  { name: "ethernet", label: T.ethernet, type: "check" }, { name: "always_on", label: T.alwaysOn, type: "check" },
  { name: "up_security", label: T.upSecurity, type: "group", fields: [
    { name: "integrity", label: T.integrity, type: "select", options: PROTECTION },
    { name: "ciphering", label: T.ciphering, type: "select", options: PROTECTION },
  ] },
];
const FLOW = [
  { name: "name", label: T.name, attributes: { required: true } }, { name: "dnn", label: T.dnn, hint: T.emptyAll },
  number("five_qi", T.fiveQi, 1, 255), number("arp", T.arp, 0, 15, T.arpZero), number("precedence", T.precedence, 0, 254),
  { name: "filters", label: T.filters, type: "lines", hint: "permit out 17 from 10.0.0.0/8 5060 to assigned" },
  { name: "supis", label: T.onlySupis, type: "words", hint: T.emptyAll }, number("rating_group", T.ratingGroup, 0, 4294967295),
  { name: "guaranteed_uplink", label: T.guaranteedUp, hint: T.ambrHint }, { name: "guaranteed_downlink", label: T.guaranteedDown },
  { name: "maximum_uplink", label: T.maximumUp }, { name: "maximum_downlink", label: T.maximumDown },
];
const POLICY = [
  number("default_5qi", T.default5qi, 1, 255), number("default_arp", T.defaultArp, 1, 15),
  { name: "default_ambr", label: T.defaultAmbr, hint: T.ambrHint }, number("default_rfsp", T.defaultRfsp, 1, 256, T.rfspHint),
  { name: "ue_requests", label: T.ueRequests, type: "group", fields: [
    { name: "five_qis", label: T.permitted5qis, type: "numbers" }, number("max_flows", T.maxFlows, 0, 64),
    { name: "guaranteed", label: T.maxGuaranteed, hint: T.ambrHint },
  ] },
  { name: "flows", label: T.flows, type: "items", fields: FLOW, add: T.addFlow,
    title: (flow, n) => T.flowTitle(flow?.name || n + 1), make: () => ({ name: "", five_qi: 7, arp: 0, precedence: 10, filters: [] }) },
];
const CLASSIFIER = (upfs) => [
  { name: "dnn", label: T.dnn, attributes: { required: true } },
  { name: "via", label: T.via, type: "select", options: upfs.map((upf) => [upf, upf]) },
  { name: "tacs", label: T.tacs, type: "numbers", hint: T.emptyAll },
  { name: "local", label: T.localTraffic, type: "lines", hint: "permit out ip from 10.98.0.0/16 to assigned" },
];

const SECTIONS = [
  { path: "/slices", title: T.slices, members: ["slices"],
    fields: () => [{ name: "slices", label: T.slices, type: "items", fields: SLICE, add: T.addSlice, title: (s, n) => T.sliceTitle(sliceName(s) || n + 1), make: () => ({ sst: 1 }) }],
    summary: (v) => [table(T.slices, ["SST", "SD"], v.slices.map((s) => [s.sst, s.sd ?? "–"]), T.nothing),
      v.own.length ? h("p", { class: "warn" }, T.ownSlices(v.own.join(", "))) : null] },
  { path: "/data-networks", title: T.dataNetworks, members: ["networks"],
    fields: () => [{ name: "networks", label: T.dataNetworks, type: "items", fields: NETWORK, add: T.addNetwork, title: (one, n) => one?.name || String(n + 1), make: () => ({ name: "", mtu: 1400 }) }],
    summary: (v) => table(T.dataNetworks, [T.name, T.pool4, T.pool6, T.used], v.networks.map((one) => {
      const usage = v.usage.find((u) => u.name === one.name);
      return [one.name, one.pool ?? "–", one.pool6 ?? "–", usage ? `${usage.used} / ${usage.of}` : "–"];
    }), T.nothing) },
  { path: "/policies", title: T.qos, members: null, fields: () => POLICY,
    summary: (v) => [h("p", {}, T.policySummary(v)), table(T.flows, [T.name, T.dnn, T.fiveQi, T.filters, T.guaranteed], v.flows.map((f) =>
      [f.name, f.dnn ?? T.all, f.five_qi, f.filters.join("; "), [f.guaranteed_uplink, f.guaranteed_downlink].filter(Boolean).join(" / ") || "–"]), T.nothing)] },
  { path: "/uplink-classifiers", title: T.classifiers, members: ["classifiers"],
    fields: (v) => [{ name: "classifiers", label: T.classifiers, type: "items", fields: CLASSIFIER(v.upfs), add: T.addClassifier, title: (one, n) => one?.dnn || String(n + 1), make: () => ({ dnn: "internet", via: v.upfs[0], local: [] }) }],
    summary: (v) => table(T.classifiers, [T.dnn, T.via, T.tacs, T.localTraffic], v.classifiers.map((c) => [c.dnn, c.via, (c.tacs ?? []).join(", ") || T.all, c.local.join("; ")]), T.nothing) },
];

export async function policies(at, _, context) {
  const may = context.may("administration");
  // A change of one section gives all of them another tag. What is still the same may be changed.
  const all = [];
  const saved = (own) => Promise.all(all.filter((one) => one !== own).map((one) => one.renew()));
  all.push(...await Promise.all(SECTIONS.map((one) => section(one, may, saved))));
  if (may) all.push(await file(saved));
  fill(at, all.map((one) => one.view));
}

const settings = ({ usage, ...others }) => JSON.stringify(others);

const report = (r) => [h("dl", {}, [["changed", r.changed], ["applied", r.applied], ["restart", r.restart]].filter(([name, list]) => name !== "applied" || list.length).flatMap(([name, list]) =>
  [h("dt", {}, T[name]), h("dd", {}, list.join(", ") || T.nothingChanged)])),
r.difference.length ? h("pre", { "aria-label": T.difference, tabindex: 0 }, r.difference.map((line) =>
  h("div", { class: line.startsWith("+") ? "good" : "bad" }, line))) : null];

async function section({ path, title, members, fields, summary }, may, saved) {
  let { value, tag } = await call("GET", path);
  const seen = h("div", {}, summary(value)); const told = h("div", { role: "status" });
  const controls = h("div"); let form = null; let values = null;
  function draw() {
    values = typed(fields(value), value);
    fill(controls, values.view); fill(seen, summary(value));
  }
  async function load() {
    ({ value, tag } = await call("GET", path)); draw(); fill(told);
    // The button that was pressed is gone.
    form.querySelector("input, select, textarea, button").focus();
  }
  async function send(dry) {
    const read = values.read();
    const body = members ? Object.fromEntries(members.map((name) => [name, read[name]])) : read;
    try {
      const done = (await call("PUT", `${path}${dry ? "?dry_run=true" : ""}`, body, { "if-match": tag })).value;
      showProblem(form, {}, told);
      if (!dry) { ({ value, tag } = await call("GET", path)); fill(seen, summary(value)); await saved(own); say(T.done); }
      fill(told, report(done));
    } catch (problem) {
      if (problem.status === 412) fill(told, conflict(load)); else showProblem(form, problem, told);
    }
  }
  form = h("form", { class: "edit", novalidate: true, "aria-label": title, onsubmit: (event) => { event.preventDefault(); send(false); } }, controls, told,
    h("div", { class: "buttons" }, h("button", { type: "button", onclick: () => send(true) }, T.previewChange), h("button", { class: "main" }, T.save)));
  draw();
  const own = { view: h("section", {}, h("h2", {}, title), seen, may && h("details", {}, h("summary", {}, T.change(title)), form)),
    async renew() {
      const fresh = await call("GET", path);
      if (settings(fresh.value) === settings(value)) ({ tag } = fresh);
    } };
  return own;
}

async function file(saved) {
  let { value, tag } = await call("GET", "/configuration");
  const at = h("div", { role: "status" });
  const text = h("textarea", { id: "f-configuration", rows: 24, spellcheck: "false" });
  text.value = value.text;
  const fail = (problem) => {
    if (problem.status === 412) fill(at, conflict(reload));
    else fill(at, h("p", { class: "error", role: "alert" }, problem.detail));
  };
  async function reload() {
    ({ value, tag } = await call("GET", "/configuration"));
    text.value = value.text; fill(at);
  }
  const check = async () => { try { fill(at, report(await post("/configuration/check", { text: text.value }))); } catch (problem) { fail(problem); } };
  const save = async () => {
    try {
      const done = (await call("PUT", "/configuration", { text: text.value }, { "if-match": tag })).value;
      ({ value, tag } = await call("GET", "/configuration"));
      await saved(own);
      fill(at, report(done)); say(T.done);
    } catch (problem) { fail(problem); }
  };
  const view = h("section", {}, h("h2", {}, T.configurationFile), h("p", { class: "soft" }, `${value.file ?? "–"}. ${T.configurationHint}`),
    h("details", {}, h("summary", {}, T.change(T.configurationFile)), h("label", { for: "f-configuration" }, T.configurationFile), text, at,
      h("div", { class: "buttons" }, h("button", { onclick: check }, T.check), h("button", { class: "main", onclick: save }, T.save))));
  const own = { view, async renew() { if (text.value === value.text) await reload(); } };
  return own;
}
