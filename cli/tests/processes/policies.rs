//! Policies with many texts over the API: a change and the reads after it take seconds at most.
use crate::api::{Caller, api_site};
use anyhow::{Result, ensure};
use martlet_tests::in_namespace;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// Longest time of a request. Clients give up after 10 s, such as Schemathesis; an unoptimised
/// build on a busy machine gets more. One that compiles a pattern for each text takes 35 s.
const LONGEST: Duration = Duration::from_secs(if cfg!(debug_assertions) { 20 } else { 10 });

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

/// The names of flows are texts: none is taken for a secret, and none stands for one.
#[test]
fn a_text_that_looks_like_a_secret_is_edited_and_reveals_none() {
    const PRIVATE: &str = "c53c22208b61860b06c62e5406a7b330c2b577aa5558981510d128247d38bd1d";
    in_namespace(|| async {
        let site = api_site("api-secret-texts")?;
        let config = std::fs::read_to_string(site.config())?;
        let key = format!(
            "udm: {{ home_network_keys: [{{ id: 1, scheme: A, private: \"{PRIVATE}\" }}] }}\n"
        );
        std::fs::write(site.config(), config + &key)?;
        let core = site.start(&[])?;
        let api = Caller::socket(&site).with("if-match", "*");
        let mut policies = api.get("/policies")?;
        let names = ["key: x", "password: \"y\"", "(hidden 1)", "x://a:b@c"];
        let flow = |name: &str| {
            json!({"name": name, "five_qi": 7, "filters":
            ["permit out 17 from 10.0.0.0/8 5060 to assigned"]})
        };
        policies["flows"] = names.iter().map(|name| flow(name)).collect();
        let put = |body: &Value| api.request("PUT", "/policies", Some(body.clone()))?.expect(200);
        put(&policies)?;
        // The names return as they are, but for the password of what is a whole URL.
        let read = api.get("/policies")?;
        for (n, name) in names[..3].iter().enumerate() {
            ensure!(read["flows"][n]["name"] == *name, "{read}");
        }
        policies["flows"].as_array_mut().into_iter().for_each(|flows| flows.truncate(3));
        put(&policies)?;
        policies["flows"][0]["five_qi"] = 8.into();
        put(&policies)?;
        let read = api.get("/policies")?;
        ensure!(read["flows"][0]["five_qi"] == 8 && read["flows"][2]["name"] == names[2], "{read}");

        let shown = api.get("/configuration")?;
        ensure!(!shown.to_string().contains(PRIVATE), "{shown}");
        let text = shown["text"].as_str().unwrap_or_default();
        ensure!(text.contains("private: \"(hidden 1)\""), "{text}");
        // The key stays although the text is written with its mark.
        let body = json!({"text": format!("{text}# A comment.\n")});
        api.request("PUT", "/configuration", Some(body))?.expect(200)?;
        let text = std::fs::read_to_string(site.config())?;
        ensure!(text.contains(PRIVATE) && text.contains("# A comment."), "{text}");
        core.stop()
    });
}
