//! What each change over the API leaves: an entry in the audit log, with the values before and
//! after. A change that is in the description and in no table here fails the test.
use crate::api::{Caller, api_site, described, ended, nothing, subscriber};
use crate::openapi::site_with_token;
use crate::site::*;
use anyhow::{Context, Result, ensure};
use martlet_lab::CoreProcess;
use martlet_ran::PduSessionRequest;
use martlet_tests::in_namespace_within;
use serde_json::{Value, json};
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// Longest time of a test.
const LONGEST: Duration = Duration::from_secs(400);

/// What a change takes of `If-Match`.
#[derive(Debug, Clone, Copy, PartialEq)]
enum IfMatch {
    /// Without it the change is refused, and so it is with another entity tag.
    Needed,
    /// With another entity tag the change is refused.
    Honoured,
    /// Nothing: what it changes has no versions.
    No,
}

/// Values of an entry of the audit log.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Values {
    None,
    Before,
    After,
    Both,
}

use IfMatch::{Honoured, Needed, No};
use Values::{After, Before, Both, None as Neither};

/// Changes: the word of the audit log, the values there, and `If-Match`.
const CHANGES: &[(&str, &str, &str, Values, IfMatch)] = &[
    ("POST", "/session", "session.start", Neither, No),
    ("PUT", "/session/password", "user.password", Neither, No),
    ("DELETE", "/session", "session.end", Neither, No),
    ("POST", "/subscribers", "subscriber.create", After, No),
    ("PUT", "/subscribers/{supi}", "subscriber.change", Both, Needed),
    ("PATCH", "/subscribers/{supi}", "subscriber.change", Both, Needed),
    ("DELETE", "/subscribers/{supi}", "subscriber.remove", Before, Needed),
    ("POST", "/subscriber-imports", "subscriber.import", After, No),
    ("POST", "/subscriber-changes", "subscriber.change-many", Both, No),
    ("POST", "/sim-batches", "sim-batch.create", After, No),
    ("POST", "/ues/{supi}/location", "ue.locate", Neither, No),
    ("POST", "/ues/{supi}/messages", "ue.record-messages", After, No),
    ("POST", "/ues/{supi}/release", "ue.release", After, No),
    ("POST", "/ues/{supi}/paging", "ue.page", After, No),
    ("POST", "/ues/{supi}/deregistration", "ue.deregister", After, No),
    ("POST", "/location-requests", "location-request.start", After, No),
    ("POST", "/location-requests/{id}/stop", "location-request.stop", Neither, No),
    ("DELETE", "/location-requests/{id}", "location-request.remove", Neither, No),
    ("POST", "/gnbs/{id}/release", "gnb.release", After, No),
    ("POST", "/alarms/{id}/acknowledgement", "alarm.acknowledge", Both, No),
    ("POST", "/traces", "trace.start", After, No),
    ("POST", "/traces/live", "trace.start", After, No),
    ("POST", "/captures", "capture.start", After, No),
    ("DELETE", "/captures", "capture.stop", After, No),
    ("POST", "/user-plane/renewal", "user-plane.renew", After, No),
    ("PUT", "/charging/{supi}", "charging.set", Both, Needed),
    ("PUT", "/functions/{name}/draining", "function.drain", Both, No),
    ("POST", "/functions/amf/rebalancing", "amf.rebalance", After, No),
    ("POST", "/lab-runs", "lab-run.start", Neither, No),
    ("DELETE", "/jobs/{id}", "job.cancel", After, No),
    ("PUT", "/slices", "slices.change", Both, Needed),
    ("PUT", "/data-networks", "data-networks.change", Both, Needed),
    ("PUT", "/uplink-classifiers", "uplink-classifiers.change", Both, Needed),
    ("PUT", "/policies", "policies.change", Both, Needed),
    ("PUT", "/configuration", "configuration.change", Both, Needed),
    ("PUT", "/plan", "plan.set", Both, Honoured),
    ("POST", "/users", "user.create", After, No),
    ("PATCH", "/users/{name}", "user.change", Both, Honoured),
    ("DELETE", "/users/{name}", "user.remove", Before, Honoured),
    ("POST", "/tokens", "token.create", After, No),
    ("DELETE", "/tokens/{id}", "token.remove", Before, No),
    ("POST", "/backups", "backup.create", After, No),
    ("POST", "/restores", "restore.stage", After, Needed),
    ("DELETE", "/restores", "restore.withdraw", Before, Honoured),
];

