//! The report: one HTML page with all plots in it, a PDF of it, raw data, and a summary.
use super::paper::PaperValue;
use super::{PaperFigure, ReproduceArgs, Table, mark_name};
use crate::machine;
use anyhow::{Result, anyhow};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Time limit for printing.
const PRINT_TIMEOUT: Duration = Duration::from_secs(60);
/// Names of Chromium.
const BROWSERS: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "chrome"];
const STYLE: &str = "body{font:15px/1.45 sans-serif;max-width:1180px;margin:2em auto;padding:0 1em;\
                     color:#222}svg{max-width:100%;height:auto}table{border-collapse:collapse}\
                     td,th{border:1px solid #ccc;padding:3px 8px;text-align:left}\
                     section{break-inside:avoid;margin-top:2.5em}\
                     .mark{border:1px solid #888;border-radius:4px;padding:1px 7px;font-size:13px}\
                     .note{background:#fff3cd;padding:.6em 1em}code{background:#f3f3f3}";

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// A field of a CSV file.
fn field(text: &str) -> String {
    if text.contains([',', '"']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.into()
    }
}

fn number(value: f64) -> String {
    let digits = match value.abs() {
        100.0.. => 0,
        1.0.. => 2,
        _ => 3,
    };
    format!("{value:.digits$}")
}

/// Cells of a quantity: the paper's value, ours, and the ratio of ours to the paper's.
fn cells(value: PaperValue, here: Option<f64>, unit: &str) -> [String; 3] {
    let with_unit = |value: f64| format!("{} {unit}", number(value)).trim_end().to_string();
    let paper = match value {
        PaperValue::Number(value) => with_unit(value),
        PaperValue::Words(words) => words.into(),
    };
    let ratio = match (value, here) {
        (PaperValue::Number(paper), Some(here)) => number(here / paper),
        _ => "–".into(),
    };
    [paper, here.map_or("not measured here".into(), with_unit), ratio]
}

/// Writes all files and returns a table of the figures.
pub(super) fn write(
    folder: &Path,
    args: &ReproduceArgs,
    figures: &[PaperFigure],
) -> Result<String> {
    let machine = machine::describe();
    let mut raw = String::from("figure,panel,series,x,value,low,high\n");
    for figure in figures {
        for drawn in figure.drawing.values() {
            let (value, low, high) = drawn.value;
            let names = [figure.id, &drawn.panel, &drawn.series, &drawn.x].map(field).join(",");
            let _ = writeln!(raw, "{names},{value},{low},{high}");
        }
    }
    std::fs::write(folder.join("raw.csv"), raw)?;
    let all: Vec<Value> = figures.iter().map(summary).collect();
    let summary = json!({
        "lab": "reproduce", "quick": args.quick, "machine": machine, "figures": all,
    });
    std::fs::write(folder.join("summary.json"), serde_json::to_string_pretty(&summary)?)?;
    let html = folder.join("report.html");
    std::fs::write(&html, page(folder, args, figures, &machine)?)?;
    let pdf = match print(&html, &folder.join("report.pdf")) {
        Ok(()) => "report.pdf is the same for printing.".to_string(),
        Err(reason) => format!("There is no report.pdf: {reason}."),
    };
    Ok(format!("{}\n{} has the figures. {pdf}\n", table(figures), html.display()))
}

fn summary(figure: &PaperFigure) -> Value {
    let mut series: Vec<String> = Vec::new();
    for drawn in figure.drawing.values() {
        if !series.contains(&drawn.series) {
            series.push(drawn.series);
        }
    }
    let values: Vec<Value> = figure
        .here
        .iter()
        .map(|(quantity, here)| {
            let (paper, words) = match quantity.value {
                PaperValue::Number(value) => (Some(value), None),
                PaperValue::Words(words) => (None, Some(words)),
            };
            let ratio = paper.zip(*here).map(|(paper, here)| here / paper);
            json!({
                "what": quantity.what, "unit": quantity.unit, "source": quantity.source,
                "paper": paper, "paperSays": words, "here": here, "ratio": ratio,
            })
        })
        .collect();
    json!({
        "id": figure.id, "title": figure.title, "mark": mark_name(figure.mark),
        "reason": figure.reason, "like": figure.like, "command": figure.command,
        "more": figure.more.map(|(file, _)| file),
        "machine": figure.machine,
        "series": series, "values": values,
        "table": figure.table.as_ref().map(|table| {
            json!({"title": table.title, "columns": table.columns, "rows": table.rows})
        }),
    })
}

fn table(figures: &[PaperFigure]) -> String {
    let mut text =
        String::from("| figure | mark | values of the paper and here |\n| --- | --- | --- |\n");
    for figure in figures {
        let values: Vec<String> = figure
            .here
            .iter()
            .map(|(quantity, here)| {
                let [paper, here, _] = cells(quantity.value, *here, quantity.unit);
                format!("{}: {paper} / {here}", quantity.what)
            })
            .collect();
        let _ = writeln!(
            text,
            "| {} | {} | {} |",
            figure.id,
            mark_name(figure.mark),
            values.join("; ")
        );
    }
    text
}

