//! Reports of martlet-lab: what it wrote into the folder `oam.api.lab_reports`.
use crate::problem::{Failure, ProblemDetails};
use crate::state::Oam;
use axum::Json;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use http::{HeaderValue, header};
use serde::Serialize;
use serde_json::Value;
use std::path::{Path as FsPath, PathBuf};
use std::sync::Arc;
use std::time::UNIX_EPOCH;
use utoipa::ToSchema;

/// Reports of a list.
const MAX_REPORTS: usize = 200;
/// Maximum size of a file in bytes.
const MAX_FILE: u64 = 4 << 20;

/// A report of a run.
#[derive(Debug, Serialize, ToSchema)]
pub struct LabReport {
    /// Name of its folder.
    #[schema(example = "sbi-20261124-101500")]
    name: String,
    /// The experiment.
    #[schema(example = "sbi")]
    lab: String,
    /// Seconds since 1970.
    at: u64,
    /// Number of figures.
    figures: usize,
    /// Its plots.
    plots: Vec<String>,
}

/// A report with its text and figures.
#[derive(Debug, Serialize, ToSchema)]
pub struct LabReportDetails {
    /// The report.
    #[serde(flatten)]
    report: LabReport,
    /// The text in Markdown.
    text: String,
    /// The machine.
    #[schema(value_type = Object)]
    machine: Value,
    /// The figures: `id`, `value`, `unit`, `low`, `high`, `n`.
    #[schema(value_type = Vec<Object>)]
    values: Vec<Value>,
}

/// Whether a name is that of a file or folder and no path.
fn check_name(name: &str) -> Result<(), Failure> {
    let is_valid = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_');
    match (1..=100).contains(&name.len()) && !name.starts_with('.') && name.bytes().all(is_valid) {
        true => Ok(()),
        false => Err(Failure::not_found("there is no report with this name")),
    }
}

fn kind_of_plot(name: &str) -> Option<&'static str> {
    match FsPath::new(name).extension()?.to_str()? {
        "svg" => Some("image/svg+xml"),
        "png" => Some("image/png"),
        _ => None,
    }
}

fn read_text(file: &FsPath) -> Option<String> {
    let size = std::fs::metadata(file).ok()?.len();
    (size <= MAX_FILE).then(|| std::fs::read_to_string(file).ok()).flatten()
}

fn summary(folder: &FsPath) -> Option<Value> {
    serde_json::from_str(&read_text(&folder.join("summary.json"))?).ok()
}

/// The report in a folder; `None` if martlet-lab did not finish one there.
fn report(folder: &FsPath) -> Option<(LabReport, Value)> {
    let name = folder.file_name()?.to_str()?.to_string();
    check_name(&name).ok()?;
    let summary = summary(folder)?;
    let written = std::fs::metadata(folder.join("summary.json")).ok()?.modified().ok()?;
    let entries = std::fs::read_dir(folder).ok()?.filter_map(|entry| Some(entry.ok()?.file_name()));
    let names = entries.filter_map(|name| name.into_string().ok());
    // Each plot is there in both formats; the console shows the one that scales.
    let mut plots: Vec<String> = names
        .filter(|name| check_name(name).is_ok() && kind_of_plot(name) == Some("image/svg+xml"))
        .collect();
    plots.sort();
    let report = LabReport {
        name,
        lab: summary["lab"].as_str().unwrap_or("unknown").to_string(),
        at: written.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs(),
        figures: summary["figures"].as_array().map_or(0, Vec::len),
        plots,
    };
    Some((report, summary))
}

fn folder(oam: &Oam) -> Result<PathBuf, Failure> {
    oam.config.lab_reports.clone().ok_or_else(|| {
        Failure::not_found("no folder of reports is configured").remedy("set oam.api.lab_reports")
    })
}

async fn blocking<T: Send + 'static>(
    oam: &Oam,
    name: String,
    read: impl FnOnce(PathBuf) -> Option<T> + Send + 'static,
) -> Result<T, Failure> {
    check_name(&name)?;
    let folder = folder(oam)?.join(&name);
    let found = oam.core_blocking(move |_| read(folder)).await?;
    found.ok_or_else(|| Failure::not_found(format!("there is no report {name}")))
}

