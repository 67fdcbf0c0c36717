//! `martlet locate`: the position of a UE.
use super::subscriber::supi;
use crate::core_client::{CoreClient, Request};
use crate::oam_client::OamArgs;
use crate::runtime;
use anyhow::{Context, Result, bail};
use clap::Args;
use hyper::Method;
use martlet_lcs_position::GeoPoint;
use martlet_sbi::path_segment;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Timeout of one position.
const TIMEOUT: Duration = Duration::from_secs(60);

/// The description in `martlet locate --help`.
pub const ABOUT: &str = "\
Locate a UE: once, or with --every repeatedly while it moves

The core has to run with its LMF, and the UE has to be registered. The LMF requests measurements
from the UE, over the user plane (LCS-UPP) if the UE supports it, else over NAS, or from its gNB.
It uses the best method that UE and gNBs support: the UE's satellite receiver, multi-RTT, DL-TDOA,
NR E-CID, or the cell. The positions of cells, and the address for LCS-UPP, are in section `lmf` of
the configuration: see `martlet defaults`.";

/// Arguments of the command.
#[derive(Args)]
pub struct LocateArgs {
    /// IMSI of the UE, such as imsi-001010000000001, or nai-user@realm
    imsi: String,
    #[command(flatten)]
    oam: OamArgs,
    /// Locate repeatedly at an interval, such as 1s or 500ms
    #[arg(long, value_name = "TIME", value_parser = interval)]
    every: Option<Duration>,
    /// With --every: stop after a number of positions [default: run until Ctrl-C]
    #[arg(long, requires = "every", value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,
    /// Show the error of the position, in JSON as `truth`. A simulated UE writes its true position
    /// into this folder
    #[arg(long, value_name = "FOLDER")]
    truth: Option<PathBuf>,
    /// Print JSON: LocationData (TS 29.572), and the transport in `userPlane`; with --every, one
    /// line for each position
    #[arg(long)]
    json: bool,
}

/// An interval that cannot be used.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
enum IntervalError {
    #[error("{0:?} is not a time: write 1s, 500ms or 2min")]
    NotATime(String),
    #[error("the interval has to be between 10ms and one day")]
    OutOfRange,
}

/// Parses an interval such as `1s`, `500ms` or `2min`.
fn interval(text: &str) -> Result<Duration, IntervalError> {
    let wrong = || IntervalError::NotATime(text.into());
    let unit = text.find(|c: char| !c.is_ascii_digit() && c != '.').ok_or_else(wrong)?;
    let number: f64 = text[..unit].parse().map_err(|_| wrong())?;
    let seconds = match text[unit..].trim() {
        "ms" => number / 1000.0,
        "s" => number,
        "min" => number * 60.0,
        _ => return Err(wrong()),
    };
    match (0.01..=86_400.0).contains(&seconds) {
        true => Ok(Duration::from_secs_f64(seconds)),
        false => Err(IntervalError::OutOfRange),
    }
}

/// Requests the position of a UE: LocationData of TS 29.572, and the transport in `userPlane`.
async fn request(core: &CoreClient, supi: &str) -> Result<Value> {
    let segment = path_segment(supi);
    let (path, question) = (format!("/ues/{segment}/location"), format!("locate/{segment}"));
    let request = Request::get(path, "lmf", &question)
        .change(Method::POST, None)
        .or_say("no LMF is running")
        .within(TIMEOUT);
    core.send(request).await.with_context(|| format!("{supi} was not located"))
}

/// Runs the command.
pub fn run(args: LocateArgs) -> Result<()> {
    let supi = supi(&args.imsi);
    let is_imsi = supi.strip_prefix("imsi-").is_some_and(|digits| {
        (1..=15).contains(&digits.len()) && digits.bytes().all(|digit| digit.is_ascii_digit())
    });
    if !is_imsi && !martlet_store::is_supi(&supi) {
        bail!(
            "{:?} is not an IMSI: write up to fifteen digits, such as imsi-001010000000001, or \
             nai-user@realm",
            args.imsi
        );
    }
    let core = args.oam.client()?;
    match args.every {
        Some(every) => runtime::block_on(repeat(&core, &supi, every, &args)),
        None => runtime::block_on(once(&core, &supi, &args)),
    }
}

