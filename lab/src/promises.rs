//! The promises of `SPECIFICATION.md` that experiments measure, and their verdicts. Each report has
//! a row for each promise of its experiment. A short run and a debug build judge none.
use crate::Figure;
use serde_json::{Value, json};
use std::fmt::Write as _;

/// How a value keeps a bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sense {
    Maximum,
    Below,
    Minimum,
}

/// One bound of a promise.
#[derive(Debug)]
struct Bound {
    sense: Sense,
    /// In the unit of the promise.
    value: f64,
    /// What a figure is divided by to be in that unit.
    scale: f64,
    /// The IDs of figures; `{a,b}` stands for each of `a` and `b`. The worst of them counts.
    figures: &'static str,
}

/// A promise, as a row of the table *Figures* of `SPECIFICATION.md`.
#[derive(Debug)]
pub(crate) struct Promise {
    lab: &'static str,
    what: &'static str,
    bounds: &'static [Bound],
}

const fn at_most(value: f64, scale: f64, figures: &'static str) -> Bound {
    Bound { sense: Sense::Maximum, value, scale, figures }
}

const fn below(value: f64, scale: f64, figures: &'static str) -> Bound {
    Bound { sense: Sense::Below, value, scale, figures }
}

const fn at_least(value: f64, scale: f64, figures: &'static str) -> Bound {
    Bound { sense: Sense::Minimum, value, scale, figures }
}

