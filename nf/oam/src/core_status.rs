//! The parts of a core's status.
use serde_json::Value;

/// The status of a function; of several with this name, the first.
pub fn of<'a>(status: &'a Value, name: &'a str) -> Option<&'a Value> {
    of_all(status, name).next()
}

/// The status of each function with this name.
pub fn of_all<'a>(status: &'a Value, name: &'a str) -> impl Iterator<Item = &'a Value> {
    let nfs = status["nfs"].as_array().into_iter().flatten();
    nfs.filter(move |nf| nf["name"] == name).map(|nf| &nf["status"])
}
