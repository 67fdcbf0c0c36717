// Slices, data networks and policies; the configuration file with check and difference.
import { call, get, post } from "../api.js";
import { fill, h, say, table } from "../dom.js";
import { T } from "../text.js";

export async function policies(at, _, context) {
  const [slices, networks, policy] = await Promise.all([get("/slices"), get("/data-networks"), get("/policies")]);
  const slice = (s) => s.sd ? `${s.sst}-${s.sd}` : String(s.sst);
  const usage = (name) => { const u = networks.usage.find((one) => one.name === name); return u ? `${u.used} / ${u.of}` : "–"; };
  fill(at, h("div", { class: "grid wide" },
    table(T.slices, ["NSSF", "SMF"], [[(slices.nssf ?? []).map(slice).join(", "), (slices.smf ?? []).map(slice).join(", ")]], T.nothing),
    table(T.dataNetworks, [T.name, "Pool", "Used"], (networks.networks ?? []).map((n) => [n.name, n.pool ?? "–", usage(n.name)]), T.nothing)),
  h("h2", {}, T.policies), h("pre", { tabindex: 0 }, JSON.stringify(policy, null, 2)),
  context.may("administration") && await file());
}

async function file() {
  let { value, tag } = await call("GET", "/configuration");
  const at = h("div", { role: "status" });
  const text = h("textarea", { id: "f-configuration", rows: 24, spellcheck: "false", value: value.text });
  const report = (r) => h("dl", {}, [["changed", r.changed], ["applied", r.applied], ["restart", r.restart]].flatMap(([name, list]) =>
    [h("dt", {}, T[name]), h("dd", {}, list.join(", ") || T.nothingChanged)]));
  const difference = () => {
    const [before, after] = [value.text.split("\n"), text.value.split("\n")];
    const [old, fresh] = [new Set(before), new Set(after)];
    const lines = [...before.filter((line) => !fresh.has(line)).map((line) => `- ${line}`), ...after.filter((line) => !old.has(line)).map((line) => `+ ${line}`)];
    return lines.length ? h("pre", { "aria-label": T.difference, tabindex: 0 }, lines.join("\n")) : null;
  };
  const fail = (problem) => {
    if (problem.status === 412) fill(at, h("div", { class: "cause", role: "alert" }, h("p", {}, T.conflict), h("button", { onclick: reload }, T.theirs)));
    else fill(at, h("p", { class: "error", role: "alert" }, problem.detail));
  };
  async function reload() {
    ({ value, tag } = await call("GET", "/configuration"));
    text.value = value.text; fill(at);
  }
  const check = async () => { try { fill(at, report(await post("/configuration/check", { text: text.value })), difference()); } catch (problem) { fail(problem); } };
  const save = async () => {
    try {
      const done = (await call("PUT", "/configuration", { text: text.value }, { "if-match": tag })).value;
      fill(at, report(done)); say(T.done);
      ({ value, tag } = await call("GET", "/configuration"));
    } catch (problem) { fail(problem); }
  };
  return h("section", {}, h("h2", {}, T.configurationFile), h("p", { class: "soft" }, `${value.file ?? "–"}. ${T.configurationHint}`),
    h("label", { for: "f-configuration" }, T.configurationFile), text, at,
    h("div", { class: "buttons" }, h("button", { onclick: check }, T.check), h("button", { class: "main", onclick: save }, T.save)));
}
