//! `martlet locate`: where a phone is.
use crate::{oam_client, runtime};
use anyhow::{Context, Result, bail};
use clap::Args;
use martlet::config::Config;
use martlet_lcs_position::Place;
use serde_json::Value;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// How long a position may take.
const LIMIT: Duration = Duration::from_secs(60);

/// Finds where a phone is.
#[derive(Args)]
pub struct LocateArgs {
    /// The phone's IMSI, such as imsi-001010000000001
    imsi: String,
    /// Configuration of the core
    #[arg(short, long)]
    config: Option<PathBuf>,
    /// Address of the core's status endpoint, in place of the configuration's `oam.bind`
    #[arg(long)]
    at: Option<SocketAddr>,
    /// The folder in which a simulated phone leaves where it is in truth: the error of the answer is shown
    #[arg(long)]
    truth: Option<PathBuf>,
    /// As JSON
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(args: LocateArgs) -> Result<()> {
    let supi = if args.imsi.starts_with("imsi-") { args.imsi.clone() } else { format!("imsi-{}", args.imsi) };
    if !supi["imsi-".len()..].bytes().all(|digit| digit.is_ascii_digit()) {
        bail!("{:?} is no IMSI: write up to fifteen digits, such as imsi-001010000000001", args.imsi);
    }
    // With one process for each function, the LMF has an endpoint of its own.
    let (first, second) = match args.at {
        Some(address) => (address, None),
        None => {
            let oam = Config::load(args.config.as_deref())?.oam;
            (oam.bind, Some(oam.of("lmf")))
        }
    };
    let start = Instant::now();
    let path = format!("/ask/locate/{supi}");
    let answer = runtime::block_on(async {
        let answer = oam_client::ask(first, &path, LIMIT).await;
        match (answer, second) {
            (Ok((404, body)), Some(second)) if body.is_null() => oam_client::ask(second, &path, LIMIT).await,
            (answer, _) => answer,
        }
    });
    let (status, position) = answer.context("the core was not asked")?;
    if status != 200 {
        let detail = position["detail"].as_str().unwrap_or("no LMF runs there");
        bail!("{supi} was not found: {detail}");
    }
    if args.json {
        println!("{}", serde_json::to_string_pretty(&position)?);
    } else {
        println!("{}", render(&supi, &position, start.elapsed()));
        if let Some(folder) = &args.truth {
            println!("  {:.1} m from where it is in truth", error(&folder.join(&supi), &position)?);
        }
    }
    Ok(())
}

/// Metres between a position and what a simulated phone left in a file.
fn error(file: &std::path::Path, position: &Value) -> Result<f64> {
    let text = std::fs::read_to_string(file).with_context(|| format!("{}: no phone left it", file.display()))?;
    let numbers: Vec<f64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    let [lat, lon] = numbers[..] else { bail!("{}: is no latitude and longitude", file.display()) };
    let point = &position["locationEstimate"]["point"];
    let number = |name: &str| point[name].as_f64().context("a position without a point");
    let found = Place { lat: number("lat")?, lon: number("lon")? };
    Ok(found.distance(&Place { lat, lon }))
}

/// A position as a person reads it.
fn render(supi: &str, position: &Value, took: Duration) -> String {
    let area = &position["locationEstimate"];
    let number = |value: &Value| value.as_f64().unwrap_or(f64::NAN);
    let (lat, lon) = (number(&area["point"]["lat"]), number(&area["point"]["lon"]));
    let ellipse = &area["uncertaintyEllipse"];
    let gnss = position["gnssPositioningDataList"][0]["gnss"].as_str();
    let method = gnss.or(position["positioningDataList"][0]["method"].as_str());
    format!(
        "{supi} is at {lat:.6}, {lon:.6}\n  within {:.0} m by {:.0} m, {} degrees from north, with {} % confidence\n  \
         found by {} in {:.1} ms",
        number(&ellipse["semiMajor"]),
        number(&ellipse["semiMinor"]),
        ellipse["orientationMajor"],
        area["confidence"],
        method.unwrap_or("?"),
        took.as_secs_f64() * 1000.0,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_is_lines_that_a_person_reads() {
        let position = serde_json::json!({
            "locationEstimate": {
                "shape": "POINT_UNCERTAINTY_ELLIPSE",
                "point": {"lat": 54.09241, "lon": 12.0991},
                "uncertaintyEllipse": {"semiMajor": 12.4, "semiMinor": 3.6, "orientationMajor": 30},
                "confidence": 95
            },
            "positioningDataList": [{"method": "NR_ECID"}]
        });
        let text = render("imsi-001010000000001", &position, Duration::from_micros(1250));
        assert_eq!(
            text,
            "imsi-001010000000001 is at 54.092410, 12.099100\n  within 12 m by 4 m, 30 degrees from north, with 95 % \
             confidence\n  found by NR_ECID in 1.2 ms"
        );
    }

    #[test]
    fn the_error_is_the_way_from_the_answer_to_the_truth() {
        let file = std::env::temp_dir().join(format!("martlet-truth-{}", std::process::id()));
        std::fs::write(&file, "54.0924 12.0991\n").unwrap();
        let position = serde_json::json!({"locationEstimate": {"point": {"lat": 54.0925, "lon": 12.0991}}});
        let metres = error(&file, &position).unwrap();
        assert!((metres - 11.12).abs() < 0.01, "{metres}");
        std::fs::write(&file, "54.0924").unwrap();
        assert!(error(&file, &position).is_err());
        std::fs::remove_file(&file).unwrap();
        assert!(error(&file, &position).unwrap_err().to_string().contains("no phone left it"));
    }
}