/// Operations that change nothing although they are no GET, and those with a test of their own.
const OTHERS: &[(&str, &str)] = &[
    ("POST", "/configuration/check"),
    ("POST", "/session/oidc"),
    // `a_user_of_an_openid_provider_has_the_role_of_the_claim`
    ("POST", "/session/oidc/callback"),
];

/// Changes over the API, each with its entry in the audit log.
struct Walk {
    api: Caller,
    /// Changes that were made.
    made: RefCell<BTreeSet<(String, String)>>,
    /// Number of the last entry of the audit log that was looked at.
    last: Cell<u64>,
}

impl Walk {
    fn new(api: &Caller) -> Result<Self> {
        let last = api.get("/audit?limit=1")?["items"][0]["number"].as_u64().unwrap_or(0);
        Ok(Walk { api: api.clone(), made: RefCell::default(), last: Cell::new(last) })
    }

    /// Makes a change over the socket. `tagged` is the path with the entity tag.
    fn change(&self, method: &str, template: &str, body: Value, tagged: &str) -> Result<Value> {
        self.change_at(method, template, template, body, tagged)
    }

    fn change_at(
        &self,
        method: &str,
        template: &str,
        path: &str,
        body: Value,
        tagged: &str,
    ) -> Result<Value> {
        let (.., if_match) = entry(method, template)?;
        let send = |caller: &Caller| caller.request(method, path, Some(body.clone()));
        let mut caller = self.api.clone();
        if if_match == Needed {
            send(&caller)?.expect(428).with_context(|| format!("{method} {path}"))?;
        }
        if if_match != No {
            let other = caller.with("if-match", "\"0123456789abcdef01234567\"");
            send(&other)?.expect(412).with_context(|| format!("{method} {path}"))?;
            let tag = self.api.request("GET", tagged, None)?.expect(200)?.tag()?;
            caller = caller.with("if-match", &tag);
        }
        let done = send(&caller)?;
        ensure!((200..300).contains(&done.status), "{method} {path}: {done:?}");
        self.recorded(method, template)?;
        Ok(done.body)
    }

    /// Waits for the entry of a change in the audit log: jobs write it while they run.
    fn recorded(&self, method: &str, template: &str) -> Result<()> {
        let (what, values, _) = entry(method, template)?;
        let give_up = Instant::now() + Duration::from_secs(60);
        loop {
            let log = self.api.get("/audit?limit=20")?;
            let items = log["items"].as_array().context("entries")?;
            let is_new = |item: &&Value| {
                item["number"].as_u64() > Some(self.last.get()) && item["what"] == what
            };
            if let Some(item) = items.iter().rev().find(is_new) {
                let has = |name: &str| !item[name].is_null();
                let expected = (matches!(values, Before | Both), matches!(values, After | Both));
                ensure!((has("before"), has("after")) == expected, "{method} {template}: {item}");
                ensure!(item["who"].is_string() && log["intact"] == true, "{log}");
                self.last.set(item["number"].as_u64().unwrap_or(0));
                break;
            }
            ensure!(Instant::now() < give_up, "{method} {template}: no {what} in {log}");
            std::thread::sleep(Duration::from_millis(50));
        }
        self.made.borrow_mut().insert((method.into(), template.into()));
        Ok(())
    }

    fn ended(&self, job: &Value) -> Result<Value> {
        ended(&self.api, job, Duration::from_secs(60))
    }
}

fn entry(method: &str, path: &str) -> Result<(&'static str, Values, IfMatch)> {
    let found = CHANGES.iter().find(|(m, p, ..)| (*m, *p) == (method, path));
    let (.., what, values, if_match) = found.with_context(|| format!("{method} {path}"))?;
    Ok((*what, *values, *if_match))
}

/// The private key of a home network, which the configuration gets.
const PRIVATE: &str = "c53c22208b61860b06c62e5406a7b330c2b577aa5558981510d128247d38bd1d";