/// List reports of martlet-lab
///
/// The latest first.
#[utoipa::path(
    get, path = "/lab-reports", tag = "network",
    responses(
        (status = 200, body = Vec<LabReport>, description = "the reports"),
        (status = "4XX", body = ProblemDetails, content_type = "application/problem+json",
            description = "no folder is configured"),
    )
)]
pub async fn list(State(oam): State<Arc<Oam>>) -> Result<Json<Vec<LabReport>>, Failure> {
    let folder = folder(&oam)?;
    let reports = oam
        .core_blocking(move |_| {
            let entries = std::fs::read_dir(folder).into_iter().flatten();
            let folders = entries.filter_map(|entry| Some(entry.ok()?.path()));
            let mut reports: Vec<LabReport> =
                folders.filter_map(|folder| Some(report(&folder)?.0)).collect();
            reports.sort_by(|a, b| (b.at, &b.name).cmp(&(a.at, &a.name)));
            reports.truncate(MAX_REPORTS);
            reports
        })
        .await?;
    Ok(Json(reports))
}

/// Show a report of martlet-lab
#[utoipa::path(
    get, path = "/lab-reports/{name}", tag = "network",
    params(("name" = String, Path, example = "sbi-20261124-101500")),
    responses(
        (status = 200, body = LabReportDetails, description = "the report"),
        (status = "4XX", body = ProblemDetails, content_type = "application/problem+json",
            description = "it does not exist"),
    )
)]
pub async fn show(
    State(oam): State<Arc<Oam>>,
    Path(name): Path<String>,
) -> Result<Json<LabReportDetails>, Failure> {
    let details = blocking(&oam, name, |folder| {
        let (report, summary) = report(&folder)?;
        Some(LabReportDetails {
            report,
            text: read_text(&folder.join("report.md")).unwrap_or_default(),
            machine: summary["machine"].clone(),
            values: summary["figures"].as_array().cloned().unwrap_or_default(),
        })
    });
    Ok(Json(details.await?))
}

/// Show a plot of a report
#[utoipa::path(
    get, path = "/lab-reports/{name}/plots/{plot}", tag = "network",
    params(
        ("name" = String, Path, example = "sbi-20261124-101500"),
        ("plot" = String, Path, example = "latency.svg"),
    ),
    responses(
        (status = 200, body = Vec<u8>, content_type = "image/svg+xml", description = "the plot"),
        (status = "4XX", body = ProblemDetails, content_type = "application/problem+json",
            description = "it does not exist"),
    )
)]
pub async fn plot(
    State(oam): State<Arc<Oam>>,
    Path((name, plot)): Path<(String, String)>,
) -> Result<Response, Failure> {
    check_name(&plot)?;
    let kind = kind_of_plot(&plot).ok_or_else(|| Failure::not_found("this is no plot"))?;
    let bytes = blocking(&oam, name, move |folder| {
        let file = folder.join(plot);
        let size = std::fs::metadata(&file).ok()?.len();
        (size <= MAX_FILE).then(|| std::fs::read(file).ok()).flatten()
    });
    let mut response = bytes.await?.into_response();
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    Ok(response)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_a_folder_with_a_summary_and_names_are_no_paths() {
        let folder = std::env::temp_dir().join(format!("martlet-lab-{}", std::process::id()));
        let run = folder.join("sbi-1");
        std::fs::create_dir_all(&run).unwrap();
        assert!(report(&run).is_none(), "no summary");
        let text = r#"{"lab": "sbi", "machine": {}, "figures": [{"id": "a.b", "value": 1}]}"#;
        std::fs::write(run.join("summary.json"), text).unwrap();
        for name in ["b.svg", "a.svg", "a.png", "raw.csv"] {
            std::fs::write(run.join(name), "").unwrap();
        }
        let (found, _) = report(&run).unwrap();
        assert_eq!((found.lab.as_str(), found.figures), ("sbi", 1));
        assert_eq!(found.plots, ["a.svg", "b.svg"]);
        std::fs::remove_dir_all(folder).unwrap();
        for wrong in ["..", ".hidden", "a/b", "", "a%2f", &"x".repeat(101)] {
            assert!(check_name(wrong).is_err(), "{wrong}");
        }
        assert_eq!(kind_of_plot("report.md"), None);
    }
}
