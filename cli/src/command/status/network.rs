//! The functions of the whole network. Any function of this machine asks the NRF for them.
use crate::table::table;
use serde_json::Value;

/// The functions as a table.
pub fn render(functions: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_string();
    let row = |function: &Value| {
        ["type", "status", "address", "set", "id"].map(|name| text(&function[name])).to_vec()
    };
    let rows: Vec<Vec<String>> = functions.as_array().into_iter().flatten().map(row).collect();
    table(&["function", "status", "address", "set", "instance"], rows)
}
