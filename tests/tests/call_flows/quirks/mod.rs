//! Each entry of the tables of interop quirks: a peer shows the deviation, which is tolerated and
//! counted, and refused with `strict: true`.
//!
//! The matches are exhaustive, so that a new entry needs a test.
use anyhow::{Context, Result, ensure};
use martlet::config::Config;
use martlet_interop::{Interface, Quirk};
use martlet_tests::{MetricDelta, TestCore, in_namespace};
use std::pin::Pin;
use std::time::Duration;

mod charging;
mod n1;
mod n2;
mod n3;
mod n4;
pub mod sbi;
pub mod subscription_data;
mod tokens;

/// How long an answer is awaited where none is due, as the sign of a refusal.
const SOON: Duration = Duration::from_millis(500);
/// How long one is awaited that is due: a busy machine takes longer than [`SOON`].
const DUE: Duration = Duration::from_secs(30);

/// The configuration of `strict: true`.
fn strict(config: &mut Config) {
    config.strict = true;
    config.apply_strict();
}

fn with_strictness(is_strict: bool) -> impl FnOnce(&mut Config) {
    move |config| {
        if is_strict {
            strict(config);
        }
    }
}

/// Whether a quirk was tolerated. The core of the play is handed back for its status.
type Play<'a> = Pin<Box<dyn Future<Output = Result<bool>> + 'a>>;

/// Plays each quirk of a table without and with `strict`, each in a network namespace of its own.
fn check<Q: Quirk + Send + Sync>(
    nf: fn(Q) -> &'static str,
    play: for<'a> fn(Q, bool, &'a mut Option<TestCore>) -> Play<'a>,
) {
    for quirk in Q::ALL {
        for is_strict in [false, true] {
            in_namespace(move || check_one(*quirk, is_strict, nf(*quirk), play));
        }
    }
}

async fn check_one<Q: Quirk>(
    quirk: Q,
    is_strict: bool,
    nf: &'static str,
    play: for<'a> fn(Q, bool, &'a mut Option<TestCore>) -> Play<'a>,
) -> Result<()> {
    let (interface, name) = (Q::INTERFACE.name(), quirk.description().name);
    let counted = MetricDelta::of(
        "martlet_interop_quirks_total",
        &[("interface", interface), ("quirk", name)],
    );
    let mut core = None;
    let tolerated = play(quirk, is_strict, &mut core)
        .await
        .with_context(|| format!("{interface} {name}, strict: {is_strict}"))?;
    ensure!(tolerated != is_strict, "{interface} {name}: strict {is_strict}: {tolerated}");
    if is_strict {
        return Ok(());
    }
    // The datapath counts packets by itself.
    ensure!(Q::INTERFACE == Interface::N3 || counted.get() >= 1.0, "{name} not counted");
    let status = core.context("the play has no core")?.status(nf);
    let mut listed = status["quirks"].as_array().into_iter().flatten();
    let shown = listed.any(|entry| entry["interface"] == interface && entry["quirk"] == name);
    ensure!(shown, "{name}: not in the status: {status}");
    Ok(())
}

/// `docs/interop.md` has the tables.
#[test]
fn the_page_has_the_tables() -> Result<()> {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/interop.md");
    let page = std::fs::read_to_string(&path)?;
    let (before, rest) = page.split_once("<!-- quirks -->\n").context("no mark of the tables")?;
    let (_, after) = rest.split_once("<!-- end of the quirks -->\n").context("no end mark")?;
    let tables = martlet_interop::all_markdown();
    let now = format!("{before}<!-- quirks -->\n\n{tables}\n<!-- end of the quirks -->\n{after}");
    if std::env::var_os("MARTLET_WRITE_DOCS").is_some() {
        std::fs::write(&path, &now)?;
        return Ok(());
    }
    ensure!(page == now, "write `martlet reference quirks` there (MARTLET_WRITE_DOCS=1 does it)");
    Ok(())
}