fn of_subscribers(walk: &Walk, secrets: &mut Vec<String>) -> Result<()> {
    let supi = "imsi-001010000000050";
    let (at, path) = ("/subscribers/{supi}", format!("/subscribers/{supi}"));
    walk.change("POST", "/subscribers", subscriber(50), "")?;
    walk.change_at("PUT", at, &path, subscriber(50), &path)?;
    walk.change_at("PATCH", at, &path, json!({"msisdn": "491700000050"}), &path)?;
    walk.change_at("DELETE", at, &path, Value::Null, &path)?;
    let text = json!([subscriber(51), subscriber(52)]).to_string();
    let body = json!({"format": "martlet", "text": text});
    walk.ended(&walk.change("POST", "/subscriber-imports", body, "")?)?;
    let body = json!({"select": {"imsi": "00101000000005"}, "ambr_uplink": "5 Mbps"});
    walk.ended(&walk.change("POST", "/subscriber-changes", body, "")?)?;
    let template = json!({"supi": "imsi-001010000000060", "slices": subscriber(1)["slices"]});
    let body = json!({"name": "spring", "count": 2, "template": template});
    let made = walk.change("POST", "/sim-batches", body, "")?;
    for sim in made["sims"].as_array().context("SIMs")? {
        for secret in ["key", "opc"] {
            secrets.push(sim[secret].as_str().context("a key")?.to_string());
        }
    }
    Ok(())
}

fn of_network(walk: &Walk) -> Result<()> {
    let supi = "imsi-001010000000001";
    let of_ue = |what: &str, body: Value| {
        let (template, path) = (format!("/ues/{{supi}}/{what}"), format!("/ues/{supi}/{what}"));
        walk.change_at("POST", &template, &path, body, "")
    };
    of_ue("location", json!({}))?;
    let body = json!({"supi": supi, "interval_s": 1, "seconds": 60});
    let started = walk.change("POST", "/location-requests", body, "")?;
    let path = format!("/location-requests/{}", started["id"].as_str().context("an identity")?);
    let stop = "/location-requests/{id}/stop";
    walk.change_at("POST", stop, &format!("{path}/stop"), json!({}), "")?;
    walk.change_at("DELETE", "/location-requests/{id}", &path, Value::Null, "")?;
    walk.ended(&of_ue("messages", json!({"seconds": 1}))?)?;

    let job = walk.change("POST", "/traces", json!({"seconds": 60}), "")?;
    let path = format!("/jobs/{}", job["id"].as_str().context("a job")?);
    walk.change_at("DELETE", "/jobs/{id}", &path, Value::Null, "")?;
    // The response lasts as long as its reader.
    let with_key = walk.api.with("idempotency-key", "a-live-trace");
    ensure!(with_key.status("POST", "/traces/live", Some(&json!({})))? == 200);
    walk.recorded("POST", "/traces/live")?;
    let job = walk.change("POST", "/captures", json!({"seconds": 60}), "")?;
    walk.change("DELETE", "/captures", Value::Null, "")?;
    walk.ended(&job)?;
    walk.change("POST", "/user-plane/renewal", json!({}), "")?;
    let (path, quota) = (format!("/charging/{supi}"), |n: u64| json!({"bytes": n}));
    let read = walk.api.request("GET", &path, None)?.expect(200)?.tag()?;
    walk.change_at("PUT", "/charging/{supi}", &path, quota(1_000_000), &path)?;
    // The tag that was read before that change is stale, and its quota is not set.
    let stale = walk.api.with("if-match", &read).request("PUT", &path, Some(quota(5)))?;
    ensure!(stale.expect(412)?.body["remedy"].to_string().contains("read it again"));
    let account = &walk.api.get(&path)?["accounts"][supi];
    ensure!(account["left"] == 1_000_000, "{account}");
    let template = "/functions/{name}/draining";
    for draining in [true, false] {
        let body = json!({"draining": draining});
        walk.change_at("PUT", template, "/functions/nssf/draining", body, "")?;
        let log = walk.api.get("/audit?action=function.drain&limit=1")?;
        let (before, after) = (&log["items"][0]["before"], &log["items"][0]["after"]);
        ensure!(before["draining"] == !draining && after["draining"] == draining, "{log}");
    }
    let moved = walk.change("POST", "/functions/amf/rebalancing", json!({}), "")?;
    ensure!(moved["toMove"] == 0, "an AMF alone moves no UE: {moved}");
    let job = walk.change("POST", "/lab-runs", json!({"experiment": "sbi"}), "")?;
    walk.ended(&job)?;

    // The UE is connected: it is not paged, and the audit log has the failure.
    let paged = walk.api.post(&format!("/ues/{supi}/paging"), json!({}))?.expect(409)?;
    walk.recorded("POST", "/ues/{supi}/paging").with_context(|| paged.body)?;
    of_ue("release", json!({}))?;
    let (template, path) = ("/ues/{supi}/deregistration", "/ues/imsi-001010000000002");
    walk.change_at("POST", template, &format!("{path}/deregistration"), json!({}), "")?;
    let gnb = walk.api.get("/gnbs")?[0]["id"].as_str().context("a gNB")?.to_string();
    // An alarm is raised for a gNB that the API has seen.
    walk.api.get("/alarms")?;
    let path = format!("/gnbs/{gnb}/release");
    walk.change_at("POST", "/gnbs/{id}/release", &path, json!({}), "")?;
    let give_up = Instant::now() + Duration::from_secs(60);
    let alarm = format!("gnb-lost:{gnb}");
    while !walk.api.get("/alarms")?.to_string().contains(&alarm) {
        ensure!(Instant::now() < give_up, "{}", walk.api.get("/alarms")?);
        std::thread::sleep(Duration::from_millis(50));
    }
    let template = "/alarms/{id}/acknowledgement";
    walk.change_at("POST", template, &template.replace("{id}", &alarm), json!({}), "")?;
    Ok(())
}

