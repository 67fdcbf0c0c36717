//! A record of what crosses the service-based interface, and its check against 3GPP's OpenAPI
//! files: bodies, binary parts and query parameters of each exchange.
use anyhow::{Result, ensure};
use martlet_sbi::{Encoded, Exchange, Multipart, Payload, Query, Tap};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::{Mutex, MutexGuard};

/// Remembers what network functions served.
#[derive(Default)]
pub struct BodyRecord(Mutex<Recorded>);

#[derive(Default)]
struct Recorded {
    /// Messages as the validator reads them.
    lines: Vec<Value>,
    /// Bodies that are no JSON and no multipart body.
    undecodable: Vec<String>,
}

impl BodyRecord {
    /// Forgets what was served: for tests of what a core keeps, in which the record would be all
    /// that grows.
    pub fn forget(&self) {
        *self.recorded() = Recorded::default();
    }
}

impl Tap for BodyRecord {
    fn wants_bodies(&self) -> bool {
        true
    }

    fn exchanged(&self, exchange: &Exchange<'_>) {
        let Some(operation) = exchange.operation else { return };
        let mut line = json!({
            "service": operation.api,
            "operation": operation.name,
            "method": exchange.method.as_str(),
            "path": operation.path,
        });
        let mut recorded = self.recorded();
        line["direction"] = "request".into();
        line["query"] = query_of(exchange.target);
        recorded.push(line.clone(), exchange.request.as_ref());
        line["direction"] = "response".into();
        line["status"] = exchange.status.into();
        recorded.push(line, exchange.response.as_ref());
    }
}

/// Query parameters by their names, as text.
fn query_of(target: &str) -> Value {
    let query = target.split_once('?').map(|(_, query)| Query::parse(query)).unwrap_or_default();
    query
        .0
        .into_iter()
        .map(|(name, value)| (name, Value::from(value)))
        .collect::<Map<_, _>>()
        .into()
}

impl Recorded {
    fn push(&mut self, mut line: Value, body: Option<&Encoded>) {
        let Some(body) = body else { return self.lines.push(line) };
        match Multipart::<Value>::decode(Some(body.clone())) {
            Ok(decoded) => {
                line["content_type"] = body.content_type.to_string().into();
                line["body"] = decoded.json;
                let parts =
                    decoded.parts.into_iter().map(|part| (part.id, part.content_type.into()));
                line["parts"] = parts.collect::<Map<_, _>>().into();
                self.lines.push(line);
            }
            Err(problem) => self
                .undecodable
                .push(format!("{} {}: {problem}", line["service"], line["operation"])),
        }
    }
}

impl BodyRecord {
    fn recorded(&self) -> MutexGuard<'_, Recorded> {
        self.0.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// The operations that were called, as `service operation`.
    pub fn operations(&self) -> BTreeSet<String> {
        let name = |line: &Value| {
            Some(format!("{} {}", line["service"].as_str()?, line["operation"].as_str()?))
        };
        self.recorded().lines.iter().filter_map(name).collect()
    }

    /// How often an operation, as `service operation`, was called.
    pub fn calls(&self, operation: &str) -> usize {
        let (service, name) = operation.split_once(' ').unwrap_or_default();
        let is_it = |line: &&Value| {
            line["service"] == service
                && line["operation"] == name
                && line["direction"] == "request"
        };
        self.recorded().lines.iter().filter(is_it).count()
    }

    /// Whether everything so far is as the OpenAPI files have it, and `due`, as `service
    /// operation`, was called at all. Without the files or the validator only the latter is
    /// checked, after saying so.
    ///
    /// # Errors
    /// An operation that is due was not called; else what violates the files, line by line.
    pub async fn check(&self, due: &[&str]) -> Result<()> {
        let seen = self.operations();
        let missing: Vec<_> = due.iter().filter(|operation| !seen.contains(**operation)).collect();
        ensure!(
            missing.is_empty(),
            "these operations were not called: {missing:?}; only these were: {seen:?}"
        );
        let (lines, undecodable) = {
            let recorded = self.recorded();
            (recorded.lines.clone(), recorded.undecodable.clone())
        };
        ensure!(undecodable.is_empty(), "bodies that cannot be read: {undecodable:#?}");
        ensure!(!lines.is_empty(), "nothing crossed the service-based interface");
        let good = format!("{} messages of {} operations: 0 violations", lines.len(), seen.len());
        // The validator takes its time. Were the test's thread to wait for it, nobody would read
        // what comes for its associations, and the clock that those of all tests share
        // would count their messages as lost.
        let Some(said) = tokio::task::spawn_blocking(move || validate(&lines)).await? else {
            return Ok(());
        };
        ensure!(
            said.lines().last() == Some(&good),
            "what crossed is not as the OpenAPI files have it:\n{said}"
        );
        Ok(())
    }
}

