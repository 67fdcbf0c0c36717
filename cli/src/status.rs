//! `martlet status`: what a running core has.
use crate::{oam_client, runtime};
use anyhow::Result;
use clap::Args;
use martlet::config::Config;
use serde_json::Value;
use std::net::SocketAddr;
use std::path::PathBuf;

/// Shows what a running core has.
#[derive(Args)]
pub struct StatusArgs {
    /// Configuration of the core
    #[arg(short, long)]
    config: Option<PathBuf>,
    /// Address of its status endpoint, in place of the configuration's `oam.bind`
    #[arg(long)]
    at: Option<SocketAddr>,
    /// As JSON
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(args: StatusArgs) -> Result<()> {
    let address = match args.at {
        Some(address) => address,
        None => Config::load(args.config.as_deref())?.oam.bind,
    };
    let status = runtime::block_on(oam_client::status(address))?;
    if args.json {
        println!("{}", serde_json::to_string_pretty(&status)?);
        return Ok(());
    }
    print!("{}", render(&status));
    Ok(())
}

/// The status as a person reads it.
fn render(status: &Value) -> String {
    let mut out = format!("Martlet, {}, process {}\n", status["mode"].as_str().unwrap_or("?"), status["pid"]);
    for nf in status["nfs"].as_array().into_iter().flatten() {
        let (name, at) = (nf["name"].as_str().unwrap_or("?"), nf["authority"].as_str().unwrap_or(""));
        out.push_str(&format!("\n{:<5} {at}\n", name.to_uppercase()));
        lines(&nf["status"], 1, &mut out);
    }
    out
}

/// Members a line each; lists of objects as one line each.
fn lines(value: &Value, depth: usize, out: &mut String) {
    let indent = "  ".repeat(depth);
    let plain = |value: &Value| value.as_str().map_or(value.to_string(), str::to_string);
    for (name, member) in value.as_object().into_iter().flatten() {
        match member {
            Value::Object(_) => {
                out.push_str(&format!("{indent}{name}\n"));
                lines(member, depth + 1, out);
            }
            Value::Array(items) => {
                out.push_str(&format!("{indent}{name}: {}\n", items.len()));
                for item in items {
                    let text = match item.as_object() {
                        Some(members) => {
                            members.iter().map(|(k, v)| format!("{k} {}", plain(v))).collect::<Vec<_>>().join("  ")
                        }
                        None => plain(item),
                    };
                    out.push_str(&format!("{indent}  {text}\n"));
                }
            }
            other => out.push_str(&format!("{indent}{name}: {}\n", plain(other))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_lines_that_a_person_reads() {
        let status = serde_json::json!({"mode": "one process", "pid": 7, "nfs": [
            {"name": "amf", "authority": "127.0.0.17:7777", "status": {"gnbs": [{"name": "gnb-1", "ues": 2}], "ues": {"registered": 2}}}]});
        let text = render(&status);
        assert!(
            text.contains("AMF   127.0.0.17:7777\n  gnbs: 1\n    name gnb-1  ues 2\n  ues\n    registered: 2\n"),
            "{text}"
        );
    }
}