async fn once(core: &CoreClient, supi: &str, args: &LocateArgs) -> Result<()> {
    let start = Instant::now();
    let mut position = request(core, supi).await?;
    if args.json {
        add_truth(&mut position, supi, args)?;
        println!("{}", serde_json::to_string_pretty(&position)?);
        return Ok(());
    }
    println!("{}", render(supi, &position, start.elapsed()));
    if let Some(folder) = &args.truth {
        let (_, metres) = truth(&folder.join(supi), &position)?;
        println!("  {metres:.1} m from the true position");
    }
    Ok(())
}

/// Locates a UE at an interval. A failure after the first position is printed, and the next attempt
/// follows.
async fn repeat(core: &CoreClient, supi: &str, every: Duration, args: &LocateArgs) -> Result<()> {
    let mut ticks = tokio::time::interval(every);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Skip);
    let (began, mut last) = (Instant::now(), None);
    for _ in 0..args.count.unwrap_or(u64::MAX) {
        ticks.tick().await;
        let start = Instant::now();
        let mut position = match request(core, supi).await {
            Ok(position) => position,
            // A first attempt that fails is an error of the command.
            Err(error) if last.is_none() => return Err(error),
            Err(error) => {
                eprintln!("{:8.1} s  {error:#}", began.elapsed().as_secs_f64());
                continue;
            }
        };
        if args.json {
            add_truth(&mut position, supi, args)?;
            println!("{position}");
        } else {
            if last.is_none() {
                println!("{supi}, every {every:?}; {}", transport(&position));
            }
            let mut line = line(start - began, &position, start.elapsed());
            if let Some(folder) = &args.truth {
                line += &format!("  {:6.1} m off", truth(&folder.join(supi), &position)?.1);
            }
            println!("{line}");
        }
        last = Some(position);
    }
    Ok(())
}

/// A position on one line.
fn line(at: Duration, position: &Value, elapsed: Duration) -> String {
    let area = &position["locationEstimate"];
    let number = |value: &Value| value.as_f64().unwrap_or(f64::NAN);
    format!(
        "{:8.1} s  {:10.6}, {:11.6}  within {:5.0} m  {:9}  {:6.1} ms",
        at.as_secs_f64(),
        number(&area["point"]["lat"]),
        number(&area["point"]["lon"]),
        number(&area["uncertaintyEllipse"]["semiMajor"]),
        method(position),
        elapsed.as_secs_f64() * 1000.0,
    )
}

/// The positioning method.
fn method(position: &Value) -> &str {
    let gnss = position["gnssPositioningDataList"][0]["gnss"].as_str();
    gnss.or(position["positioningDataList"][0]["method"].as_str()).unwrap_or("?")
}

/// The transport of LPP messages, and the reason for it.
fn transport(position: &Value) -> String {
    let user_plane = &position["userPlane"];
    match (user_plane["transport"].as_str(), user_plane["channel"].as_str()) {
        (Some(transport), Some(channel)) => {
            let why = user_plane["why"].as_str().unwrap_or("?");
            format!("over the user plane, {transport} ({channel}; {why})")
        }
        _ => "not over the user plane: over NAS, or from the gNB".into(),
    }
}

/// Adds the true position and the error in metres, if their folder is given.
fn add_truth(position: &mut Value, supi: &str, args: &LocateArgs) -> Result<()> {
    if let Some(folder) = &args.truth {
        let (at, metres) = truth(&folder.join(supi), position)?;
        position["truth"] = json!({"lat": at.lat, "lon": at.lon, "error": metres});
    }
    Ok(())
}

