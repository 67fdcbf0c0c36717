//! A record of every body that crosses the service-based interface, and its check against 3GPP's OpenAPI files.
use martlet_sbi::{Encoded, Exchange, Tap};
use serde_json::{Value, json};
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Mutex;

/// Remembers what network functions served.
#[derive(Default)]
pub struct BodyRecord(Mutex<Vec<Value>>);

impl Tap for BodyRecord {
    fn wants_bodies(&self) -> bool {
        true
    }

    fn exchanged(&self, exchange: &Exchange<'_>) {
        let Some(operation) = exchange.operation else { return };
        let line = |direction: &str, status: Option<u16>, body: Option<&Encoded>| {
            json!({
                "service": operation.api,
                "operation": operation.name,
                "method": exchange.method.as_str(),
                "path": operation.path,
                "direction": direction,
                "status": status,
                "content_type": body.map(|b| b.content_type.to_string()),
                "body": body.map(json_of),
            })
        };
        let mut record = self.0.lock().unwrap_or_else(|e| e.into_inner());
        record.push(line("request", None, exchange.request.as_ref()));
        record.push(line("response", Some(exchange.status), exchange.response.as_ref()));
    }
}

impl BodyRecord {
    /// The lines so far, as the validator reads them.
    pub fn lines(&self) -> Vec<Value> {
        self.0.lock().unwrap_or_else(|e| e.into_inner()).clone()
    }
}

/// The JSON of a body; of a multipart body, its root part.
fn json_of(body: &Encoded) -> Value {
    use martlet_sbi::{Multipart, Payload};
    Multipart::<Value>::decode(Some(body.clone())).map_or_else(|p| json!({"undecodable": p.to_string()}), |m| m.json)
}

/// Checks lines against the OpenAPI files. `None` where the files or the validator are missing, after saying so.
pub fn openapi_violations(lines: &[Value]) -> Option<String> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..");
    let specs = std::env::var_os("MARTLET_3GPP_OPENAPI").map_or_else(|| root.join("../shared/specs/openapi"), PathBuf::from);
    if !specs.is_dir() {
        eprintln!("SKIPPED: bodies are not validated: there are no OpenAPI files; name their folder in MARTLET_3GPP_OPENAPI");
        return None;
    }
    let python = std::env::var("MARTLET_PYTHON").unwrap_or_else(|_| "python3".into());
    let script = root.join("sbi/api/tests/openapi_validate.py");
    let probe = Command::new(&python).args(["-c", "import yaml, openapi_schema_validator"]).stderr(Stdio::null()).status();
    if !probe.is_ok_and(|status| status.success()) {
        eprintln!("SKIPPED: bodies are not validated: {python} has no PyYAML and openapi-schema-validator; run `make oracles`");
        return None;
    }
    let mut child = Command::new(&python)
        .arg(script)
        .arg("--specs")
        .arg(specs)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the validator starts, as its probe did");
    let mut stdin = child.stdin.take().expect("it is piped");
    let text = lines.iter().map(|line| format!("{line}\n")).collect::<String>();
    let writer = std::thread::spawn(move || stdin.write_all(text.as_bytes()));
    let output = child.wait_with_output().expect("the validator ends");
    let _ = writer.join();
    let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    Some(if output.status.success() { String::new() } else { said })
}