const PROMISES: &[Promise] = &[
    Promise {
        lab: "control-plane",
        what: "Registration, one UE: one process, fabric, HTTP/2",
        bounds: &[
            at_most(0.45, 1.0, "registration.local.ues1.p50"),
            at_most(0.75, 1.0, "registration.fabric.ues1.p50"),
            at_most(1.4, 1.0, "registration.http.ues1.p50"),
        ],
    },
    Promise {
        lab: "control-plane",
        what: "PDU session, one UE: one process, fabric, HTTP/2",
        bounds: &[
            at_most(0.25, 1.0, "pdu_session.local.ues1.p50"),
            at_most(0.45, 1.0, "pdu_session.fabric.ues1.p50"),
            at_most(0.8, 1.0, "pdu_session.http.ues1.p50"),
        ],
    },
    Promise {
        lab: "control-plane",
        what: "Tax of a service call beyond a function call: fabric, HTTP/2",
        bounds: &[
            at_most(15.0, 1.0, "tax.fabric.ues1.p50"),
            at_most(60.0, 1.0, "tax.http.ues1.p50"),
        ],
    },
    Promise {
        lab: "control-plane",
        what: "CPU time of a registration and a session: one process, fabric, HTTP/2",
        bounds: &[
            at_most(0.6, 1.0, "cpu_per_ue.local.ues1000"),
            at_most(1.0, 1.0, "cpu_per_ue.fabric.ues1000"),
            at_most(2.0, 1.0, "cpu_per_ue.http.ues1000"),
        ],
    },
    Promise {
        lab: "control-plane",
        what: "First packet to an idle UE, fabric to one process",
        bounds: &[at_most(1.5, 1.0, "first_packet.fabric_over_local.ues1.p50")],
    },
    // A failed procedure ends the experiment.
    Promise {
        lab: "control-plane",
        what: "64 UEs at once: none fails; p99 to p50",
        bounds: &[at_most(
            5.0,
            1.0,
            "{registration,pdu_session,paging}.{local,fabric,http}.ues64.p99_over_p50",
        )],
    },
    Promise {
        lab: "control-plane",
        what: "First gNB set up after the start",
        bounds: &[at_most(300.0, 1.0, "start.local.ng_setup_done.p50")],
    },
    Promise {
        lab: "control-plane",
        what: "RSS with 1,000 UEs with a session, one process",
        bounds: &[at_most(96.0, 1.0, "resident.local.ues1000")],
    },
    Promise {
        lab: "control-plane",
        what: "PSS with 100,000 UEs with a session, one process",
        bounds: &[at_most(1.2, 1000.0, "proportional.local.ues100000")],
    },
    Promise {
        lab: "control-plane",
        what: "The generator's own CPU time per UE: registration and session",
        bounds: &[at_most(0.3, 1.0, "generator_cpu_per_ue.{local,fabric,http}.ues1000")],
    },
    Promise {
        lab: "sbi",
        what: "HTTP/2 over TCP to frames with binary bodies; with JSON; to HTTP/2 over the fabric",
        bounds: &[
            at_least(8.0, 1.0, "roundtrip.http_tcp_over_frame_binary.inflight1.p50"),
            at_least(5.0, 1.0, "roundtrip.http_tcp_over_frame_json.inflight1.p50"),
            at_least(3.0, 1.0, "roundtrip.http_tcp_over_http_fabric.inflight1.p50"),
        ],
    },
    Promise {
        lab: "console",
        what: "Overview of a core with 10,000 UEs: first paint; CPU of ten viewers",
        bounds: &[
            below(1.0, 1000.0, "console.overview.first_paint.p50"),
            below(5.0, 1.0, "console.update.viewers10.more"),
        ],
    },
    Promise {
        lab: "console",
        what: "A page of 100,000 subscribers, 100 and 1,000 rows, p99",
        bounds: &[at_most(20.0, 1.0, "console.page.rows{100,1000}.p99")],
    },
    Promise {
        lab: "console",
        what: "Registration with ten viewers of the console to none",
        bounds: &[at_most(1.02, 1.0, "console.registration.ratio.p50")],
    },
    Promise {
        lab: "console",
        what: "Memory of the API at rest",
        bounds: &[at_most(6.0, 1.0, "console.memory.rest.resident")],
    },
    Promise {
        lab: "idle",
        what: "Ten idle functions: CPU of one core; PSS; PSS in one process",
        bounds: &[
            below(0.5, 1.0, "idle.fabric.cpu"),
            at_most(40.0, 1.0, "idle.fabric.proportional"),
            at_most(25.0, 1.0, "idle.local.proportional"),
        ],
    },
    Promise {
        lab: "memory",
        what: "Memory of a UE with a session at AMF, SMF and UPF",
        bounds: &[at_most(10.0, 1.0, "memory.fabric.connected.amf_smf_upf")],
    },
    Promise {
        lab: "provisioning",
        what: "100,000 subscribers: import as CSV and JSON; its memory; start to an empty core's",
        bounds: &[
            at_most(5.0, 1.0, "import.{csv,json}.subscribers100000.p50"),
            at_most(100.0, 1.0, "import.{csv,json}.subscribers100000.peak"),
            at_most(1.15, 1.0, "start.full_over_empty.subscribers100000.ratio"),
        ],
    },
    Promise {
        lab: "crowd",
        what: "Registration beside 10,000 and 100,000 UEs to one at an empty core",
        bounds: &[at_most(1.15, 1.0, "crowd.registration_over_empty.ues{10000,100000}.p50")],
    },
    Promise {
        lab: "scale",
        what: "10,000 UEs: registrations per second; RSS; restart",
        bounds: &[
            at_least(10_000.0, 1.0, "scale.local.registrations"),
            at_most(400.0, 1.0, "scale.local.resident"),
            at_most(2.0, 1.0, "scale.{local.restart,fabric.restart_smf,fabric.restart_amf}"),
        ],
    },
    Promise {
        lab: "upf",
        what: "XDP with 60,000 sessions to a bare tunnel program",
        bounds: &[at_most(
            1.25,
            1.0,
            "ns_per_packet.xdp_over_bare.{uplink,downlink}_60000_sessions.median",
        )],
    },
    Promise {
        lab: "upf",
        what: "XDP with 60,000 sessions to one session",
        bounds: &[at_most(1.8, 1.0, "ns_per_packet.xdp_60000_over_1.{uplink,downlink}.median")],
    },
    Promise {
        lab: "upf",
        what: "NAT in XDP",
        bounds: &[at_most(
            60.0,
            1.0,
            "ns_per_packet.cost_of_nat.{uplink,downlink}_{1,60000}_sessions.median",
        )],
    },
    Promise {
        lab: "upf",
        what: "XDP over veth: packets per second; to `kernel`",
        bounds: &[
            at_least(2.31, 1e6, "pps.xdp.{uplink,downlink}_64.median"),
            at_least(8.0, 1.0, "pps.xdp_over_kernel.{uplink,downlink}_64"),
        ],
    },
    Promise {
        lab: "upf",
        what: "N4 sessions per second; memory with 100,000",
        bounds: &[
            at_least(10_000.0, 1.0, "n4.xdp.establish_100000"),
            at_most(200.0, 1.0, "resident_whole.xdp.sessions100000"),
        ],
    },
    Promise {
        lab: "upf",
        what: "N4: a session beside 100,000 others to one beside one",
        bounds: &[at_most(1.15, 1.0, "n4.xdp.session_beside_100000_over_1")],
    },
    Promise {
        lab: "upf",
        what: "Memory with 1,000,000 sessions, with all BPF maps",
        bounds: &[at_most(2.0, 1000.0, "memory.xdp.sessions1000000")],
    },
    Promise {
        lab: "switch",
        what: "Switch in memory: decapsulations, encapsulations per second",
        bounds: &[
            at_least(8.0, 1e6, "pps.switch.decap_64_memory.median"),
            at_least(6.0, 1e6, "pps.switch.encap_64_memory.median"),
        ],
    },
    Promise {
        lab: "switch",
        what: "Switch over links (XDP engine) to `kernel`; median latency to `kernel`",
        bounds: &[
            at_least(
                10.0,
                1.0,
                "pps.switch_xdp_over_kernel.{uplink,downlink}_64_1u_1r_interface.loss_free",
            ),
            at_most(
                0.2,
                1.0,
                "latency.switch_xdp_over_kernel.{uplink,downlink}_64_1u_1r_interface.p50",
            ),
        ],
    },
    Promise {
        lab: "switch",
        what: "Hot session on the switch; 1,000 rules; 100,000 rules",
        bounds: &[
            at_most(500.0, 1.0, "offload.{switch,switch_xdp}.hot_to_offloaded.slowest"),
            at_most(50.0, 1.0, "rules_issued.{switch,switch_xdp}.1000_under_traffic"),
            at_most(5.0, 1000.0, "rules_issued.{switch,switch_xdp}.100000_under_traffic"),
        ],
    },
    Promise {
        lab: "lcs-upp",
        what: "LCS-UPP over rustls to plain TCP: up to 1,024 bytes; above",
        bounds: &[
            at_most(
                1.15,
                1.0,
                "transport_time.rustls_over_raw_tcp.n{1,2,4,8,16,32,64,128,256,512,1024}\
                 _loopback.p50",
            ),
            at_most(
                1.6,
                1.0,
                "transport_time.rustls_over_raw_tcp.n{2048,4096,8192,16384,32768,65535}\
                 _loopback.p50",
            ),
        ],
    },
    Promise {
        lab: "lcs-upp",
        what: "LCS-UPP to plain TCP: rustls with 64 KiB; QUIC with 16 and 64 KiB",
        bounds: &[
            at_most(1.5, 1.0, "transport_time.rustls_over_raw_tcp.n65535_loopback.p50"),
            at_most(2.0, 1.0, "transport_time.quinn_over_raw_tcp.n{16384,65535}_loopback.p50"),
        ],
    },
    Promise {
        lab: "control-plane",
        what: "A position by E-CID over the user plane",
        bounds: &[at_most(3.0, 1.0, "position.local.e_cid.p50")],
    },
];

