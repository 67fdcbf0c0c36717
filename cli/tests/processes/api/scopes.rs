//! Who may use each operation of the API, and how long. An operation that is in the description and
//! in no table here fails the test.
use super::changes::site_for_changes;
use crate::api::{Caller, described, nothing};
use crate::openapi::site_with_token;
use anyhow::{Context, Result, ensure};
use martlet_tests::in_namespace_within;
use serde_json::json;
use std::collections::BTreeSet;
use std::io::Read;
use std::time::{Duration, Instant};

/// Longest time of a test.
const LONGEST: Duration = Duration::from_secs(400);

/// Operations that need no caller.
const PUBLIC: &[(&str, &[&str])] = &[
    ("GET", &["/session/oidc"]),
    ("POST", &["/session", "/session/oidc", "/session/oidc/callback"]),
];

/// Operations that need any caller.
const CALLER: &[(&str, &[&str])] =
    &[("GET", &["/session"]), ("PUT", &["/session/password"]), ("DELETE", &["/session"])];

/// Operations that need the scope `read`.
const READ: &[(&str, &[&str])] = &[(
    "GET",
    &[
        "/alarms",
        "/charging",
        "/charging/{supi}",
        "/data-networks",
        "/events",
        "/events/recent",
        "/functions",
        "/gnbs",
        "/interfaces",
        "/lab-reports",
        "/lab-reports/{name}",
        "/lab-reports/{name}/plots/{plot}",
        "/lab-runs",
        "/network-functions",
        "/overview",
        "/plan",
        "/policies",
        "/sim-batches",
        "/slices",
        "/status",
        "/subscriber-groups",
        "/subscribers",
        "/subscribers/{supi}",
        "/transmission-points",
        "/ues",
        "/ues/{supi}",
        "/ues/{supi}/history",
        "/ues/{supi}/sessions",
        "/uplink-classifiers",
        "/user-plane",
        "/user-plane/sessions/{seid}",
        "/version",
    ],
)];

/// Operations that need the scope `subscribers`.
const SUBSCRIBERS: &[(&str, &[&str])] = &[
    ("POST", &["/subscribers", "/subscriber-imports", "/subscriber-changes", "/sim-batches"]),
    ("PUT", &["/subscribers/{supi}"]),
    ("PATCH", &["/subscribers/{supi}"]),
    ("DELETE", &["/subscribers/{supi}"]),
];

/// Operations that need the scope `network`.
const NETWORK: &[(&str, &[&str])] = &[
    ("GET", &["/jobs", "/jobs/{id}", "/jobs/{id}/pcap"]),
    ("GET", &["/location-requests", "/location-requests/{id}"]),
    ("DELETE", &["/captures", "/jobs/{id}", "/location-requests/{id}"]),
    ("PUT", &["/charging/{supi}"]),
    (
        "POST",
        &[
            "/alarms/{id}/acknowledgement",
            "/captures",
            "/gnbs/{id}/release",
            "/location-requests",
            "/location-requests/{id}/stop",
            "/traces",
            "/traces/live",
            "/ues/{supi}/deregistration",
            "/ues/{supi}/location",
            "/ues/{supi}/messages",
            "/ues/{supi}/paging",
            "/ues/{supi}/release",
            "/user-plane/renewal",
        ],
    ),
];

/// Operations that need the scope `administration`.
const ADMINISTRATION: &[(&str, &[&str])] = &[
    ("GET", &["/audit", "/backups", "/certificates", "/configuration", "/tokens", "/users"]),
    ("GET", &["/restores", "/restores/preview"]),
    ("POST", &["/backups", "/configuration/check", "/lab-runs", "/restores", "/tokens", "/users"]),
    ("PUT", &["/configuration", "/data-networks", "/policies", "/slices", "/uplink-classifiers"]),
    ("PUT", &["/functions/{name}/draining", "/plan"]),
    ("POST", &["/functions/amf/rebalancing"]),
    ("PATCH", &["/users/{name}"]),
    ("DELETE", &["/restores", "/tokens/{id}", "/users/{name}"]),
];