/// The true position in a file, and its distance in metres from a position.
fn truth(file: &std::path::Path, position: &Value) -> Result<(GeoPoint, f64)> {
    let text = std::fs::read_to_string(file)
        .with_context(|| format!("{}: no simulated UE has written it", file.display()))?;
    let numbers: Vec<f64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    let [lat, lon] = numbers[..] else {
        bail!("{}: not a latitude and a longitude", file.display())
    };
    let point = &position["locationEstimate"]["point"];
    let number = |name: &str| point[name].as_f64().context("the position has no point");
    let found = GeoPoint { lat: number("lat")?, lon: number("lon")? };
    let truth = GeoPoint { lat, lon };
    Ok((truth, found.distance(&truth)))
}

/// A position as text.
fn render(supi: &str, position: &Value, elapsed: Duration) -> String {
    let area = &position["locationEstimate"];
    let number = |value: &Value| value.as_f64().unwrap_or(f64::NAN);
    let (lat, lon) = (number(&area["point"]["lat"]), number(&area["point"]["lon"]));
    let ellipse = &area["uncertaintyEllipse"];
    format!(
        "{supi} is at {lat:.6}, {lon:.6}\n  within {:.0} m by {:.0} m, {} degrees from north, \
         with {} % confidence\n  located by {} in {:.1} ms, {}",
        number(&ellipse["semiMajor"]),
        number(&ellipse["semiMinor"]),
        ellipse["orientationMajor"],
        area["confidence"],
        method(position),
        elapsed.as_secs_f64() * 1000.0,
        transport(position),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_is_printed_as_text() {
        let position = serde_json::json!({
            "locationEstimate": {
                "shape": "POINT_UNCERTAINTY_ELLIPSE",
                "point": {"lat": 54.09241, "lon": 12.0991},
                "uncertaintyEllipse": {"semiMajor": 12.4, "semiMinor": 3.6, "orientationMajor": 30},
                "confidence": 95
            },
            "positioningDataList": [{"method": "NR_ECID"}],
            "userPlane": {"channel": "rustls", "transport": "TLS over TCP", "why": "auto"}
        });
        let text = render("imsi-001010000000001", &position, Duration::from_micros(1250));
        assert_eq!(
            text,
            "imsi-001010000000001 is at 54.092410, 12.099100\n  within 12 m by 4 m, 30 degrees \
             from north, with 95 % confidence\n  located by NR_ECID in 1.2 ms, over the user \
             plane, TLS over TCP (rustls; auto)"
        );
        let line = line(Duration::from_millis(3_140), &position, Duration::from_micros(1250));
        assert_eq!(
            line,
            "     3.1 s   54.092410,   12.099100  within    12 m  NR_ECID       1.2 ms"
        );
        let without = serde_json::json!({"userPlane": null});
        assert!(transport(&without).starts_with("not over the user plane"));
    }

    #[test]
    fn intervals_are_parsed_and_checked() {
        assert_eq!(interval("1s"), Ok(Duration::from_secs(1)));
        assert_eq!(interval("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(interval("1.5min"), Ok(Duration::from_secs(90)));
        for wrong in ["1", "s", "", "1h", "-1s", "0s", "1ms", "1.2.3s", "9999min"] {
            assert!(interval(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_error_is_the_distance_to_the_true_position() {
        let file = std::env::temp_dir().join(format!("martlet-truth-{}", std::process::id()));
        std::fs::write(&file, "54.0924 12.0991\n").unwrap();
        let position =
            serde_json::json!({"locationEstimate": {"point": {"lat": 54.0925, "lon": 12.0991}}});
        let (at, metres) = truth(&file, &position).unwrap();
        assert_eq!((at.lat, at.lon), (54.0924, 12.0991));
        assert!((metres - 11.12).abs() < 0.01, "{metres}");
        std::fs::write(&file, "54.0924").unwrap();
        assert!(truth(&file, &position).is_err());
        std::fs::remove_file(&file).unwrap();
        assert!(
            truth(&file, &position)
                .unwrap_err()
                .to_string()
                .contains("no simulated UE has written it")
        );
    }
}
