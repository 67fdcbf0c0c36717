//! Every declared operation has the name, method, path and version of 3GPP's OpenAPI files.
mod validator;

use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};

#[test]
fn every_operation_is_in_the_openapi_files() {
    let declarations: Vec<_> = martlet_sbi_api::operations()
        .map(|operation| {
            json!({
                "direction": "declaration",
                "service": operation.api,
                "version": operation.version,
                "operation": operation.name,
                "method": operation.method.as_str(),
                "path": operation.path,
                "statuses": operation.errors.iter().map(
                    |error| error.status).collect::<BTreeSet<_>>(),
            })
        })
        .collect();
    let Some(violations) = validator::violations(&declarations) else { return };
    assert!(violations.is_empty(), "{}", violations.join("\n"));
}

#[test]
fn every_callback_is_declared_once() {
    let mapped: BTreeMap<String, serde_json::Value> =
        serde_json::from_str(include_str!("callbacks.json")).unwrap();
    let declared: Vec<_> = martlet_sbi_api::operations()
        .filter(|operation| operation.api.ends_with("-callback"))
        .map(|operation| format!("{} {}", operation.api, operation.name))
        .collect();
    assert_eq!(declared.len(), mapped.len());
    assert_eq!(declared.iter().collect::<BTreeSet<_>>(), mapped.keys().collect());
}

#[test]
fn no_two_operations_share_a_method_and_path() {
    let mut seen = BTreeSet::new();
    for operation in martlet_sbi_api::operations() {
        // Parameters of different names match the same requests.
        let path: Vec<_> =
            operation.path.split('/').map(|s| if s.starts_with('{') { "{}" } else { s }).collect();
        let resource = format!(
            "{} /{}/{}{}",
            operation.method,
            operation.api,
            operation.version,
            path.join("/")
        );
        assert!(seen.insert(resource.clone()), "{resource} is declared twice");
    }
}

#[test]
fn errors_have_statuses_of_errors() {
    for operation in martlet_sbi_api::operations() {
        for error in operation.errors {
            assert!((400..600).contains(&error.status), "{}: {error:?}", operation.name);
            assert!(
                error
                    .cause
                    .bytes()
                    .all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_')
            );
        }
    }
}
