//! The functions of the whole network. Any function of this machine asks the NRF for them.
use crate::oam_client::{self, OamArgs};
use crate::table::table;
use anyhow::{Result, anyhow};
use martlet::config::FUNCTIONS;
use serde_json::Value;
use std::time::Duration;

const TIMEOUT: Duration = Duration::from_secs(5);

/// The functions, by the first function of this machine that answers.
pub async fn functions(oam: &OamArgs) -> Result<Value> {
    let mut failure = anyhow!("no function runs on this machine");
    for name in FUNCTIONS {
        for endpoint in oam.function(name)? {
            match oam_client::ask_any(&[endpoint], "/ask/network", TIMEOUT).await {
                Ok((200, functions)) => return Ok(functions),
                Ok((404, _)) => {}
                Ok((status, answer)) => {
                    failure = anyhow!("the NRF's list is not available ({status}): {answer}");
                }
                Err(error) => failure = error,
            }
        }
    }
    Err(failure)
}

/// The functions as a table.
pub fn render(functions: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_string();
    let row = |function: &Value| {
        ["type", "status", "address", "set", "id"].map(|name| text(&function[name])).to_vec()
    };
    let rows: Vec<Vec<String>> = functions.as_array().into_iter().flatten().map(row).collect();
    table(&["function", "status", "address", "set", "instance"], rows)
}