/// Users of each role, and tokens with one scope each, at every operation: who lacks its scope is
/// refused, and who has it is not. What they send is wrong, so that nothing is changed.
#[test]
fn every_operation_is_refused_to_roles_and_tokens_without_its_scope() {
    in_namespace_within(LONGEST, || async {
        let (site, core, _) = site_with_token("api-roles", "chf: { enabled: true }\n")?;
        let api = Caller::socket(&site);
        let scopes = ["read", "subscribers", "network", "administration"];
        let needs = [
            (PUBLIC, None),
            (CALLER, None),
            (READ, Some("read")),
            (SUBSCRIBERS, Some("subscribers")),
            (NETWORK, Some("network")),
            (ADMINISTRATION, Some("administration")),
        ];
        let mut operations: Vec<(&str, &str, Option<&str>)> = Vec::new();
        for (table, scope) in needs {
            for (method, paths) in table {
                operations.extend(paths.iter().map(|path| (*method, *path, scope)));
            }
        }
        let known: BTreeSet<(String, String)> =
            operations.iter().map(|(m, p, _)| (m.to_string(), p.to_string())).collect();
        let described = described(&api)?;
        ensure!(known == described, "{:?}", known.symmetric_difference(&described));
        ensure!(known.len() == operations.len(), "an operation is in two tables");
        // It ends the session.
        operations.sort_by_key(|(method, path, _)| (*method, *path) == ("DELETE", "/session"));

        let mut callers: Vec<(String, Caller, &[&str])> = Vec::new();
        let roles =
            [("viewer", &scopes[..1]), ("operator", &scopes[..3]), ("administrator", &scopes[..])];
        for (role, has) in roles {
            let body = json!({"name": role, "role": role, "password": "first passphrase"});
            api.post("/users", body)?.expect(201)?;
            let caller = Caller::tcp().sign_in(role, "first passphrase")?;
            caller.change_password("first passphrase", "another passphrase")?;
            callers.push((role.into(), caller, has));
        }
        for (n, scope) in scopes.iter().enumerate() {
            let body =
                json!({"name": scope, "days": 1, "user": "administrator", "scopes": [scope]});
            let made = api.post("/tokens", body)?.expect(201)?.body;
            let token = format!("Bearer {}", made["token"].as_str().context("a token")?);
            let caller = Caller::tcp().with("authorization", &token);
            callers.push((format!("token of {scope}"), caller, &scopes[n..=n]));
        }
        let before = (api.get("/users")?, api.get("/subscribers")?, api.get("/configuration")?);
        let wrong = json!("wrong");
        for (method, path, scope) in &operations {
            let body = (*method != "GET").then_some(&wrong);
            let ask = |caller: &Caller| {
                let caller = caller.with("if-match", "*");
                caller.status(method, &nothing(path), body)
            };
            let is_public = PUBLIC.iter().any(|(of, paths)| of == method && paths.contains(path));
            let status = ask(&Caller::tcp())?;
            ensure!((status == 401) != is_public, "{method} {path} without a caller: {status}");
            for (name, caller, has) in &callers {
                let status = ask(caller)?;
                let may = scope.is_none_or(|scope| has.contains(&scope));
                let is_refused = [401, 403].contains(&status);
                ensure!(is_refused != may, "{method} {path} as {name}: {status}");
                ensure!(!may || status != 500, "{method} {path} as {name}: {status}");
            }
        }
        let after = (api.get("/users")?, api.get("/subscribers")?, api.get("/configuration")?);
        ensure!(before == after, "a wrong request changed something");
        core.stop()
    });
}

/// Events and live traces of a user who is removed or gets another role, and of a removed token.
#[test]
fn streams_end_with_their_user_role_or_token() {
    in_namespace_within(LONGEST, || async {
        let (site, core) = site_for_changes("api-streams")?;
        let api = Caller::socket(&site);
        let operator = |name: &str| -> Result<Caller> {
            let body = json!({"name": name, "role": "operator", "password": "first passphrase"});
            api.post("/users", body)?.expect(201)?;
            let session = Caller::tcp().sign_in(name, "first passphrase")?;
            session.change_password("first passphrase", "another passphrase")?;
            Ok(session)
        };
        let (removed, reduced, other) = (operator("eva")?, operator("otto")?, operator("ida")?);
        let body = json!({"name": "ci", "scopes": ["read"], "days": 1, "user": "ida"});
        let made = api.post("/tokens", body)?.expect(201)?.body;
        let token = made["token"].as_str().context("a token")?;
        let token = Caller::tcp().with("authorization", &format!("Bearer {token}"));
        // Each reads until its stream ends.
        let read = |caller: &Caller, path: &'static str| -> Result<_> {
            let is_trace = path == "/traces/live";
            let (method, body) = if is_trace { ("POST", Some(json!({}))) } else { ("GET", None) };
            let mut stream = caller.begin(method, path, body.as_ref())?;
            let mut first = [0; 12];
            stream.read_exact(&mut first)?;
            ensure!(first.ends_with(b"200"), "{path}: {}", String::from_utf8_lossy(&first));
            Ok(std::thread::spawn(move || stream.read_to_end(&mut Vec::new())))
        };
        let ends = [
            ("events of a removed user", read(&removed, "/events")?),
            ("live trace of a removed user", read(&removed, "/traces/live")?),
            ("events of a reduced role", read(&reduced, "/events")?),
            ("events of a removed token", read(&token, "/events")?),
        ];
        let stays = read(&other, "/events")?;
        api.request("DELETE", "/users/eva", None)?.expect(204)?;
        api.request("PATCH", "/users/otto", Some(json!({"role": "viewer"})))?.expect(200)?;
        let path = format!("/tokens/{}", made["view"]["id"].as_str().context("an identity")?);
        api.request("DELETE", &path, None)?.expect(204)?;
        let give_up = Instant::now() + Duration::from_secs(60);
        for (what, reader) in ends {
            while !reader.is_finished() {
                ensure!(Instant::now() < give_up, "{what} go on");
                std::thread::sleep(Duration::from_millis(50));
            }
        }
        ensure!(!stays.is_finished(), "the events of another user ended");
        core.stop()
    });
}
