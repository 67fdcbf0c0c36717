//! The report: what a packet costs, and what was asked for.
use super::CASES;
use crate::Output;
use anyhow::Result;
use std::fmt::Write as _;

/// Writes the tables.
pub(super) fn write(output: &mut Output) -> Result<()> {
    output.say(
        "Nanoseconds for each packet of 64 octets, by `BPF_PROG_TEST_RUN` on one core: medians over rounds with 95 % \
         intervals. Every packet is made anew, of a session drawn at random; *made* is what that alone costs, and is part \
         of the others. *bare* takes a tunnel header off or puts one on after one look-up, and does nothing else.\n",
    );
    let mut text = String::from("| sessions, rules | direction | made | bare | xdp | xdp / bare |\n| --- |");
    text.push_str(" --- | --- | --- | --- | --- |\n");
    let value = |variant: &str, point: &str| match output.find(&format!("ns_per_packet.{variant}.{point}.median")) {
        Some(f) if f.unit == "times" => format!("{:.2} [{:.2}, {:.2}]", f.value, f.low, f.high),
        Some(f) => format!("{:.0} [{:.0}, {:.0}]", f.value, f.low, f.high),
        None => "–".into(),
    };
    for case in CASES {
        for direction in ["uplink", "downlink"] {
            let point = format!("{direction}_{}", case.name());
            let row = ["nothing", "bare", "xdp", "xdp_over_bare"].map(|variant| value(variant, &point));
            let _ = writeln!(text, "| {}, {} | {direction} | {} |", case.sessions, case.rules.name(), row.join(" | "));
        }
    }
    text.push_str(
        "\n*far*: one PDR with FAR. *qer*: and a maximum bit rate. *urr*: FAR and a volume threshold. *full*: FAR, ",
    );
    text.push_str(
        "QER with a maximum bit rate, two URRs with thresholds. *pdrs32*: full, behind 31 PDRs that do not match.\n",
    );
    output.say(&text);
    let asked = promises(output);
    output.say(&asked);
    Ok(())
}

fn promises(output: &Output) -> String {
    let of = |variant: &str, point: &str| {
        output.find(&format!("ns_per_packet.{variant}.{point}.median")).map_or(f64::NAN, |figure| figure.value)
    };
    let mut text = String::from("## Asked for\n\n| what | asked | measured | |\n| --- | --- | --- | --- |\n");
    for direction in ["uplink", "downlink"] {
        let at = |rules: &str| format!("{direction}_{rules}");
        let rows = [
            ("60k sessions, over bare", 1.25, of("xdp_over_bare", &at("60000_sessions"))),
            ("100k sessions, over one", 1.3, of("xdp", &at("100000_sessions")) / of("xdp", &at("1_sessions"))),
            ("32 PDRs in a session, over one", 2.0, of("xdp", &at("1_sessions_pdrs32")) / of("xdp", &at("1_sessions"))),
            (
                "32 PDRs in each of 1,000 sessions, over one",
                2.0,
                of("xdp", &at("1000_sessions_pdrs32")) / of("xdp", &at("1000_sessions")),
            ),
        ];
        for (what, most, measured) in rows {
            let reached = if measured <= most { "reached" } else { "**not reached**" };
            let _ = writeln!(text, "| {direction}: {what} | ≤ {most} times | {measured:.2} | {reached} |");
        }
    }
    text
}
