// Groups of subscribers, and changes of many subscribers with a preview.
import { get, job, key, post } from "../api.js";
import { fill, h, say, showProblem, table } from "../dom.js";
import { typed } from "../form.js";
import { T } from "../text.js";

const bare = (object) => Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined && value !== "" && !(Array.isArray(value) && !value.length)));
// A value of any type as text.
export const written = (value) => (value === null || value === undefined ? "–" : typeof value === "object" ? JSON.stringify(value) : String(value));

export async function groups(done) {
  const listed = h("div"); const problem = h("div"); const result = h("div", { role: "status" });
  const selection = typed([
    { name: "select.group", label: T.group, type: "text", hint: T.groupHint },
    { name: "select.imsi", label: T.firstDigits, attributes: { inputmode: "numeric" } },
    { name: "select.dnn", label: T.withDnn },
  ], {});
  const all = h("input", { type: "checkbox", name: "select.all" });
  const change = typed([
    { name: "ambr_uplink", label: T.newAmbrUp, hint: T.ambrHint }, { name: "ambr_downlink", label: T.newAmbrDown },
    { name: "add_groups", label: T.joinGroups, type: "words" }, { name: "remove_groups", label: T.leaveGroups, type: "words" },
    { name: "data_network", label: T.networkValues, type: "group", fields: [
      { name: "name", label: T.dnn }, { name: "five_qi", label: T.fiveQi, type: "number", attributes: { min: 1, max: 255 } },
      { name: "arp_priority", label: T.arp, type: "number", attributes: { min: 1, max: 15 } },
      { name: "ambr_uplink", label: T.sessionAmbrUp }, { name: "ambr_downlink", label: T.sessionAmbrDown },
    ] },
  ], {});
  const apply = h("button", { type: "button", class: "main", disabled: true, onclick: () => run(false) }, T.applyChange);
  const form = h("form", { novalidate: true, onsubmit: (event) => { event.preventDefault(); run(true); }, oninput: () => { apply.disabled = true; } },
    h("fieldset", {}, h("legend", {}, T.which), selection.view, h("label", { class: "check" }, all, T.allSubscribers)),
    h("fieldset", {}, h("legend", {}, T.newValues), change.view), problem, result,
    h("div", { class: "buttons" }, h("button", {}, T.previewChange), apply));
  let version = null;

  function body(dry) {
    const select = Object.fromEntries(Object.entries(bare(selection.read())).map(([name, value]) => [name.replace("select.", ""), value]));
    if (all.checked) select.all = true;
    return { select, ...bare(change.read()), dry_run: dry, ...(dry ? {} : { version }) };
  }
  async function run(dry) {
    fill(result); fill(problem);
    try {
      const started = await post("/subscriber-changes", body(dry), { "idempotency-key": key() });
      const ended = await job(started, (current) => fill(result, current.total ? `${current.done} / ${current.total}` : ""));
      const report = ended.result;
      showProblem(form, {}, problem); fill(problem);
      fill(result, h("p", {}, dry ? T.wouldChange(report) : T.hasChanged(report)),
        dry && table(T.difference, [T.supi, T.fieldName, T.before, T.after], report.first.flatMap((one) =>
          one.differences.map((d) => [one.supi, d.field, written(d.before), written(d.after)])), T.nothing));
      version = report.version;
      apply.disabled = !dry || report.changed === 0;
      if (!dry) { say(T.done); await show(); done(); }
    } catch (error) { apply.disabled = true; showProblem(form, error, problem); }
  }
  async function show() {
    const found = await get("/subscriber-groups");
    fill(listed, table(T.groups, [T.name, T.subscribersCount], found.map((group) => [group.name, group.subscribers]), T.nothing));
  }
  await show();
  return h("section", {}, h("h2", {}, T.manyChanges), listed, form);
}
