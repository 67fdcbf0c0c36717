// gNBs with their tracking areas and cells, the state of interfaces, and quirks.
import { get, post } from "../api.js";
import { confirmed } from "../confirm.js";
import { fill, h, say, table } from "../dom.js";
import { T } from "../text.js";
import { update } from "../update.js";

export async function radio(at, _, context) {
  const list = h("div"); const interfaces = h("div");
  fill(at, list, h("h2", {}, T.interfaces), interfaces);
  async function load() {
    const [gnbs, state, points] = await Promise.all([get("/gnbs"), get("/interfaces"), get("/transmission-points").catch(() => [])]);
    update(list, table(T.gnbs, [T.gnb, T.address, T.trackingAreas, T.connected, T.unverified, T.receivedMessages, ""],
      gnbs.map((gnb) => [
        [h("strong", {}, gnb.name ?? gnb.id), h("div", { class: "soft" }, gnb.id), gnb.deviates && h("div", { class: "warn" }, T.deviates)],
        gnb.address,
        gnb.tracking_areas.map((area) => h("div", {}, `${area.plmn} TAC ${area.tac}: ${area.slices.join(", ")}`)),
        gnb.connected_ues, gnb.unverified_ues, gnb.received_messages,
        context.may("network") ? h("button", { class: "danger", "aria-label": `${T.releaseGnb}: ${gnb.name ?? gnb.id}`, onclick: async () => {
          const name = gnb.name ?? gnb.id;
          if (!await confirmed(T.releaseGnb, T.confirmGnb(name))) return;
          try { say((await post(`/gnbs/${encodeURIComponent(gnb.id)}/release`)).done); } catch (problem) { say(problem.detail); }
          load();
        } }, T.releaseGnb) : "",
      ]), T.nothing, gnbs.map((gnb) => gnb.id)));
    update(interfaces, table(T.interfaces, [T.interface, T.peer, T.state, T.detail], state.interfaces.map((one) => [
      one.interface, one.peer, h("span", { class: one.up ? "good" : "bad" }, one.up ? T.up : T.down), one.detail]), T.nothing),
    h("div", { class: "grid wide" },
      table(T.cells, [T.name, T.source, "PCI", T.latitude, T.longitude], points.map((p) => [p.cell ? `${p.cell} (${p.name})` : p.name, p.source, p.pci, p.latitude.toFixed(5), p.longitude.toFixed(5)]), T.nothing),
      table(T.quirks, [T.function, T.interface, T.quirk, T.peer, T.count], state.quirks.map((q) => [q.function.toUpperCase(), q.interface.toUpperCase(), q.quirk, q.peer, q.count]), T.nothing)));
  }
  await load();
  const timer = setInterval(() => load().catch(() => {}), 5000);
  context.onLeave(() => clearInterval(timer));
  context.events(["gnb"], { gnb: load });
}