/// The verdict of a run on a promise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Met,
    NotMet,
    NotMeasured,
}

impl Verdict {
    fn name(self) -> &'static str {
        match self {
            Verdict::Met => "kept",
            Verdict::NotMet => "**not kept**",
            Verdict::NotMeasured => "not measured",
        }
    }
}

/// The IDs of a pattern, with each of the alternatives in braces.
fn expanded(pattern: &str) -> Vec<String> {
    let Some((before, (inside, after))) =
        pattern.split_once('{').and_then(|(before, rest)| Some((before, rest.split_once('}')?)))
    else {
        return vec![pattern.into()];
    };
    let rest = expanded(after);
    inside
        .split(',')
        .flat_map(|one| rest.iter().map(move |rest| format!("{before}{one}{rest}")))
        .collect()
}

impl Bound {
    /// The worst value, in the unit of the promise; `None` unless all figures were measured.
    fn measured(&self, figures: &[Figure]) -> Option<f64> {
        let value = |id: String| {
            let found = figures.iter().find(|figure| figure.id == id)?;
            Some(found.value / self.scale).filter(|value| value.is_finite())
        };
        let all: Option<Vec<f64>> = expanded(self.figures).into_iter().map(value).collect();
        let worst = |one: f64, other: f64| match self.sense {
            Sense::Minimum => one.min(other),
            Sense::Maximum | Sense::Below => one.max(other),
        };
        all?.into_iter().reduce(worst)
    }

