// Backups, and the restore that the next start of the core carries out.
import { call, get, job, post } from "../api.js";
import { conflict, field, fill, h, say, showProblem, table, time } from "../dom.js";
import { T } from "../text.js";
import { update } from "../update.js";

const pairs = (all) => h("dl", {}, all.filter(Boolean).map(([name, value]) => [h("dt", {}, name), h("dd", {}, value ?? "–")]));

export async function backups() {
  const listed = h("div"); const staged = h("div"); const previewed = h("div", { "data-key": "preview" });
  const told = h("div", { role: "status" }); const problem = h("div");

  async function show() {
    const [made, { value: state, tag }] = [await get("/backups"), await call("GET", "/restores")];
    update(listed, table(T.backups, [T.when, T.who, T.folder, T.subscribersOf, ""], made.map((one) => [time(one.made), one.by, one.folder, one.subscribers,
      one.available ? h("button", { type: "button", "aria-label": `${T.restore} ${one.folder}`, onclick: () => preview(one.folder, problem) }, T.restore)
        : h("span", { class: "soft" }, T.backupAway)]), T.nothing, made.map((one) => one.folder)));
    update(staged, state.staged && waiting(state.staged, tag), state.last && result(state.last));
  }

  // A new folder where the core may write.
  async function proposed() {
    const { backup_folder: folder } = await get("/restores");
    return folder ? `${folder}/backup-${new Date().toISOString().slice(0, 19).replaceAll(":", "-")}` : "";
  }

  const waiting = (one, tag) => h("div", { class: "cause", "data-key": "staged" }, h("h3", {}, T.restoreStaged),
    h("p", {}, T.restoreWaits(one.folder, time(one.made), one.subscribers)),
    h("p", { class: "soft" }, T.restoreStagedBy(one.by, time(one.staged))),
    h("div", { class: "buttons" }, h("button", { type: "button", onclick: () => withdraw(tag) }, T.restoreWithdraw)));
  const result = (last) => h("div", { "data-key": "last" }, h("h3", {}, T.restoreLast),
    h("p", { class: last.error ? "bad" : "good" }, last.error ? T.restoreFailed(time(last.at)) : T.restoreDone(time(last.at))),
    pairs([[T.folder, last.staged.folder], [T.who, last.staged.by], last.error && [T.restoreWhy, last.error], last.remedy && [T.remedy, last.remedy], last.replaced && [T.restoreReplaced, last.replaced]]));

  async function withdraw(tag) {
    try {
      await call("DELETE", "/restores", undefined, { "if-match": tag });
      say(T.restoreWithdrawn); fill(previewed);
    } catch (error) {
      if (error.status !== 412) say(error.detail);
    }
    await show();
  }

  // Shows what a restore would change. It is confirmed with the entity tag of what was shown.
  async function preview(folder, at, form) {
    fill(previewed); fill(problem); fill(others);
    for (const error of other.querySelectorAll(".error")) error.hidden = true;
    other.elements["backup-folder"].removeAttribute("aria-invalid");
    let seen;
    try {
      seen = await call("GET", `/restores/preview?folder=${encodeURIComponent(folder)}`);
    } catch (error) {
      if (form) showProblem(form, { ...error, field: error.field && "backup-folder" }, at);
      else fill(at, h("p", { class: "error", role: "alert" }, [error.detail, error.remedy].filter(Boolean).join(": ")));
      return;
    }
    const { value: one, tag } = seen; const count = one.subscribers; const failed = h("div");
    const heading = h("h3", { tabindex: -1 }, T.restorePreview);
    fill(previewed, h("div", { class: "cause" }, heading,
      pairs([[T.folder, one.folder], [T.backupMadeAt, time(one.made)], [T.program, one.version && `martlet ${one.version}`],
        [T.subscribersNow, count.now], [T.subscribersThen, count.in_backup], [T.subscribersLost, count.lost], [T.subscribersBack, count.back],
        [T.subscribersChanged, count.changed], [T.changesLost, one.changes_since], [T.operatorKey, T.restoredKeys[one.key]],
        one.emptied.length > 0 && [T.emptied, one.emptied.join(", ")]]),
      h("p", { class: "warn" }, T.restoreWarning), failed,
      h("div", { class: "buttons" },
        h("button", { type: "button", class: "danger", onclick: async (event) => {
          event.target.disabled = true;
          try {
            await call("POST", "/restores", { folder: one.folder }, { "if-match": tag });
            fill(previewed); say(T.restoreIsStaged); await show();
            staged.querySelector("button")?.focus();
          } catch (error) {
            event.target.disabled = false;
            if (error.status === 412) fill(failed, conflict(() => preview(folder, at, form)));
            else showProblem(previewed, { ...error, detail: error.detail, field: undefined }, failed);
          }
        } }, T.restoreConfirm),
        h("button", { type: "button", onclick: () => { fill(previewed); listed.querySelector("button")?.focus(); } }, T.cancel))));
    heading.focus();
  }

  const form = h("form", { onsubmit: async (event) => {
    event.preventDefault();
    try {
      const ended = await job(await post("/backups", { folder: form.elements.folder.value }));
      fill(told, T.backupMade(ended.result.folder)); await show();
    } catch (error) { showProblem(form, error, told); }
  } }, field("folder", T.backupFolder, { required: true, value: await proposed() }), told,
  h("div", { class: "buttons" }, h("button", { class: "main" }, T.makeBackup)));
  const others = h("div");
  const other = h("form", { onsubmit: async (event) => {
    event.preventDefault();
    await preview(other.elements["backup-folder"].value, others, other);
  } }, field("backup-folder", T.restoreFolder, { required: true }, T.restoreFolderHint), others,
  h("div", { class: "buttons" }, h("button", {}, T.restorePreviewOf)));
  await show();
  return h("section", {}, h("h2", {}, T.backup), form, listed, problem, h("details", {}, h("summary", {}, T.restoreOther), other), previewed, staged);
}