fn of_configuration(walk: &Walk) -> Result<()> {
    let body = json!({"slices": [{"sst": 1}, {"sst": 1, "sd": "0000a7"}]});
    walk.change("PUT", "/slices", body, "/slices")?;
    let mut networks = json!({"networks": walk.api.get("/data-networks")?["networks"]});
    networks["networks"][0]["mtu"] = 1300.into();
    walk.change("PUT", "/data-networks", networks, "/data-networks")?;
    let upf = walk.api.get("/uplink-classifiers")?["upfs"][0].clone();
    let classifier = json!({"dnn": "internet", "via": upf,
        "local": ["permit out ip from 10.98.0.0/16 to assigned"]});
    let body = json!({"classifiers": [classifier]});
    walk.change("PUT", "/uplink-classifiers", body, "/uplink-classifiers")?;
    let mut policies = walk.api.get("/policies")?;
    policies["default_5qi"] = 8.into();
    walk.change("PUT", "/policies", policies, "/policies")?;
    let text = walk.api.get("/configuration")?["text"].as_str().context("a text")?.to_string();
    let key =
        format!("udm: {{ home_network_keys: [{{ id: 1, scheme: A, private: \"{PRIVATE}\" }}] }}\n");
    let body = json!({"text": text.replace("default_5qi: 8", "default_5qi: 7") + &key});
    walk.change("PUT", "/configuration", body, "/configuration")?;
    let last = walk.api.get("/audit?limit=1")?["items"][0].clone();
    ensure!(last["before"]["lines"][0].to_string().contains("default_5qi: 8"), "{last}");
    ensure!(last["after"]["lines"][0].to_string().contains("default_5qi: 7"), "{last}");
    ensure!(last["after"].to_string().contains("(hidden)"), "{last}");

    let plan = |name: &str| {
        let reference = |n: f64| json!({"x": n, "y": n, "latitude": n, "longitude": n});
        json!({"name": name, "image": "data:image/png;base64,AAAA",
            "references": [reference(1.0), reference(20.0)]})
    };
    let first = walk.api.with("if-none-match", "*");
    let stale = walk.api.with("if-match", "*");
    stale.request("PUT", "/plan", Some(plan("first")))?.expect(412).context("there is no plan")?;
    first.request("PUT", "/plan", Some(plan("first")))?.expect(204)?;
    first.request("PUT", "/plan", Some(plan("second")))?.expect(412).context("a plan")?;
    ensure!(walk.api.get("/plan")?["name"] == "first", "another plan was overwritten");
    walk.last.set(walk.api.get("/audit?limit=1")?["items"][0]["number"].as_u64().unwrap_or(0));
    walk.change("PUT", "/plan", plan("second"), "/plan")?;
    Ok(())
}

