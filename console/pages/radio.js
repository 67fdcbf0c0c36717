// gNBs with their tracking areas and quirks.
import { get, post } from "../api.js";
import { fill, h, say, table } from "../dom.js";
import { T } from "../text.js";

export async function radio(at, _, context) {
  async function load() {
    const gnbs = await get("/gnbs");
    fill(at, table(T.gnbs, [T.gnb, T.address, T.trackingAreas, T.connected, T.unverified, T.receivedMessages, ""],
      gnbs.map((gnb) => [
        [h("strong", {}, gnb.name ?? gnb.id), h("div", { class: "soft" }, gnb.id), gnb.deviates && h("div", { class: "warn" }, T.deviates)],
        gnb.address,
        gnb.tracking_areas.map((area) => h("div", {}, `${area.plmn} TAC ${area.tac}: ${area.slices.join(", ")}`)),
        gnb.connected_ues, gnb.unverified_ues, gnb.received_messages,
        context.may("network") ? h("button", { class: "danger", onclick: async () => {
          const name = gnb.name ?? gnb.id;
          if (!confirm(T.confirmGnb(name))) return;
          try { say((await post(`/gnbs/${gnb.id}/release`)).done); } catch (problem) { say(problem.detail); }
          load();
        } }, T.releaseGnb) : "",
      ]), T.nothing));
  }
  await load();
  const timer = setInterval(() => load().catch(() => {}), 5000);
  context.onLeave(() => clearInterval(timer));
  context.events(["gnb"], { gnb: load });
}
