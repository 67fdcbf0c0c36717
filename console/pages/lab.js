// Reports of martlet-lab with their plots and figures.
import { get } from "../api.js";
import { fill, h, table, time } from "../dom.js";
import { T } from "../text.js";

export async function lab(at, [name]) {
  if (name) return one(at, name);
  let reports;
  try { reports = await get("/lab-reports"); } catch (problem) {
    fill(at, h("p", {}, T.noReports), h("p", { class: "soft" }, [problem.detail, problem.remedy].filter(Boolean).join(": ")));
    return;
  }
  fill(at, table(T.reports, [T.name, T.experiment, T.when, T.figures], reports.map((report) => [
    h("a", { href: `#/lab/${encodeURIComponent(report.name)}` }, report.name), report.lab, time(report.at), report.figures]), T.nothing));
}

async function one(at, name) {
  const report = await get(`/lab-reports/${encodeURIComponent(name)}`);
  const source = (plot) => `/api/v1/lab-reports/${encodeURIComponent(name)}/plots/${encodeURIComponent(plot)}`;
  const number = (value) => (typeof value === "number" ? Number(value.toPrecision(4)).toString() : "–");
  fill(at, h("p", {}, h("a", { href: "#/lab" }, T.reports)), h("h2", {}, name),
    report.plots.map((plot) => h("figure", { class: "plot" }, h("img", { src: source(plot), alt: `${T.plot}: ${plot.replace(/\.svg$/, "")}` }),
      h("figcaption", {}, plot))),
    table(T.figures, ["", T.value, "95 %", T.unit, "n"], report.values.map((f) => [f.id, number(f.value),
      f.low === undefined || f.low === null ? "–" : `${number(f.low)} – ${number(f.high)}`, f.unit ?? "", f.n ?? "–"]), T.nothing),
    h("h2", {}, T.report), h("pre", { tabindex: 0 }, report.text));
}
