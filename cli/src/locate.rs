//! `martlet locate`: where a phone is.
use crate::{oam_client, runtime};
use anyhow::{Context, Result, bail};
use clap::Args;
use martlet::config::Config;
use martlet_lcs_position::GeoPoint;
use serde_json::Value;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// How long a position may take.
const LIMIT: Duration = Duration::from_secs(60);

/// What `martlet locate --help` begins with.
pub const ABOUT: &str = "\
Find where a phone is: once, or with --every again and again while it moves

The core has to run with its LMF, and the phone to be registered. The LMF asks the phone for \
                         measurements, over the user plane (LCS-UPP) where the
phone has that, else over NAS, or asks its gNB. It takes the best method that phone and gNBs have: \
                         the phone's own satellite receiver, round trips
(multi-RTT), differences of times (DL-TDOA), how loud the phone hears cells (NR E-CID), or its \
                         cell. Where cells are, and how the LMF listens for
phones, `lmf` of the configuration says: see `martlet defaults`.";

/// Whom to find, and how to tell it.
#[derive(Args)]
pub struct LocateArgs {
    /// The phone's IMSI, such as imsi-001010000000001
    imsi: String,
    /// Configuration of the core
    #[arg(short, long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Address of the core's status endpoint, in place of the configuration's `oam.bind`
    #[arg(long, value_name = "ADDRESS:PORT")]
    at: Option<SocketAddr>,
    /// Ask again and again, so often: such as 1s or 500ms. A phone that is asked in a row can keep
    /// its radio's grant between answers: `rouse_ms` of a simulated phone's `positioning`
    #[arg(long, value_name = "TIME", value_parser = interval)]
    every: Option<Duration>,
    /// With --every: end after so many positions; left out: go on until Ctrl-C
    #[arg(long, requires = "every", value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,
    /// The folder in which a simulated phone leaves where it is in truth: the error of the answer
    /// is shown
    #[arg(long, value_name = "FOLDER")]
    truth: Option<PathBuf>,
    /// As JSON: LocationData of TS 29.572, and `userPlane`, over what the phone was asked; with
    /// --every, one line each
    #[arg(long)]
    json: bool,
}

/// A time between two questions, from `1s`, `500ms` or `2min`.
fn interval(text: &str) -> Result<Duration, String> {
    let wrong = || format!("{text:?} is no time: write 1s, 500ms or 2min");
    let digits = text.find(|it: char| !it.is_ascii_digit() && it != '.').ok_or_else(wrong)?;
    let number: f64 = text[..digits].parse().map_err(|_| wrong())?;
    let seconds = match text[digits..].trim() {
        "ms" => number / 1000.0,
        "s" => number,
        "min" => number * 60.0,
        _ => return Err(wrong()),
    };
    match (0.01..=86_400.0).contains(&seconds) {
        true => Ok(Duration::from_secs_f64(seconds)),
        false => Err("at least 10ms, and at most a day".into()),
    }
}

/// Where the core is asked.
struct Core {
    first: SocketAddr,
    second: Option<SocketAddr>,
}

impl Core {
    async fn locate(&self, supi: &str) -> Result<Value> {
        let path = format!("/ask/locate/{supi}");
        let answer = oam_client::ask(self.first, &path, LIMIT).await;
        let answer = match (answer, self.second) {
            (Ok((404, body)), Some(second)) if body.is_null() => {
                oam_client::ask(second, &path, LIMIT).await
            }
            (answer, _) => answer,
        };
        let (status, position) = answer.context("the core was not asked")?;
        if status != 200 {
            let detail = position["detail"].as_str().unwrap_or("no LMF runs there");
            bail!("{supi} was not found: {detail}");
        }
        Ok(position)
    }
}

/// Runs the command.
pub fn run(args: LocateArgs) -> Result<()> {
    let supi = if args.imsi.starts_with("imsi-") {
        args.imsi.clone()
    } else {
        format!("imsi-{}", args.imsi)
    };
    let digits = &supi["imsi-".len()..];
    if digits.is_empty() || digits.len() > 15 || !digits.bytes().all(|digit| digit.is_ascii_digit())
    {
        bail!(
            "{:?} is no IMSI: write up to fifteen digits, such as imsi-001010000000001",
            args.imsi
        );
    }
    // With one process for each function, the LMF has an endpoint of its own.
    let (first, second) = match args.at {
        Some(address) => (address, None),
        None => {
            let oam = Config::load(args.config.as_deref())?.oam;
            (oam.bind, Some(oam.of("lmf")))
        }
    };
    let core = Core { first, second };
    match args.every {
        Some(every) => runtime::block_on(follow(&core, &supi, every, &args)),
        None => runtime::block_on(once(&core, &supi, &args)),
    }
}

async fn once(core: &Core, supi: &str, args: &LocateArgs) -> Result<()> {
    let start = Instant::now();
    let position = core.locate(supi).await?;
    if args.json {
        println!("{}", serde_json::to_string_pretty(&position)?);
        return Ok(());
    }
    println!("{}", render(supi, &position, start.elapsed()));
    if let Some(folder) = &args.truth {
        println!("  {:.1} m from where it is in truth", error(&folder.join(supi), &position)?);
    }
    Ok(())
}