fn of_accounts(walk: &Walk, site: &Site, secrets: &mut Vec<String>) -> Result<()> {
    let body = json!({"name": "eva", "role": "viewer", "password": "first passphrase"});
    walk.change("POST", "/users", body, "")?;
    let body = json!({"role": "operator"});
    walk.change_at("PATCH", "/users/{name}", "/users/eva", body, "/users")?;
    let body = json!({"name": "ci", "scopes": ["read"], "days": 1, "user": "eva"});
    let made = walk.change("POST", "/tokens", body, "")?;
    secrets.push(made["token"].as_str().context("a token")?.to_string());
    let path = format!("/tokens/{}", made["view"]["id"].as_str().context("an identity")?);
    walk.change_at("DELETE", "/tokens/{id}", &path, Value::Null, "")?;

    let session = Caller::tcp().sign_in("eva", "first passphrase")?;
    walk.recorded("POST", "/session")?;
    session.change_password("first passphrase", "another passphrase")?;
    walk.recorded("PUT", "/session/password")?;
    session.request("DELETE", "/session", None)?.expect(204)?;
    walk.recorded("DELETE", "/session")?;
    walk.change_at("DELETE", "/users/{name}", "/users/eva", Value::Null, "/users")?;
    let body = json!({"folder": site.0.join("backup")});
    walk.ended(&walk.change("POST", "/backups", body.clone(), "")?)?;
    let preview = format!("/restores/preview?folder={}", site.0.join("backup").display());
    walk.change("POST", "/restores", body, &preview)?;
    walk.change("DELETE", "/restores", Value::Null, "/restores")?;
    Ok(())
}

/// A core with an XDP datapath, a CHF, a cell with a position, a folder of captures, and a lab.
pub fn site_for_changes(name: &str) -> Result<(Site, CoreProcess)> {
    let site = api_site(name)?;
    let config = std::fs::read_to_string(site.config())?;
    let (captures, reports) = (site.0.join("captures"), site.0.join("lab"));
    std::fs::create_dir(&captures)?;
    let socket = site.0.join("lab.sock");
    let lab = format!("enabled: true, lab_reports: {reports:?}, lab_socket: {socket:?},");
    let more = format!(
        "upf: {{ datapath: xdp, xdp: {{ sessions: 1024, rules: 4096, filters: 1024 }}, telemetry: \
         {{ captures: {captures:?} }} }}\nlmf: {{ cells: [{{ nr_cell_id: \"000001001\", pci: 1, \
         lat: 54.0924, lon: 12.0991 }}] }}\nchf: {{ enabled: true }}\n"
    );
    std::fs::write(site.config(), config.replace("enabled: true,", &lab) + &more)?;
    let core = site.start(&[])?;
    Ok((site, core))
}

/// Each POST of the description has the header parameter `Idempotency-Key` once, and no other
/// operation has it.
fn every_post_describes_its_idempotency_key(api: &Caller) -> Result<()> {
    let document = api.get("/openapi.json")?;
    for (path, item) in document["paths"].as_object().context("paths")? {
        for (method, operation) in item.as_object().context("operations")? {
            let parameters = operation["parameters"].as_array();
            let is_key = |it: &&Value| it["name"] == "Idempotency-Key" && it["in"] == "header";
            let keys: Vec<_> = parameters.into_iter().flatten().filter(is_key).collect();
            ensure!(keys.len() == usize::from(method == "post"), "{method} {path}: {keys:?}");
            let is_whole =
                |key: &&Value| key["schema"]["minLength"] == 8 && key["description"].is_string();
            ensure!(keys.iter().all(is_whole), "{method} {path}: {keys:?}");
        }
    }
    Ok(())
}

