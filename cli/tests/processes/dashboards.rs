//! Dashboards and alert rules: each query selects metrics, labels and values of a running core.
use crate::queries::{Exported, faults, samples_of};
use crate::site::*;
use anyhow::{Context, Result, ensure};
use martlet_nas::PduSessionTypeValue;
use martlet_ran::PduSessionRequest;
use martlet_tests::in_namespace;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Metrics that appear with the first event of their kind, which this test does not cause. Their
/// names and labels are looked up in the sources.
const RARE: &str = r#"
martlet_amf_nas_errors_total{reason="x"} 0
martlet_amf_ngap_errors_total{reason="x"} 0
martlet_amf_associations_refused_total{reason="x"} 0
martlet_amf_dropped_total{what="x"} 0
martlet_amf_procedures_waiting{procedure="x"} 0
martlet_sbi_http_refused_total{reason="x"} 0
martlet_sbi_http_retries_total{reason="x"} 0
martlet_smf_n4_total{event="x"} 0
martlet_upf_dropped_packets_total{reason="x"} 0
"#;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The queries of a dashboard with their legends, and of the alert rules.
fn queries() -> Result<Vec<(String, String)>> {
    let text = std::fs::read_to_string(root().join("deploy/grafana/martlet-core.json"))?;
    let dashboard: serde_json::Value = serde_json::from_str(&text)?;
    let panels = dashboard["panels"].as_array().context("panels")?;
    let targets = panels.iter().flat_map(|panel| panel["targets"].as_array().into_iter().flatten());
    let text_of = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_string();
    let mut queries: Vec<_> = targets
        .map(|target| (text_of(&target["expr"]), text_of(&target["legendFormat"])))
        .collect();
    ensure!(queries.len() >= 40, "{} queries of the dashboard", queries.len());
    let text = std::fs::read_to_string(root().join("deploy/prometheus/martlet-rules.yaml"))?;
    let rules: serde_json::Value = serde_saphyr::from_str(&text)?;
    let groups = rules["groups"].as_array().context("groups")?;
    let mut rules = Vec::new();
    for group in groups {
        rules.extend(group["rules"].as_array().with_context(|| format!("rules of {group}"))?);
    }
    ensure!(rules.len() > 10, "{} rules", rules.len());
    for rule in rules {
        let annotations = &rule["annotations"];
        ensure!(annotations["remedy"].is_string(), "{rule}");
        // Labels in the summary, in the form of a legend.
        let summary = text_of(&annotations["summary"]).replace("{{ $labels.", "{{");
        let summary = summary.replace("{{ $value }}", "").replace(" }}", "}}");
        queries.push((text_of(&rule["expr"]), summary));
    }
    Ok(queries)
}

/// Whether the sources register a metric with labels.
fn is_registered(name: &str, label: &str) -> bool {
    fn search(folder: &Path, found: &dyn Fn(&str) -> bool) -> bool {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).any(|path| match path.is_dir() {
            true => search(&path, found),
            false => {
                path.extension().is_some_and(|kind| kind == "rs")
                    && std::fs::read_to_string(&path).is_ok_and(|text| found(&text))
            }
        })
    }
    let (name, label) = (format!("\"{name}\""), format!("\"{label}\""));
    let registers = |text: &str| {
        text.split(&name).skip(1).any(|after| {
            after.split(';').next().is_some_and(|statement| statement.contains(&label))
        })
    };
    ["nf", "sbi", "upf"].iter().any(|folder| search(&root().join(folder), &registers))
}

/// The metrics of all functions of a core.
fn scrape(site: &Site) -> Result<String> {
    let mut text = String::new();
    for entry in std::fs::read_dir(&site.0)?.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if !(name.starts_with("oam") && name.ends_with(".sock")) {
            continue;
        }
        let socket = entry.path().display().to_string();
        let arguments = ["-sf", "--unix-socket", &socket, "http://localhost/metrics"];
        let output = Command::new("curl").args(arguments).output()?;
        ensure!(output.status.success(), "no metrics of {name}");
        text += &String::from_utf8(output.stdout)?;
    }
    Ok(text)
}

#[test]
fn every_query_uses_metrics_of_a_running_core() {
    in_namespace(|| async {
        let site = Site::new("dashboards")?;
        let (config, folder) = (site.config().display().to_string(), site.0.join("pki"));
        let init = ["pki", "init", "-c", &config, "--out", &folder.display().to_string()];
        ensure!(Command::new(MARTLET).args(init).output()?.status.success());
        let text = std::fs::read_to_string(site.config())?;
        std::fs::write(site.config(), format!("{text}sbi: {{ pki: {folder:?} }}\n"))?;
        let core = site.start(&["--split", "--sbi", "http"])?;
        let gnb = gnb().await?;
        registration_cycle(&ue(&gnb, 1)?).await?;
        ensure!(ue(&gnb, 9)?.register().await.is_err(), "there is no such subscriber");
        let located = ue(&gnb, 2)?;
        located.register().await?;
        let ethernet = PduSessionRequest {
            dnn: Some("internet".into()),
            session_type: PduSessionTypeValue::Ethernet,
            ..PduSessionRequest::default()
        };
        ensure!(located.establish_pdu_session(ethernet).await.is_err(), "no Ethernet there");
        let locate = ["locate", "imsi-001010000000002", "-c", &config];
        let _ = Command::new(MARTLET).args(locate).output()?;
        let scraped = scrape(&site)?;
        gnb.shutdown().await;
        core.stop()?;

        let exported = samples_of(&scraped);
        let mut all = scraped;
        for line in RARE.lines().filter(|line| !line.is_empty()) {
            let (name, rest) = line.split_once('{').context("labels")?;
            let label = rest.split_once('=').context("a label")?.0;
            ensure!(is_registered(name, label), "no source registers {line}");
            if !exported.contains_key(name) {
                all += &format!("{line}\n");
            }
        }
        let all: Exported = samples_of(&all);
        let wrong: Vec<String> =
            queries()?.iter().flat_map(|(query, legend)| faults(query, legend, &all)).collect();
        ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
        ensure!(!faults("martlet_amf_nothing", "", &all).is_empty());
        Ok(())
    });
}