/// One position after the other, in step with the time that was asked for; a phone that is not
/// found once is asked again.
async fn follow(core: &Core, supi: &str, every: Duration, args: &LocateArgs) -> Result<()> {
    let mut steps = tokio::time::interval(every);
    steps.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Skip);
    let (began, mut last) = (Instant::now(), None);
    for _ in 0..args.count.unwrap_or(u64::MAX) {
        steps.tick().await;
        let start = Instant::now();
        let position = match core.locate(supi).await {
            Ok(position) => position,
            // Nobody was ever there: it is a matter of the command, and not of the phone.
            Err(error) if last.is_none() => return Err(error),
            Err(error) => {
                eprintln!("{:8.1} s  {error:#}", began.elapsed().as_secs_f64());
                continue;
            }
        };
        if args.json {
            println!("{position}");
        } else {
            if last.is_none() {
                println!("{supi}, every {every:?}; {}", over(&position));
            }
            let mut line = step(start - began, &position, start.elapsed());
            if let Some(folder) = &args.truth {
                line += &format!("  {:6.1} m off", error(&folder.join(supi), &position)?);
            }
            println!("{line}");
        }
        last = Some(position);
    }
    Ok(())
}

/// A position of several, on one line.
fn step(at: Duration, position: &Value, took: Duration) -> String {
    let area = &position["locationEstimate"];
    let number = |value: &Value| value.as_f64().unwrap_or(f64::NAN);
    format!(
        "{:8.1} s  {:10.6}, {:11.6}  within {:5.0} m  {:9}  {:6.1} ms",
        at.as_secs_f64(),
        number(&area["point"]["lat"]),
        number(&area["point"]["lon"]),
        number(&area["uncertaintyEllipse"]["semiMajor"]),
        method(position),
        took.as_secs_f64() * 1000.0,
    )
}

/// How it was found.
fn method(position: &Value) -> &str {
    let gnss = position["gnssPositioningDataList"][0]["gnss"].as_str();
    gnss.or(position["positioningDataList"][0]["method"].as_str()).unwrap_or("?")
}

/// How the phone was asked, and why so.
fn over(position: &Value) -> String {
    let over = &position["userPlane"];
    match (over["transport"].as_str(), over["channel"].as_str()) {
        (Some(transport), Some(channel)) => {
            let why = over["why"].as_str().unwrap_or("?");
            format!("asked over the user plane, {transport} ({channel}; {why})")
        }
        _ => "not asked over the user plane: by NAS, or by its gNB alone".into(),
    }
}

/// Metres between a position and what a simulated phone left in a file.
fn error(file: &std::path::Path, position: &Value) -> Result<f64> {
    let text = std::fs::read_to_string(file)
        .with_context(|| format!("{}: no phone left it", file.display()))?;
    let numbers: Vec<f64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    let [lat, lon] = numbers[..] else { bail!("{}: is no latitude and longitude", file.display()) };
    let point = &position["locationEstimate"]["point"];
    let number = |name: &str| point[name].as_f64().context("a position without a point");
    let found = GeoPoint { lat: number("lat")?, lon: number("lon")? };
    Ok(found.distance(&GeoPoint { lat, lon }))
}

/// A position as a person reads it.
fn render(supi: &str, position: &Value, took: Duration) -> String {
    let area = &position["locationEstimate"];
    let number = |value: &Value| value.as_f64().unwrap_or(f64::NAN);
    let (lat, lon) = (number(&area["point"]["lat"]), number(&area["point"]["lon"]));
    let ellipse = &area["uncertaintyEllipse"];
    format!(
        "{supi} is at {lat:.6}, {lon:.6}\n  within {:.0} m by {:.0} m, {} degrees from north, \
         with {} % confidence\n  found by {} in {:.1} ms, {}",
        number(&ellipse["semiMajor"]),
        number(&ellipse["semiMinor"]),
        ellipse["orientationMajor"],
        area["confidence"],
        method(position),
        took.as_secs_f64() * 1000.0,
        over(position),
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
            "positioningDataList": [{"method": "NR_ECID"}],
            "userPlane": {"channel": "rustls", "transport": "TLS over TCP", "why": "auto"}
        });
        let text = render("imsi-001010000000001", &position, Duration::from_micros(1250));
        assert_eq!(
            text,
            "imsi-001010000000001 is at 54.092410, 12.099100\n  within 12 m by 4 m, 30 degrees \
             from north, with 95 % confidence\n  found by NR_ECID in 1.2 ms, asked over the user \
             plane, TLS over TCP (rustls; auto)"
        );
        let line = step(Duration::from_millis(3_140), &position, Duration::from_micros(1250));
        assert_eq!(
            line,
            "     3.1 s   54.092410,   12.099100  within    12 m  NR_ECID       1.2 ms"
        );
        let without = serde_json::json!({"userPlane": null});
        assert!(over(&without).starts_with("not asked over the user plane"));
    }

    #[test]
    fn a_time_between_questions_is_what_a_person_writes() {
        assert_eq!(interval("1s"), Ok(Duration::from_secs(1)));
        assert_eq!(interval("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(interval("1.5min"), Ok(Duration::from_secs(90)));
        for wrong in ["1", "s", "", "1h", "-1s", "0s", "1ms", "1.2.3s", "9999min"] {
            assert!(interval(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_error_is_the_way_from_the_answer_to_the_truth() {
        let file = std::env::temp_dir().join(format!("martlet-truth-{}", std::process::id()));
        std::fs::write(&file, "54.0924 12.0991\n").unwrap();
        let position =
            serde_json::json!({"locationEstimate": {"point": {"lat": 54.0925, "lon": 12.0991}}});
        let metres = error(&file, &position).unwrap();
        assert!((metres - 11.12).abs() < 0.01, "{metres}");
        std::fs::write(&file, "54.0924").unwrap();
        assert!(error(&file, &position).is_err());
        std::fs::remove_file(&file).unwrap();
        assert!(error(&file, &position).unwrap_err().to_string().contains("no phone left it"));
    }
}