/// Each operation that is no GET: a stale entity tag is refused, a wrong idempotency key is
/// noticed, and the audit log has the change with the values before and after, without secrets.
#[test]
fn every_change_compares_entity_tags_and_is_in_the_audit_log() {
    in_namespace_within(LONGEST, || async {
        let (site, core) = site_for_changes("api-changes")?;
        let api = Caller::socket(&site);
        let changes = described(&api)?.into_iter().filter(|(method, _)| method != "GET");
        let changes: BTreeSet<_> = changes.collect();
        let listed = CHANGES.iter().map(|(method, path, ..)| (*method, *path));
        let listed = listed.chain(OTHERS.iter().copied());
        let listed: BTreeSet<_> = listed.map(|(m, p)| (m.to_string(), p.to_string())).collect();
        ensure!(changes == listed, "{:?}", changes.symmetric_difference(&listed));
        every_post_describes_its_idempotency_key(&api)?;
        for (method, path) in changes.iter().filter(|(method, _)| method == "POST") {
            let refused = api.with("idempotency-key", "short");
            let refused = refused.request(method, &nothing(path), Some(json!({})))?.expect(400)?;
            ensure!(refused.body["field"] == "Idempotency-Key", "{path}: {}", refused.body);
        }

        let gnb = gnb().await?;
        let ue = ue(&gnb, 1)?;
        ue.register().await?;
        let other = crate::site::ue(&gnb, 2)?;
        other.register().await?;
        let dnn = Some("internet".into());
        ue.establish_pdu_session(PduSessionRequest { dnn, ..PduSessionRequest::default() }).await?;
        // It knows the experiments; its runs end at once.
        let lab = martlet_lab::serve::ServeArgs {
            socket: site.0.join("lab.sock"),
            out: site.0.join("lab"),
            user: Vec::new(),
            limit_min: 1,
            nice: 19,
            program: Some("/bin/false".into()),
        };
        let lab = tokio::spawn(martlet_lab::serve::serve(lab));
        let site = tokio::task::spawn_blocking(move || -> Result<Site> {
            let walk = Walk::new(&api)?;
            let mut secrets: Vec<String> =
                [KEY, OPC, PRIVATE, "passphrase", "argon2"].map(str::to_string).into();
            of_subscribers(&walk, &mut secrets)?;
            of_network(&walk)?;
            of_configuration(&walk)?;
            of_accounts(&walk, &site, &mut secrets)?;
            let made = walk.made.borrow();
            for (method, path, ..) in CHANGES {
                let is_made = made.contains(&(method.to_string(), path.to_string()));
                ensure!(is_made, "{method} {path} is not made here");
            }
            let log = api.get("/audit?limit=1000")?;
            ensure!(log["intact"] == true, "{log}");
            for secret in secrets {
                ensure!(!log.to_string().contains(&secret), "{secret} is in the audit log");
            }
            Ok(site)
        })
        .await??;
        lab.abort();
        core.stop()?;
        drop(site);
        Ok(())
    });
}

/// The keys of SIMs and the secrets of tokens are shown once, to one response.
#[test]
fn responses_with_secrets_are_not_replayed() {
    in_namespace_within(LONGEST, || async {
        let (site, core, _) = site_with_token("api-replays", "")?;
        let api = Caller::socket(&site);
        let token = json!({"name": "ci", "scopes": ["read"], "days": 1, "user": "robot"});
        let template = json!({"supi": "imsi-001010000000060", "slices": subscriber(1)["slices"]});
        let batch = json!({"name": "spring", "count": 2, "template": template});
        for (path, body) in [("/tokens", token), ("/sim-batches", batch)] {
            let once = api.with("idempotency-key", &format!("a-key-of{path}"));
            once.post(path, body.clone())?.expect(201)?;
            once.post(path, body)?.expect(409)?;
        }
        core.stop()
    });
}

/// Who disconnects before the answer has changed something, and the audit log has it.
#[test]
fn a_change_is_recorded_although_its_client_disconnects() {
    in_namespace_within(LONGEST, || async {
        let (site, core, _) = site_with_token("api-disconnect", "")?;
        let api = Caller::socket(&site);
        let names: Vec<String> = (0..5).map(|n| format!("user-{n}")).collect();
        for name in &names {
            let body = json!({"name": name, "role": "viewer", "password": "first passphrase"});
            let request = api.begin("POST", "/users", Some(&body))?;
            // The password is hashed meanwhile.
            std::thread::sleep(Duration::from_millis(3));
            drop(request);
        }
        let give_up = Instant::now() + Duration::from_secs(60);
        loop {
            let (users, log) = (api.get("/users")?.to_string(), api.get("/audit")?.to_string());
            let has = |text: &str, name: &String| text.contains(&format!("\"{name}\""));
            // The entry follows the user.
            if names.iter().all(|name| has(&users, name) && has(&log, name)) {
                break;
            }
            ensure!(Instant::now() < give_up, "{users} {log}");
            std::thread::sleep(Duration::from_millis(50));
        }
        core.stop()
    });
}
