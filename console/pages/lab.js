// Reports of martlet-lab with their plots and figures, and quick runs.
import { call, get, job, post } from "../api.js";
import { field, fill, h, showProblem, table, time } from "../dom.js";
import { T } from "../text.js";
import { update } from "../update.js";

export async function lab(at, [name], context) {
  if (name) return one(at, name);
  const listed = h("div");
  async function list() {
    try {
      const reports = await get("/lab-reports");
      fill(listed, table(T.reports, [T.name, T.experiment, T.when, T.figures], reports.map((report) => [
        link(report.name), report.lab, time(report.at), report.figures]), T.nothing));
    } catch (problem) {
      fill(listed, h("p", {}, T.noReports), h("p", { class: "soft" }, [problem.detail, problem.remedy].filter(Boolean).join(": ")));
    }
  }
  fill(at, listed, await quickRun(list, context));
  await list();
}

const link = (name) => h("a", { href: `#/lab/${encodeURIComponent(name)}` }, name);

async function quickRun(done, context) {
  const runs = await get("/lab-runs");
  const heading = h("h2", {}, T.quickRun);
  if (!runs.available) {
    return h("section", {}, heading, h("p", {}, `${T.noRuns}: ${runs.reason}.`), h("p", { class: "soft" }, runs.remedy));
  }
  if (!context.may("administration")) return null;
  let left = false; let running = null;
  context.onLeave(() => { left = true; });
  const problem = h("div"); const told = h("div", { role: "status" });
  const start = h("button", { class: "main" }, T.startRun);
  const stop = h("button", { type: "button", hidden: true, onclick: () => call("DELETE", `/jobs/${running.id}`).catch((error) => showProblem(form, error, problem)) }, T.stop);
  const form = h("form", { class: "inline", onsubmit: async (event) => {
    event.preventDefault();
    const experiment = form.elements.experiment.value;
    fill(problem); start.disabled = true;
    try {
      running = await post("/lab-runs", { experiment });
      stop.hidden = false;
      const shown = (current) => update(told, h("p", {}, T.runs(experiment)), h("pre", { tabindex: 0 }, (current?.result?.progress ?? []).join("\n")));
      shown();
      const ended = await job(running, shown, () => left);
      fill(told, ended.result?.report ? h("p", {}, `${T.runEnded} `, link(ended.result.report)) : null);
      if (!left) await done();
    } catch (error) { fill(told); showProblem(form, error, problem); }
    start.disabled = false; stop.hidden = true;
  } }, field("experiment", T.experiment, { options: runs.experiments.map((name) => [name, name]) }), start, stop);
  return h("section", {}, heading, h("p", { class: "soft" }, T.quickHint), form, problem, told);
}

async function one(at, name) {
  const report = await get(`/lab-reports/${encodeURIComponent(name)}`);
  const source = (plot) => `/api/v1/lab-reports/${encodeURIComponent(name)}/plots/${encodeURIComponent(plot)}`;
  const number = (value) => (typeof value === "number" ? Number(value.toPrecision(4)).toString() : "–");
  fill(at, h("p", {}, h("a", { href: "#/lab" }, T.reports)), h("h2", {}, name),
    report.plots.map((plot) => h("figure", { class: "plot" }, h("img", { src: source(plot), alt: `${T.plot}: ${plot.replace(/\.svg$/, "")}` }),
      h("figcaption", {}, plot))),
    table(T.figures, [T.name, T.value, "95 %", T.unit, "n"], report.values.map((f) => [f.id, number(f.value),
      f.low === undefined || f.low === null ? "–" : `${number(f.low)} – ${number(f.high)}`, f.unit ?? "", f.n ?? "–"]), T.nothing),
    h("h2", {}, T.report), h("pre", { tabindex: 0 }, report.text));
}
