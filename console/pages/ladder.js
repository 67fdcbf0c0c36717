// The recorded messages of a UE as a ladder diagram, and as a table with the same content.
import { call, get, job, post } from "../api.js";
import { field, fill, h, showProblem, table } from "../dom.js";
import { inPath } from "../supi.js";
import { T } from "../text.js";
import { update } from "../update.js";

const ROW = 30; const TOP = 44; const TIME = 110; const COLUMN = 190;
// Left to right as in the call flows of TS 23.502; others follow. Names of gNBs are after the UE.
const ORDER = ["UE", "", "AMF", "SMF", "UPF", "AUSF", "UDM", "UDR", "PCF", "NSSF", "NRF", "CHF", "LMF"];
// NAS messages of the UE that begin a procedure.
const BEGINS = /^(RegistrationRequest|ServiceRequest|ControlPlaneServiceRequest|DeregistrationRequest|.*PduSession(Establishment|Modification|Release)Request)/;
const NETWORK_BEGINS = /^(Paging|HandoverRequired|PathSwitchRequest|UEContextReleaseRequest)$/;
const CARRIES = /^(InitialUEMessage|UplinkNASTransport)$/;

const begins = (m) => (m.protocol === "NAS" && m.from === "UE" && BEGINS.test(m.name.split(": ").pop()))
  || (m.protocol === "NGAP" && NETWORK_BEGINS.test(m.name));

// One list of messages for each procedure. The NGAP message before a NAS message of the UE carries it.
export function procedures(messages) {
  const found = [];
  for (const message of messages) {
    const last = found.at(-1);
    const carried = last?.messages.at(-1);
    const again = last?.name === title(message) && message.us - last.messages[0].us < 1000;
    if (!last || (begins(message) && !again)) {
      const next = { name: title(message), messages: [] };
      if (carried?.protocol === "NGAP" && CARRIES.test(carried.name) && message.from === "UE") {
        next.messages.push(last.messages.pop());
        if (!last.messages.length) found.pop();
      }
      found.push(next);
    }
    found.at(-1).messages.push(message);
  }
  return found;
}

const title = (message) => message.name.split(": ").pop();
const clock = (us) => new Date(us / 1000).toISOString().slice(11, 23);

function rank(name) {
  const at = ORDER.indexOf(name);
  return at >= 0 ? at : /^[A-Z]+$/.test(name) ? ORDER.length : 1;
}

export function diagram(messages) {
  const names = [...new Set(messages.flatMap((m) => [m.from, m.to]))]
    .sort((a, b) => rank(a) - rank(b) || a.localeCompare(b));
  const x = (name) => TIME + COLUMN / 2 + names.indexOf(name) * COLUMN;
  const width = TIME + names.length * COLUMN; const height = TOP + messages.length * ROW + 12;
  const arrows = messages.map((m, n) => {
    const y = TOP + 20 + n * ROW; const [from, to] = [x(m.from), x(m.to)];
    const tip = from < to ? -8 : 8; const middle = (from + to) / 2;
    return h("g", { class: `message ${m.protocol.toLowerCase()}${failed(m) ? " bad" : ""}` },
      h("title", {}, `${m.protocol} ${m.from} → ${m.to}: ${m.name}`),
      h("text", { class: "time", x: 4, y: y + 4 }, clock(m.us)),
      h("text", { x: middle, y: y - 7, "text-anchor": "middle" }, `${m.protocol} ${m.name}`),
      h("path", { class: "arrow", d: `M${from} ${y} H${to}` }),
      h("path", { class: "tip", d: `M${to} ${y} l${tip} -4 v8 z` }));
  });
  return h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": T.diagram },
    h("svg", { class: "picture ladder", width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": T.diagramHint(messages.length) },
      names.map((name) => h("g", {}, h("text", { class: "end", x: x(name), y: 18, "text-anchor": "middle" }, name),
        h("path", { class: "lifeline", d: `M${x(name)} 26 V${height}` }))), arrows));
}

const failed = (m) => (m.protocol === "SBI" && /^[45]\d\d /.test(m.name)) || /Reject|Failure|Error/.test(m.name);

// Shows the messages of a job. The chosen procedure and what is opened stay when messages come.
function show(at, messages, id, missed) {
  if (!messages.length) { fill(at, h("p", { class: "soft" }, T.noMessages)); return; }
  const all = procedures(messages);
  const chosen = at.querySelector("select")?.value ?? "";
  const shown = all[chosen]?.messages ?? messages;
  const name = (one, n) => `${n + 1}. ${one.name} (${one.messages.length})`;
  const select = field("procedure", T.procedure, { onchange: () => show(at, messages, id, missed),
    options: [["", T.allMessages(messages.length)], ...all.map((one, n) => [String(n), name(one, n)])] });
  update(at, h("div", { class: "buttons" }, select, h("a", { class: "button", href: `/api/v1/jobs/${encodeURIComponent(id)}/pcap`, download: "" }, T.downloadPcap)),
    missed ? h("p", { class: "warn" }, T.missedMessages(missed)) : null,
    diagram(shown), h("details", {}, h("summary", {}, T.asTable),
      table(T.messages, [T.when, T.protocol, T.from, T.to, T.message], shown.map((m) => [clock(m.us), m.protocol, m.from, m.to, m.name]), T.nothing)));
}

// The part of the page of a UE that records its messages.
export function recorder(supi, context) {
  const problem = h("div"); const state = h("p", { class: "soft", role: "status" }); const result = h("div");
  let left = false; let running = null;
  context.onLeave(() => { left = true; });
  const button = h("button", { class: "main" }, T.recordMessages);
  const stop = h("button", { type: "button", hidden: true, onclick: async () => {
    try { await call("DELETE", `/jobs/${running}`); } catch (error) { showProblem(form, error, problem); }
  } }, T.stopRecording);
  const form = h("form", { class: "inline", onsubmit: async (event) => {
    event.preventDefault();
    fill(problem); fill(result); button.disabled = true;
    let drawn = 0;
    try {
      const started = await post(`/ues/${inPath(supi)}/messages`, { seconds: Number(form.elements["record-seconds"].value) });
      running = started.id; stop.hidden = false;
      state.textContent = T.recording(0);
      const ended = await job(started, (current) => {
        const messages = current.result?.messages ?? [];
        state.textContent = T.recording(messages.length);
        if (messages.length > drawn && !left) { drawn = messages.length; show(result, messages, started.id, current.result.missed); }
      }, () => left);
      const kept = ended.result ?? (await get(`/jobs/${started.id}`)).result;
      state.textContent = T.recorded(kept?.messages?.length ?? 0);
      show(result, kept?.messages ?? [], started.id, kept?.missed);
    } catch (error) { state.textContent = ""; showProblem(form, error, problem); }
    button.disabled = false; stop.hidden = true;
  } }, field("record-seconds", T.seconds, { type: "number", min: 1, max: 600, value: 30, required: true }), button, stop);
  return h("div", {}, h("p", { class: "soft" }, T.recordHint), form, problem, state, result);
}