    fn is_met(&self, measured: f64) -> bool {
        match self.sense {
            Sense::Maximum => measured <= self.value,
            Sense::Below => measured < self.value,
            Sense::Minimum => measured >= self.value,
        }
    }

    fn text(&self) -> String {
        let sign = match self.sense {
            Sense::Maximum => '≤',
            Sense::Below => '<',
            Sense::Minimum => '≥',
        };
        let unit = if self.scale == 1e6 { " million" } else { "" };
        format!("{sign} {}{unit}", self.value)
    }
}

impl Promise {
    /// The measured values, and the verdict.
    fn judge(&self, figures: &[Figure], claims: bool) -> (Vec<Option<f64>>, Verdict) {
        let values: Vec<_> = self.bounds.iter().map(|bound| bound.measured(figures)).collect();
        let met = self
            .bounds
            .iter()
            .zip(&values)
            .map(|(bound, value)| value.filter(|_| claims).map(|value| bound.is_met(value)));
        let met: Vec<Option<bool>> = met.collect();
        let verdict = if met.contains(&Some(false)) {
            Verdict::NotMet
        } else if met.contains(&None) {
            Verdict::NotMeasured
        } else {
            Verdict::Met
        };
        (values, verdict)
    }
}

fn of(lab: &str) -> impl Iterator<Item = &'static Promise> {
    PROMISES.iter().filter(move |promise| promise.lab == lab)
}

/// The bound of a promised figure, as the table has it.
pub(crate) fn bound(lab: &str, figure: &str) -> Option<String> {
    let mut bounds = of(lab).flat_map(|promise| promise.bounds);
    let has = |bound: &&Bound| expanded(bound.figures).iter().any(|id| id == figure);
    bounds.find(has).map(Bound::text)
}

/// The table for the report of an experiment; empty where none of its figures is promised. Without
/// `claims` no value is judged.
pub(crate) fn table(lab: &str, figures: &[Figure], claims: bool) -> String {
    let mut text = String::new();
    for promise in of(lab) {
        let (values, verdict) = promise.judge(figures, claims);
        let value = |value: &Option<f64>| value.map_or("–".into(), |value| format!("{value:.2}"));
        let bounds: Vec<String> = promise.bounds.iter().map(Bound::text).collect();
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} |",
            promise.what,
            bounds.join("; "),
            values.iter().map(value).collect::<Vec<_>>().join("; "),
            verdict.name()
        );
    }
    if text.is_empty() {
        return text;
    }
    let mut whole =
        String::from("## Promises of SPECIFICATION.md\n\nOf several figures the worst is given.\n");
    if !claims {
        whole += "\nThis is a short run, or a debug build: it judges no promise.\n";
    }
    whole + "\n| promise | bound | measured | |\n| --- | --- | --- | --- |\n" + &text
}

