//! Policies with many texts over the API: a change and the reads after it take seconds at most.
use crate::api::{Caller, api_site};
use anyhow::{Result, ensure};
use martlet_tests::in_namespace;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// Longest time of a request. Clients give up after 10 s, such as Schemathesis.
const LONGEST: Duration = Duration::from_secs(10);

/// Flows with 15 filters and 15 subscribers each.
fn flows(count: usize) -> Vec<Value> {
    let flow = |n: usize| {
        let filter = |port| format!("permit out 17 from 10.0.0.0/8 {} to assigned", 5000 + port);
        let supi = |m| format!("imsi-{:015}", 1_010_000_000_000_u64 + 15 * n as u64 + m);
        json!({
            "name": format!("flow-{n}"), "five_qi": 7, "precedence": n % 200,
            "filters": (0..15).map(filter).collect::<Vec<_>>(),
            "supis": (0..15).map(supi).collect::<Vec<_>>(),
        })
    };
    (0..count).map(flow).collect()
}

#[test]
fn policies_with_thousands_of_texts_are_changed_within_seconds() {
    in_namespace(|| async {
        let site = api_site("api-policies")?;
        let core = site.start(&[])?;
        let api = Caller::socket(&site).with("if-match", "*");
        let within = |method: &str, path: &str, body: Option<Value>| -> Result<Value> {
            let start = Instant::now();
            let answer = api.request(method, path, body)?.expect(200)?.body;
            let took = start.elapsed();
            println!("{method} {path}: {took:?}");
            ensure!(took < LONGEST, "{method} {path} took {took:?}");
            Ok(answer)
        };
        let mut policies = within("GET", "/policies", None)?;
        policies["flows"] = flows(200).into();
        within("PUT", "/policies?dry_run=true", Some(policies.clone()))?;
        let report = within("PUT", "/policies", Some(policies.clone()))?;
        ensure!(report["changed"] == json!(["pcf.flows"]), "{}", report["changed"]);
        let read = within("GET", "/policies", None)?;
        ensure!(read["flows"][199]["supis"] == policies["flows"][199]["supis"], "{read}");
        // Every resource of the configuration is read from the whole file.
        within("GET", "/slices", None)?;
        policies["default_5qi"] = 8.into();
        within("PUT", "/policies", Some(policies))?;
        // One byte more than the limit: the core has read all of it when it answers.
        let body = |length: usize| json!({"default_ambr": "x".repeat(length)});
        let around = body(0).to_string().len();
        let long = body((1 << 20) + 1 - around);
        api.request("PUT", "/policies", Some(long))?.expect(413)?;
        core.stop()
    });
}