/// What the validator says of lines. `None` where the files or the validator are missing, after
/// saying so.
fn validate(lines: &[Value]) -> Option<String> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..");
    let beside = root.join("../shared/specs/openapi");
    let specs = std::env::var_os("MARTLET_3GPP_OPENAPI").map_or(beside, PathBuf::from);
    if !specs.is_dir() {
        eprintln!(
            "SKIPPED: bodies are not validated: there are no OpenAPI files; name their folder in \
             MARTLET_3GPP_OPENAPI"
        );
        return None;
    }
    let python = std::env::var("MARTLET_PYTHON").unwrap_or_else(|_| "python3".into());
    let probe = Command::new(&python)
        .args(["-c", "import yaml, openapi_schema_validator"])
        .stderr(Stdio::null())
        .status();
    if !probe.is_ok_and(|status| status.success()) {
        eprintln!(
            "SKIPPED: bodies are not validated: {python} has no PyYAML and \
             openapi-schema-validator; run `make oracles`"
        );
        return None;
    }
    let mut command = Command::new(&python);
    command.arg(root.join("sbi/api/tests/openapi_validate.py")).arg("--specs").arg(specs);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the validator starts, as its probe did");
    let mut stdin = child.stdin.take().expect("it is piped");
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    // Its answers wait in a pipe that may fill while lines are still being written.
    let writer = std::thread::spawn(move || stdin.write_all(text.as_bytes()));
    let output = child.wait_with_output().expect("the validator ends");
    let _ = writer.join();
    Some(format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use martlet_sbi::OperationInfo;
    use martlet_sbi_api::nsmf_pdusession::NSMF_PDUSESSION;
    use martlet_sbi_api::nudm_sdm::NUDM_SDM;

    fn exchange(
        operation: &'static OperationInfo,
        target: &str,
        status: u16,
        sent: Option<Encoded>,
    ) -> BodyRecord {
        let record = BodyRecord::default();
        record.exchanged(&Exchange {
            operation: Some(operation),
            method: &operation.method,
            target,
            request: sent,
            status,
            response: None,
            took: std::time::Duration::ZERO,
        });
        record
    }

    fn now(record: &BodyRecord, due: &[&str]) -> Result<()> {
        tokio::runtime::Builder::new_current_thread().build()?.block_on(record.check(due))
    }

    /// Whether the validator can run here at all.
    fn cannot_run() -> bool {
        validate(&[json!({})]).is_none()
    }

    #[test]
    fn an_operation_that_was_not_called_is_missed() {
        let record =
            exchange(NUDM_SDM::unsubscribe(), "/nudm-sdm/v2/imsi-1/sdm-subscriptions/1", 204, None);
        now(&record, &["nudm-sdm Unsubscribe"]).unwrap();
        assert!(
            now(&record, &["nudm-sdm Subscribe"])
                .unwrap_err()
                .to_string()
                .contains("nudm-sdm Subscribe")
        );
        assert!(now(&BodyRecord::default(), &[]).is_err());
    }

    #[test]
    fn a_wrong_query_a_wrong_part_and_octets_are_found() {
        let wrong = |record: BodyRecord| now(&record, &[]).unwrap_err().to_string();
        let octets = Encoded { content_type: "application/json".into(), bytes: "{".into() };
        let record = exchange(
            NUDM_SDM::subscribe(),
            "/nudm-sdm/v2/imsi-1/sdm-subscriptions",
            201,
            Some(octets),
        );
        assert!(wrong(record).contains("cannot be read"));
        if cannot_run() {
            return;
        }
        let record =
            exchange(NUDM_SDM::get_am_data(), "/nudm-sdm/v2/imsi-1/am-data?plmnid=1", 404, None);
        assert!(wrong(record).contains("query parameter plmnid is not defined"));
        let body = |id, media| {
            let json = json!({"upCnxState": "ACTIVATED", "n1SmMsg": {"contentId": "n1"}});
            Multipart::new(json).part(id, media, vec![1]).encode().unwrap()
        };
        let target = "/nsmf-pdusession/v1/sm-contexts/1/modify";
        let update = NSMF_PDUSESSION::update_sm_context();
        now(&exchange(update, target, 204, body("n1", "application/vnd.3gpp.5gnas")), &[]).unwrap();
        let unnamed =
            wrong(exchange(update, target, 204, body("n2", "application/vnd.3gpp.5gnas")));
        assert!(unnamed.contains("the body names the parts"), "{unnamed}");
        let mislabelled = wrong(exchange(update, target, 204, body("n1", "text/plain")));
        assert!(mislabelled.contains("text/plain"), "{mislabelled}");
    }
}