/// The same for the summary.
pub(crate) fn summary(lab: &str, figures: &[Figure], claims: bool) -> Vec<Value> {
    of(lab)
        .map(|promise| {
            let (values, verdict) = promise.judge(figures, claims);
            let bounds: Vec<String> = promise.bounds.iter().map(Bound::text).collect();
            let verdict = verdict.name().trim_matches('*');
            json!({"promise": promise.what, "bounds": bounds, "measured": values,
                   "verdict": verdict})
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A row of the table *Figures* of `SPECIFICATION.md`: promise, bound, command.
    fn rows() -> Vec<[String; 3]> {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../SPECIFICATION.md");
        let text = std::fs::read_to_string(path).unwrap();
        let section = text.split("\n## Figures\n").nth(1).unwrap().split("\n## ").next().unwrap();
        let cells = |line: &str| -> Option<[String; 3]> {
            let all: Vec<String> =
                line.trim_matches('|').split(" | ").map(|cell| cell.trim().into()).collect();
            all.try_into().ok()
        };
        let lines = section.lines().filter(|line| line.starts_with("| ")).skip(2);
        lines.map(|line| cells(line).unwrap_or_else(|| panic!("{line}"))).collect()
    }

    /// The signs and numbers of a cell such as `≥ 1,000; ≤ 400 MB; 2 s`.
    fn bounds(cell: &str) -> Vec<(Sense, f64)> {
        let mut sense = None;
        let mut all = Vec::new();
        for word in cell.split([' ', ';']).filter(|word| !word.is_empty()) {
            match word {
                "≤" => sense = Some(Sense::Maximum),
                "<" => sense = Some(Sense::Below),
                "≥" => sense = Some(Sense::Minimum),
                _ => {
                    let number = word.trim_end_matches(',').replace(',', "");
                    all.extend(number.parse().ok().map(|number| (sense.unwrap(), number)));
                }
            }
        }
        all
    }

    #[test]
    fn each_figure_of_the_specification_has_a_row_in_the_report_of_its_lab() {
        let rows = rows();
        for [what, bound, command] in &rows {
            let words = command.trim_matches('`').strip_prefix("martlet-lab ");
            let words = words.unwrap_or_else(|| panic!("{what}: no experiment in {command}"));
            let lab = words.split(' ').next().unwrap();
            let promise = of(lab).find(|promise| promise.what == what);
            let promise = promise.unwrap_or_else(|| panic!("no row of {lab} for {what:?}"));
            let ours: Vec<_> = promise.bounds.iter().map(|it| (it.sense, it.value)).collect();
            assert_eq!(ours, bounds(bound), "{what}");
        }
        for promise in PROMISES {
            let is_promised = rows.iter().any(|[what, ..]| what == promise.what);
            assert!(is_promised, "SPECIFICATION.md has no {:?}", promise.what);
        }
    }

    #[test]
    fn a_figure_has_the_bound_of_its_promise() {
        let of_scale = |id: &str| bound("scale", &format!("scale.{id}"));
        assert_eq!(of_scale("local.registrations").as_deref(), Some("≥ 10000"));
        assert_eq!(of_scale("fabric.restart_amf").as_deref(), Some("≤ 2"));
        assert_eq!(of_scale("local.storm_lost"), None);
    }

    fn figure(id: &str, value: f64) -> Figure {
        Figure::once(id, "", value)
    }

    #[test]
    fn a_promise_is_met_by_the_worst_of_all_its_figures() {
        let nat = PROMISES.iter().find(|promise| promise.what == "NAT in XDP").unwrap();
        let ids = expanded(nat.bounds[0].figures);
        assert_eq!(ids.len(), 4);
        let mut figures: Vec<Figure> = ids.iter().map(|id| figure(id, 50.0)).collect();
        assert_eq!(nat.judge(&figures, true), (vec![Some(50.0)], Verdict::Met));
        figures[2].value = 60.5;
        assert_eq!(nat.judge(&figures, true), (vec![Some(60.5)], Verdict::NotMet));
        figures.pop();
        assert_eq!(nat.judge(&figures, true), (vec![None], Verdict::NotMeasured));
    }

    #[test]
    fn a_short_run_judges_no_promise() {
        let figures = [
            figure("idle.fabric.cpu", 9.0),
            figure("idle.fabric.proportional", 1.0),
            figure("idle.local.proportional", 2.0),
        ];
        let of_full = table("idle", &figures, true);
        assert!(of_full.contains("9.00; 1.00; 2.00 | **not kept** |"), "{of_full}");
        let of_short = table("idle", &figures, false);
        assert!(of_short.contains("| not measured |") && !of_short.contains("kept"), "{of_short}");
        assert_eq!(summary("idle", &figures, false)[0]["verdict"], "not measured");
        assert_eq!(table("compare", &figures, true), "");
    }
}