fn page(
    folder: &Path,
    args: &ReproduceArgs,
    figures: &[PaperFigure],
    machine: &Value,
) -> Result<String> {
    let mut page = format!(
        "<!DOCTYPE html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>The papers' \
         figures</title><style>{STYLE}</style></head><body><h1>The papers' figures, beside the \
         papers' values</h1>"
    );
    page += "<p>The papers' values are those of their text. What stands in a plot of a paper only \
             is given in words.</p><ul>";
    for (name, value) in machine.as_object().into_iter().flatten() {
        let value = value.as_str().map_or(value.to_string(), str::to_string);
        let _ = write!(page, "<li>{}: {}</li>", escaped(name), escaped(&value));
    }
    page += "</ul>";
    if args.quick || cfg!(debug_assertions) {
        page += "<p class=\"note\">A short run, or a debug build: it shows that the figures can be \
                 made. Its values claim nothing.</p>";
    }
    page += "<table><tr><th>figure</th><th>mark</th></tr>";
    for figure in figures {
        let _ = write!(
            page,
            "<tr><td><a href=\"#{}\">{}</a></td><td>{}</td></tr>",
            figure.id,
            escaped(&figure.title),
            mark_name(figure.mark)
        );
    }
    page += "</table>";
    for figure in figures {
        let _ = write!(
            page,
            "<section id=\"{}\"><h2>{}</h2><p><span class=\"mark\">{}</span> {}</p>",
            figure.id,
            escaped(&figure.title),
            mark_name(figure.mark),
            escaped(&figure.reason)
        );
        if let Ok(svg) = std::fs::read_to_string(folder.join(format!("{}.svg", figure.id)))
            && !figure.drawing.values().is_empty()
        {
            // Inline SVG has no XML declaration; without a view box it does not scale.
            let svg = svg.get(svg.find("<svg").unwrap_or(0)..).unwrap_or_default();
            page += svg;
        }
        page += "<table><tr><th>quantity</th><th>the paper</th><th>source</th><th>here</th>\
                 <th>here / paper</th></tr>";
        for (quantity, here) in &figure.here {
            let [paper, here, ratio] =
                cells(quantity.value, *here, quantity.unit).map(|it| escaped(&it));
            let _ = write!(
                page,
                "<tr><td>{}</td><td>{paper}</td><td>{}</td><td>{here}</td><td>{ratio}</td></tr>",
                escaped(quantity.what),
                escaped(quantity.source)
            );
        }
        page += "</table>";
        page += &figure.table.as_ref().map(numbers).unwrap_or_default();
        let _ = write!(
            page,
            "<p>{}</p>{}<p><code>{}</code></p><p>{}</p></section>",
            escaped(&figure.like),
            more(figure),
            escaped(&figure.command),
            escaped(&figure.machine)
        );
    }
    page += "</body></html>\n";
    Ok(page)
}

/// A link to more about a figure, where the file is in the folder.
fn more(figure: &PaperFigure) -> String {
    let link = |(file, what): (&str, &str)| format!("<p><a href=\"{file}\">{what}</a></p>");
    figure.more.filter(|_| figure.mark.is_some()).map(link).unwrap_or_default()
}

/// A table beside a plot.
fn numbers(table: &Table) -> String {
    let row = |cells: &[String], tag: &str| -> String {
        let cells = cells.iter().map(|cell| format!("<{tag}>{}</{tag}>", escaped(cell)));
        format!("<tr>{}</tr>", cells.collect::<String>())
    };
    let rows = table.rows.iter().map(|cells| row(cells, "td")).collect::<String>();
    let head = row(&table.columns, "th");
    format!("<table><caption>{}</caption>{head}{rows}</table>", escaped(&table.title))
}

/// Prints the page by the first Chromium that can.
fn print(html: &Path, pdf: &Path) -> Result<()> {
    let html = html.canonicalize()?;
    let profile = std::env::temp_dir().join(format!("martlet-print-{}", std::process::id()));
    let mut outcome = Err(anyhow!("Chromium is not installed"));
    for browser in BROWSERS {
        let child = Command::new(browser)
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--no-pdf-header-footer"])
            .arg(format!("--user-data-dir={}", profile.display()))
            .arg(format!("--print-to-pdf={}", pdf.display()))
            .arg(format!("file://{}", html.display()))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let Ok(child) = child else { continue };
        let status = wait(child, PRINT_TIMEOUT)?;
        if status.is_some_and(|status| status.success()) && pdf.is_file() {
            outcome = Ok(());
            break;
        }
        outcome = Err(anyhow!("{browser} did not print it"));
    }
    let _ = std::fs::remove_dir_all(&profile);
    outcome
}

/// Waits for the end of a process, which is killed after the limit.
fn wait(mut child: Child, limit: Duration) -> std::io::Result<Option<ExitStatus>> {
    let started = Instant::now();
    while started.elapsed() < limit {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    child.kill()?;
    child.wait()?;
    Ok(None)
}
