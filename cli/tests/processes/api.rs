//! The northbound API of a running core: accounts, roles, subscribers, UEs, events, and attacks.
use crate::site::*;
use anyhow::{Context, Result, ensure};
use martlet_lab::CoreProcess;
use martlet_ran::PduSessionRequest;
use martlet_tests::in_namespace;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// The address of the API in these tests.
pub const ADDRESS: &str = "127.0.0.1:9080";

/// A site whose core serves the API over TCP, too.
pub fn api_site(name: &str) -> Result<Site> {
    let site = Site::new(name)?;
    let config = std::fs::read_to_string(site.config())?;
    let api = format!("oam: {{ api: {{ enabled: true, listen: \"{ADDRESS}\" }},");
    std::fs::write(site.config(), config.replace("oam: {", &api))?;
    Ok(site)
}

/// The one-time password of the first administrator, which the core prints.
pub fn first_password(site: &Site) -> Result<String> {
    let log = std::fs::read_to_string(site.0.join("core.log"))?;
    let line = log.lines().find(|line| line.contains("one-time password")).context("a password")?;
    Ok(line.rsplit(' ').next().context("a word")?.to_string())
}

/// A response.
#[derive(Debug)]
pub struct Response {
    pub status: u16,
    head: String,
    pub body: Value,
}

impl Response {
    pub fn headers(&self, name: &str) -> Vec<&str> {
        let lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.filter(|(of, _)| of.eq_ignore_ascii_case(name)).map(|(_, value)| value).collect()
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.headers(name).first().copied()
    }

    fn tag(&self) -> Result<String> {
        Ok(self.header("etag").context("an ETag")?.to_string())
    }

    pub fn expect(self, status: u16) -> Result<Self> {
        ensure!(self.status == status, "{} instead of {status}: {}", self.status, self.body);
        Ok(self)
    }
}

/// A caller of the API.
#[derive(Default, Clone)]
pub struct Caller {
    socket: Option<std::path::PathBuf>,
    headers: Vec<(String, String)>,
}

impl Caller {
    /// Over the unix socket.
    pub fn socket(site: &Site) -> Self {
        Caller { socket: Some(site.0.join("api.sock")), headers: Vec::new() }
    }

    /// Over TCP, not signed in.
    pub fn tcp() -> Self {
        Caller::default()
    }

    pub fn headers(&self) -> &[(String, String)] {
        &self.headers
    }

    pub fn with(&self, name: &str, value: &str) -> Self {
        let mut other = self.clone();
        other.headers.push((name.into(), value.into()));
        other
    }

    fn send(&self, method: &str, path: &str, body: Option<&Value>) -> Result<String> {
        let text = body.map(Value::to_string).unwrap_or_default();
        let mut request = format!("{method} /api/v1{path} HTTP/1.1\r\nconnection: close\r\n");
        if !self.headers.iter().any(|(name, _)| name == "host") {
            request += &format!("host: {ADDRESS}\r\n");
        }
        for (name, value) in &self.headers {
            request += &format!("{name}: {value}\r\n");
        }
        if body.is_some() {
            request += "content-type: application/json\r\n";
        }
        request += &format!("content-length: {}\r\n\r\n{text}", text.len());
        let mut answer = String::new();
        match &self.socket {
            Some(socket) => {
                let mut stream = UnixStream::connect(socket)?;
                stream.write_all(request.as_bytes())?;
                stream.read_to_string(&mut answer)?;
            }
            None => {
                let mut stream = std::net::TcpStream::connect(ADDRESS)?;
                stream.write_all(request.as_bytes())?;
                stream.read_to_string(&mut answer)?;
            }
        }
        Ok(answer)
    }

    pub fn request(&self, method: &str, path: &str, body: Option<Value>) -> Result<Response> {
        let answer = self.send(method, path, body.as_ref())?;
        let (head, body) = answer.split_once("\r\n\r\n").context("an answer")?;
        let status = head.split(' ').nth(1).context("a status")?.parse()?;
        let body = serde_json::from_str(body).unwrap_or_default();
        Ok(Response { status, head: head.into(), body })
    }

    pub fn get(&self, path: &str) -> Result<Value> {
        Ok(self.request("GET", path, None)?.expect(200)?.body)
    }

    pub fn post(&self, path: &str, body: Value) -> Result<Response> {
        self.request("POST", path, Some(body))
    }

    /// Signs in; the caller then has the cookie and the CSRF token.
    pub fn sign_in(&self, user: &str, password: &str) -> Result<Self> {
        let body = json!({"user": user, "password": password});
        let response = self.post("/session", body)?.expect(200)?;
        let cookie = response.header("set-cookie").context("a cookie")?.to_string();
        ensure!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"), "{cookie}");
        let cookie = cookie.split(';').next().unwrap_or_default().to_string();
        let csrf = response.body["csrf_token"].as_str().context("a token")?.to_string();
        Ok(self.with("cookie", &cookie).with("x-csrf-token", &csrf))
    }

    pub fn change_password(&self, old: &str, new: &str) -> Result<()> {
        let body = json!({"old": old, "new": new});
        self.request("PUT", "/session/password", Some(body))?.expect(204)?;
        Ok(())
    }
}

pub fn subscriber(n: u64) -> Value {
    json!({
        "supi": format!("imsi-{:015}", 1_010_000_000_000 + n), "key": KEY, "opc": OPC,
        "slices": [{"sst": 1, "default": true, "dnns": [{"name": "internet", "default": true}]}],
    })
}

#[test]
fn first_administrator_roles_tokens_and_the_audit_log() {
    in_namespace(|| async {
        let site = api_site("api-accounts")?;
        let core = site.start(&[])?;
        let password = first_password(&site)?;
        ensure!(Caller::tcp().request("GET", "/ues", None)?.status == 401, "no user is signed in");
        let wrong = json!({"user": "admin", "password": "not the password"});
        Caller::tcp().post("/session", wrong)?.expect(401)?;

        // The one-time password opens nothing but its own change.
        let admin = Caller::tcp().sign_in("admin", &password)?;
        admin.request("GET", "/ues", None)?.expect(403)?;
        let weak = json!({"old": password, "new": "short"});
        let refused = admin.request("PUT", "/session/password", Some(weak))?.expect(400)?;
        ensure!(refused.body["remedy"].is_string(), "{}", refused.body);
        admin.change_password(&password, "a correct horse battery")?;
        admin.get("/ues")?;
        // Without the CSRF token a session changes nothing.
        let without = Caller { headers: vec![admin.headers[0].clone()], ..Caller::default() };
        without.post("/subscribers", subscriber(7))?.expect(403)?;

        let add = |name: &str, role: &str| -> Result<Caller> {
            let body = json!({"name": name, "role": role, "password": "first passphrase"});
            admin.post("/users", body)?.expect(201)?;
            let caller = Caller::tcp().sign_in(name, "first passphrase")?;
            caller.change_password("first passphrase", "another passphrase")?;
            Ok(caller)
        };
        let (viewer, operator) = (add("vera", "viewer")?, add("otto", "operator")?);
        viewer.get("/subscribers")?;
        for (path, body) in [("/subscribers", subscriber(7)), ("/users", json!({}))] {
            viewer.post(path, body)?.expect(403)?;
        }
        operator.post("/subscribers", subscriber(7))?.expect(201)?;
        for path in ["/users", "/tokens", "/audit", "/configuration"] {
            operator.request("GET", path, None)?.expect(403)?;
        }

        // A token has its scopes and no more, not even of its own user.
        let body = json!({"name": "ci", "scopes": ["read"], "days": 1});
        let made = admin.post("/tokens", body)?.expect(201)?.body;
        let text = made["token"].as_str().context("a token")?;
        let token = Caller::tcp().with("authorization", &format!("Bearer {text}"));
        token.get("/subscribers")?;
        token.post("/subscribers", subscriber(8))?.expect(403)?;
        token.request("GET", "/users", None)?.expect(403)?;
        let bad = Caller::tcp().with("authorization", &format!("Bearer {text}x"));
        bad.request("GET", "/subscribers", None)?.expect(401)?;

        // The session of a removed user ends.
        admin.request("DELETE", "/users/vera", None)?.expect(204)?;
        viewer.request("GET", "/subscribers", None)?.expect(401)?;
        admin.request("DELETE", "/users/admin", None)?.expect(409)?;

        let audit = admin.get("/audit?limit=1000")?;
        ensure!(audit["intact"] == true, "{audit}");
        let text = audit.to_string();
        for what in ["session.start", "user.create", "user.remove", "subscriber.create"] {
            ensure!(text.contains(what), "{what} is not in {text}");
        }
        for secret in [KEY, OPC, "passphrase", "argon2", &password] {
            ensure!(!text.contains(secret), "the audit log has a secret");
        }

        // Eleven wrong passwords lock the user out, with the right one, too.
        for _ in 0..10 {
            let wrong = json!({"user": "otto", "password": "not the password"});
            ensure!([401, 429].contains(&Caller::tcp().post("/session", wrong)?.status));
        }
        let right = json!({"user": "otto", "password": "another passphrase"});
        let locked = Caller::tcp().post("/session", right)?.expect(429)?;
        ensure!(locked.header("retry-after").is_some(), "{locked:?}");
        core.stop()
    });
}

#[test]
fn subscribers_with_conflicts_pages_idempotency_and_imports() {
    in_namespace(|| async {
        let site = api_site("api-subscribers")?;
        let core = site.start(&[])?;
        let api = Caller::socket(&site);
        let supi = "/subscribers/imsi-001010000000007";
        let once = api.with("idempotency-key", "a-key-of-this-test");
        once.post("/subscribers", subscriber(7))?.expect(201)?;
        let again = once.post("/subscribers", subscriber(7))?.expect(201)?;
        ensure!(again.header("idempotent-replay") == Some("true"), "{again:?}");
        once.post("/subscribers", subscriber(8))?.expect(422)?;
        api.post("/subscribers", subscriber(7))?.expect(409)?;

        let mut wrong = subscriber(9);
        wrong["slices"][0]["dnns"][0]["ambr_uplink"] = "fast".into();
        let refused = api.post("/subscribers", wrong)?.expect(400)?;
        ensure!(refused.header("content-type") == Some("application/problem+json"));
        ensure!(refused.body["field"] == "slices[0].dnns[0].ambr_uplink", "{}", refused.body);

        let read = api.request("GET", supi, None)?.expect(200)?;
        ensure!(!read.body.to_string().contains(KEY), "the key is shown");
        let tag = read.tag()?;
        let msisdn = |number: &str| Some(json!({"msisdn": number}));
        api.request("PATCH", supi, msisdn("491700000007"))?.expect(428)?;
        let changed = api.with("if-match", &tag).request("PATCH", supi, msisdn("491700000007"))?;
        let changed = changed.expect(200)?;
        ensure!(changed.body["msisdn"] == "491700000007");
        // A stale edit overwrites nothing.
        api.with("if-match", &tag).request("PATCH", supi, msisdn("491700000008"))?.expect(412)?;
        ensure!(api.get(supi)?["msisdn"] == "491700000007");

        let all: Vec<Value> = (20..60).map(subscriber).collect();
        let import = |dry_run| {
            let text = Value::from(all.clone()).to_string();
            json!({"format": "martlet", "text": text, "dry_run": dry_run, "replace": true})
        };
        let ended = |started: Value| -> Result<Value> {
            let give_up = Instant::now() + Duration::from_secs(20);
            loop {
                let id = started["id"].as_str().context("a job")?;
                let job = api.get(&format!("/jobs/{id}"))?;
                if job["state"] != "running" {
                    return Ok(job);
                }
                ensure!(Instant::now() < give_up, "{job}");
                std::thread::sleep(Duration::from_millis(50));
            }
        };
        let before = api.get("/subscribers")?["total"].clone();
        let dry = ended(api.post("/subscriber-imports", import(true))?.expect(202)?.body)?;
        ensure!(dry["result"]["new"] == 40, "{dry}");
        ensure!(api.get("/subscribers")?["total"] == before, "a dry run changed something");
        let done = ended(api.post("/subscriber-imports", import(false))?.expect(202)?.body)?;
        ensure!(done["state"] == "succeeded", "{done}");
        // The preview of another import names the fields that it would change, and no key.
        let mut other = all[0].clone();
        other["msisdn"] = "491700000020".into();
        other["key"] = "000102030405060708090a0b0c0d0e0f".into();
        let text = Value::from(vec![other]).to_string();
        let body = json!({"format": "martlet", "text": text, "dry_run": true});
        let preview = ended(api.post("/subscriber-imports", body)?.expect(202)?.body)?;
        let differences = json!([
            {"field": "msisdn", "before": all[0]["msisdn"], "after": "491700000020"},
            {"field": "key", "before": "(hidden)", "after": "(hidden)"},
        ]);
        ensure!(preview["result"]["first"][0]["differences"] == differences, "{preview}");

        let batch = json!({"name": "spring", "count": 5, "template": {
            "supi": "imsi-001010000001000", "slices": subscriber(1)["slices"]}});
        let made = api.post("/sim-batches", batch)?.expect(201)?.body;
        ensure!(made["sims"].as_array().is_some_and(|sims| sims.len() == 5), "{made}");
        ensure!(!api.get("/sim-batches")?.to_string().contains("opc"), "keys are shown again");

        let seen = supis(&api, "/subscribers?limit=7")?;
        ensure!(seen.len() as u64 == api.get("/subscribers")?["total"].as_u64().unwrap_or(0));
        ensure!(seen.is_sorted(), "{seen:?}");
        let descending = supis(&api, "/subscribers?limit=7&order=desc")?;
        ensure!(descending.iter().eq(seen.iter().rev()), "{descending:?}");
        api.request("GET", "/subscribers?order=down", None)?.expect(400)?;

        let tag = api.request("GET", supi, None)?.tag()?;
        api.with("if-match", &tag).request("DELETE", supi, None)?.expect(204)?;
        api.request("GET", supi, None)?.expect(404)?;
        core.stop()
    });
}

/// The SUPIs of all pages of a list.
fn supis(api: &Caller, list: &str) -> Result<Vec<String>> {
    let (mut seen, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = api.get(&format!("{list}{cursor}"))?;
        let items = page["items"].as_array().context("items")?;
        let supis = items.iter().map(|item| item["supi"].as_str().map(Into::into));
        seen.extend(supis.collect::<Option<Vec<String>>>().context("SUPIs")?);
        match page["next"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return Ok(seen),
        }
    }
}

/// Lines of the events until one contains a text.
fn events_until(stream: UnixStream, text: &str) -> Result<Vec<String>> {
    stream.set_read_timeout(Some(Duration::from_secs(15)))?;
    let mut lines = Vec::new();
    for line in BufReader::new(stream).lines() {
        let line = line.with_context(|| format!("waiting for {text} in {lines:#?}"))?;
        let found = line.contains(text);
        lines.push(line);
        if found {
            return Ok(lines);
        }
    }
    anyhow::bail!("{text} is not in {lines:#?}")
}

fn subscribe(site: &Site, after: Option<&str>) -> Result<UnixStream> {
    let mut stream = UnixStream::connect(site.0.join("api.sock"))?;
    let after = after.map(|id| format!("last-event-id: {id}\r\n")).unwrap_or_default();
    let path = "/api/v1/events?kinds=ue,ue_state,gnb,alarm";
    write!(stream, "GET {path} HTTP/1.1\r\nhost: localhost\r\n{after}\r\n")?;
    Ok(stream)
}

async fn ues_over_the_api(arguments: &'static [&'static str]) -> Result<()> {
    let name = if arguments.is_empty() { "api-ues" } else { "api-split" };
    let site = api_site(name)?;
    let core: CoreProcess = site.start(arguments)?;
    let give_up = Instant::now() + Duration::from_secs(20);
    while !site.0.join("api.sock").exists() {
        ensure!(Instant::now() < give_up, "no API");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let api = Caller::socket(&site);
    let reader = subscribe(&site, None)?;
    let gnb = gnb().await?;
    let ue = ue(&gnb, 1)?;
    ue.register().await?;
    let request =
        PduSessionRequest { dnn: Some("internet".into()), ..PduSessionRequest::default() };
    ue.establish_pdu_session(request).await?;
    let supi = "imsi-001010000000001";
    let lines = tokio::task::spawn_blocking(move || events_until(reader, supi)).await??;
    ensure!(lines.iter().any(|line| line.starts_with("event: gnb")), "{lines:#?}");
    // A reader resumes after its last event.
    let id = lines.iter().find_map(|line| line.strip_prefix("id: ")).context("an identity")?;
    let resumed = subscribe(&site, Some(id))?;
    tokio::task::spawn_blocking(move || events_until(resumed, supi)).await??;
    let foreign = subscribe(&site, Some("0-1"))?;
    tokio::task::spawn_blocking(move || events_until(foreign, "event: reset")).await??;

    let page = api.get("/ues?search=0000000001")?;
    ensure!(page["items"][0]["state"] == "registered, connected", "{page}");
    let sessions = api.get(&format!("/ues/{supi}/sessions"))?;
    let rules = &sessions[0]["user_plane"][0]["rules"];
    ensure!(rules.as_array().is_some_and(|rules| rules.len() >= 2), "{sessions}");
    ensure!(api.get("/gnbs")?[0]["connected_ues"] == 1);
    let history = api.get(&format!("/ues/{supi}/history"))?;
    ensure!(history.to_string().contains("registered"), "{history}");
    let overview = api.get("/overview")?;
    ensure!(overview["now"]["gnbs"] == 1, "{overview}");

    let post = |what: &'static str| {
        let api = api.clone();
        tokio::task::spawn_blocking(move || api.post(&format!("/ues/{supi}/{what}"), json!({})))
    };
    let reader = subscribe(&site, None)?;
    post("release").await??.expect(200)?;
    let state = "\"supis\":[\"imsi-001010000000001\"]";
    tokio::task::spawn_blocking(move || events_until(reader, state)).await??;
    let idle = api.get(&format!("/ues/{supi}"))?;
    ensure!(idle["state"] == "registered, idle", "{idle}");
    post("release").await??.expect(409)?;
    ue.service_request().await?;
    post("deregistration").await??.expect(200)?;
    // The AMF may have removed the context already.
    let gone = api.request("GET", &format!("/ues/{supi}"), None)?;
    ensure!(gone.status == 404 || gone.body["state"] == "deregistered", "{gone:?}");
    site.subscribe(3, 4)?;
    let others = (2..=6).map(|n| crate::site::ue(&gnb, n)).collect::<Result<Vec<_>>>()?;
    for other in &others {
        other.register().await?;
    }
    let seen = supis(&api, "/ues?limit=2&state=registered,%20connected")?;
    ensure!(seen.len() == others.len() && seen.is_sorted(), "{seen:?}");
    let descending = supis(&api, "/ues?limit=2&state=registered,%20connected&order=desc")?;
    ensure!(descending.iter().eq(seen.iter().rev()), "{descending:?}");
    // A UE that was refused has a history.
    let refused = crate::site::ue(&gnb, 77)?;
    ensure!(refused.register().await.is_err(), "the subscriber does not exist");
    let give_up = Instant::now() + Duration::from_secs(5);
    loop {
        let history = api.get("/ues/imsi-001010000000077/history")?.to_string();
        if history.contains("failed") {
            break;
        }
        ensure!(Instant::now() < give_up, "{history}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let id = api.get("/gnbs")?[0]["id"].as_str().context("an identity")?.to_string();
    api.post(&format!("/gnbs/{id}/release"), json!({}))?.expect(200)?;
    core.stop()
}

#[test]
fn ues_sessions_events_and_requests_over_the_api() {
    in_namespace(|| ues_over_the_api(&[]));
}

#[test]
fn a_split_core_has_the_same_api() {
    in_namespace(|| ues_over_the_api(&["--split"]));
}

#[test]
fn a_core_outlives_its_api() {
    in_namespace(|| async {
        let site = api_site("api-killed")?;
        let core = site.start(&["--split"])?;
        kill(&core, "oam")?;
        let gnb = gnb().await?;
        registration_cycle(&ue(&gnb, 1)?).await?;
        core.stop()
    });
}

/// Connections that send nothing further, garbage, and sign-ins without end, over TCP and the
/// socket: UEs register meanwhile, and the API answers afterwards. Its process has no rights.
async fn attack_on_the_api(arguments: &'static [&'static str]) -> Result<()> {
    let name = if arguments.is_empty() { "api-flood" } else { "api-flood-split" };
    let site = api_site(name)?;
    let core = site.start(arguments)?;
    let give_up = Instant::now() + Duration::from_secs(20);
    while Caller::socket(&site).get("/version").is_err() {
        ensure!(Instant::now() < give_up, "no API");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    if let Some(pid) = core.process_of("nf oam") {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
        for line in ["CapPrm:\t0000000000000000", "CapEff:\t0000000000000000", "NoNewPrivs:\t1"] {
            ensure!(status.contains(line), "{line:?} is not in {status}");
        }
        ensure!(status.contains("Seccomp:\t2"), "no filter of system calls: {status}");
    }
    let (mut tcp, mut sockets) = (Vec::new(), Vec::new());
    for _ in 0..280 {
        // Beyond its number of connections the API closes the next ones at once.
        if let Ok(mut stream) = std::net::TcpStream::connect(ADDRESS) {
            let _ = stream.write_all(b"POST /api/v1/session HTTP/1.1\r\nhost: 127.0.0.1:9080\r\n");
            tcp.push(stream);
        }
        if let Ok(mut stream) = UnixStream::connect(site.0.join("api.sock")) {
            let _ = stream.write_all(b"\0\xff GET /\x07");
            sockets.push(stream);
        }
    }
    let flood = tokio::task::spawn_blocking(|| {
        for _ in 0..50 {
            let body = json!({"user": "admin", "password": "not the password"});
            let _ = Caller::tcp().post("/session", body);
        }
    });
    let gnb = gnb().await?;
    registration_cycle(&ue(&gnb, 1)?).await?;
    registration_cycle(&ue(&gnb, 2)?).await?;
    flood.await?;
    drop((tcp, sockets));
    let give_up = Instant::now() + Duration::from_secs(20);
    while Caller::socket(&site).get("/version").is_err() {
        ensure!(Instant::now() < give_up, "the API does not answer any more");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    core.stop()
}

#[test]
fn attack_on_the_api_leaves_the_core_in_one_process_alone() {
    in_namespace(|| attack_on_the_api(&[]));
}

#[test]
fn attack_on_the_api_without_rights_leaves_a_split_core_alone() {
    in_namespace(|| attack_on_the_api(&["--split"]));
}

#[test]
fn a_policy_is_changed_over_the_api_and_the_rest_needs_a_restart() {
    in_namespace(|| async {
        let site = api_site("api-configuration")?;
        let core = site.start(&[])?;
        let api = Caller::socket(&site);
        let read = api.request("GET", "/configuration", None)?.expect(200)?;
        let text = read.body["text"].as_str().context("a text")?.to_string();
        let changed = format!("{text}pcf: {{ default_5qi: 8 }}\nsmf: {{ max_sessions: 77 }}\n");
        let body = || Some(json!({"text": changed}));
        let checked = api.post("/configuration/check", json!({"text": changed}))?.expect(200)?;
        ensure!(checked.body["restart"] == json!(["smf.max_sessions"]), "{}", checked.body);
        let wrong = json!({"text": format!("{text}pcf: {{ defualt_5qi: 8 }}\n")});
        let refused = api.post("/configuration/check", wrong)?.expect(400)?;
        ensure!(refused.body["detail"].to_string().contains("defualt_5qi"), "{}", refused.body);
        let write = api.with("if-match", &read.tag()?);
        let done = write.request("PUT", "/configuration", body())?.expect(200)?;
        ensure!(done.body["applied"].to_string().contains("pcf"), "{}", done.body);
        ensure!(api.get("/policies")?["default_5qi"] == 8);
        write.request("PUT", "/configuration", body())?.expect(412)?;

        let folder = site.0.join("backup");
        let made = api.post("/backups", json!({"folder": folder}))?.expect(202)?.body;
        let give_up = Instant::now() + Duration::from_secs(20);
        let id = made["id"].as_str().context("a job")?;
        while api.get(&format!("/jobs/{id}"))?["state"] != "succeeded" {
            ensure!(Instant::now() < give_up, "{}", api.get(&format!("/jobs/{id}"))?);
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        ensure!(folder.join("subscribers.db").exists() && folder.join("operator.key").exists());
        api.post("/backups", json!({"folder": "../x"}))?.expect(400)?;
        core.stop()
    });
}

/// Waits until a job has ended.
pub fn ended(api: &Caller, started: &Value, longest: Duration) -> Result<Value> {
    let give_up = Instant::now() + longest;
    loop {
        let id = started["id"].as_str().context("a job")?;
        let job = api.get(&format!("/jobs/{id}"))?;
        if job["state"] != "running" {
            return Ok(job);
        }
        ensure!(Instant::now() < give_up, "{job}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn fields_of(problem: &Value) -> Vec<String> {
    let errors = problem["errors"].as_array().into_iter().flatten();
    errors.filter_map(|error| error["field"].as_str().map(str::to_string)).collect()
}

#[test]
fn slices_networks_policies_and_classifiers_are_changed_by_their_fields() {
    in_namespace(|| async {
        let site = api_site("api-services")?;
        let config = std::fs::read_to_string(site.config())?;
        let commented = format!("{config}# Policies of this site.\npcf:\n  default_arp: 7 # low\n");
        std::fs::write(site.config(), commented)?;
        let core = site.start(&[])?;
        let api = Caller::socket(&site);
        let put = |path: &str, tag: &str, body: &Value| {
            api.with("if-match", tag).request("PUT", path, Some(body.clone()))
        };
        let read = api.request("GET", "/policies", None)?.expect(200)?;
        let (tag, present) = (read.tag()?, read.body);
        api.request("PUT", "/policies", Some(present.clone()))?.expect(428)?;
        let mut wrong = present.clone();
        wrong["default_arp"] = 16.into();
        wrong["flows"] = json!([{"name": "voice", "five_qi": 0, "filters": ["permit nothing"]}]);
        let refused = put("/policies", &tag, &wrong)?.expect(400)?;
        let fields = fields_of(&refused.body);
        for field in ["default_arp", "flows[0].five_qi"] {
            ensure!(fields.iter().any(|of| of == field), "{field} is not in {}", refused.body);
        }
        let mut wanted = present.clone();
        wanted["default_5qi"] = 8.into();
        wanted["flows"] = json!([{"name": "voice", "five_qi": 1, "precedence": 10,
            "filters": ["permit out 17 from 10.0.0.0/8 5060 to assigned"],
            "guaranteed_uplink": "100 Kbps", "guaranteed_downlink": "100 Kbps"}]);
        let preview = put("/policies?dry_run=true", &tag, &wanted)?.expect(200)?.body;
        let lines = preview["difference"].to_string();
        ensure!(lines.contains("+   default_5qi: 8") && lines.contains("voice"), "{preview}");
        ensure!(api.get("/policies")? == present, "a preview changed something");
        let done = put("/policies", &tag, &wanted)?.expect(200)?.body;
        ensure!(
            done["applied"].to_string().contains("pcf") && done["restart"] == json!([]),
            "{done}"
        );
        ensure!(api.get("/policies")?["flows"][0]["name"] == "voice");
        let text = std::fs::read_to_string(site.config())?;
        ensure!(text.contains("# Policies of this site.") && text.contains("# low"), "{text}");
        // A stale edit overwrites nothing.
        put("/policies", &tag, &present)?.expect(412)?;
        ensure!(api.get("/policies")?["default_5qi"] == 8);

        let read = api.request("GET", "/data-networks", None)?.expect(200)?;
        let mut networks = json!({"networks": read.body["networks"]});
        networks["networks"][0]["pool"] = "10.45.0.1/16".into();
        let refused = put("/data-networks", &read.tag()?, &networks)?.expect(400)?.body;
        ensure!(fields_of(&refused).contains(&"networks[0].pool".into()), "{refused}");
        networks["networks"] = read.body["networks"].clone();
        networks["networks"][0]["mtu"] = 1300.into();
        let done = put("/data-networks", &read.tag()?, &networks)?.expect(200)?.body;
        ensure!(done["restart"] == json!(["smf.dnns"]), "{done}");
        ensure!(api.get("/data-networks")?["networks"][0]["mtu"] == 1300);

        let read = api.request("GET", "/uplink-classifiers", None)?.expect(200)?;
        let classifier = |via: &str| {
            json!({"classifiers": [{"dnn": "internet", "via": via,
                "local": ["permit out ip from 10.98.0.0/16 to assigned"]}]})
        };
        let refused = put("/uplink-classifiers", &read.tag()?, &classifier("192.0.2.1:8805"))?;
        let refused = refused.expect(400)?.body;
        ensure!(fields_of(&refused).contains(&"classifiers[0].via".into()), "{refused}");
        let upf = read.body["upfs"][0].as_str().context("a UPF")?;
        let preview = put("/uplink-classifiers?dry_run=true", &read.tag()?, &classifier(upf))?;
        ensure!(preview.expect(200)?.body["restart"] == json!(["smf.branching"]));

        let read = api.request("GET", "/slices", None)?.expect(200)?;
        let slices = |sd: &str| json!({"slices": [{"sst": 1}, {"sst": 1, "sd": sd}]});
        let refused = put("/slices", &read.tag()?, &slices("x"))?.expect(400)?.body;
        ensure!(refused["field"].as_str().is_some_and(|f| f.starts_with("slices[1]")), "{refused}");
        let done = put("/slices", &read.tag()?, &slices("0000a7"))?.expect(200)?.body;
        // What needs a restart is said until there is one.
        ensure!(done["restart"] == json!(["network.slices", "smf.dnns"]), "{done}");
        ensure!(api.get("/slices")?["smf"][1]["sd"] == "0000a7", "{}", api.get("/slices")?);
        core.stop()?;
        // The file that the API wrote starts a core.
        site.start(&[])?.stop()
    });
}

#[test]
fn a_group_of_subscribers_is_changed_by_a_job_with_a_preview() {
    in_namespace(|| async {
        let site = api_site("api-groups")?;
        site.subscribe(100, 40)?;
        let core = site.start(&[])?;
        let api = Caller::socket(&site);
        let job = |body: Value| -> Result<Value> {
            let started = api.post("/subscriber-changes", body)?.expect(202)?.body;
            ended(&api, &started, Duration::from_secs(20))
        };
        let digits = json!({"imsi": "00101000000011"});
        let joined = job(json!({"select": digits, "add_groups": ["sensors"]}))?;
        ensure!(joined["result"]["done"] == 10, "{joined}");
        let groups = json!([{"name": "sensors", "subscribers": 10}]);
        ensure!(api.get("/subscriber-groups")? == groups);
        let page = api.get("/subscribers?group=sensors")?;
        ensure!(page["items"].as_array().is_some_and(|items| items.len() == 10), "{page}");

        let change = |more: Value| {
            let mut body = json!({"select": {"group": "sensors"}, "ambr_uplink": "5 Mbps",
                "data_network": {"name": "internet", "five_qi": 8}});
            if let (Some(members), Value::Object(more)) = (body.as_object_mut(), more) {
                members.extend(more);
            }
            body
        };
        let preview = job(change(json!({"dry_run": true})))?["result"].clone();
        ensure!(preview["matching"] == 10 && preview["changed"] == 10, "{preview}");
        ensure!(preview["fields"]["slices[0].dnns[0].five_qi"] == 10, "{preview}");
        ensure!(preview["first"][0]["differences"][0]["after"] == "5 Mbps", "{preview}");
        let path = "/subscribers/imsi-001010000000110";
        ensure!(api.get(path)?["ambr_uplink"] == "1 Gbps", "a preview changed something");

        // What was changed since the preview is a conflict.
        let msisdn = Some(json!({"msisdn": "491700000007"}));
        api.with("if-match", "*").request("PATCH", path, msisdn)?.expect(200)?;
        let version = json!({"version": preview["version"]});
        let stale = job(change(version))?;
        ensure!(stale["state"] == "failed", "{stale}");
        ensure!(stale["error"].to_string().contains("since the preview"), "{stale}");
        ensure!(api.get(path)?["ambr_uplink"] == "1 Gbps", "a stale change was made");

        let preview = job(change(json!({"dry_run": true})))?["result"].clone();
        let done = job(change(json!({"version": preview["version"]})))?;
        ensure!(done["state"] == "succeeded" && done["result"]["done"] == 10, "{done}");
        let changed = api.get(path)?;
        ensure!(changed["slices"][0]["dnns"][0]["five_qi"] == 8, "{changed}");
        ensure!(changed["msisdn"] == "491700000007", "{changed}");
        ensure!(api.get("/subscribers/imsi-001010000000100")?["ambr_uplink"] == "1 Gbps");
        let wrong = json!({"select": {"group": "sensors"}, "ambr_uplink": "fast"});
        let refused = api.post("/subscriber-changes", wrong)?.expect(400)?.body;
        ensure!(refused["field"] == "ambr_uplink" && refused["remedy"].is_string(), "{refused}");
        ensure!(api.get("/audit")?.to_string().contains("subscriber.change-many"));
        let gnb = gnb().await?;
        registration_cycle(&ue(&gnb, 110)?).await?;
        core.stop()
    });
}

#[test]
fn a_ue_is_located_periodically_and_its_track_is_removed() {
    in_namespace(|| async {
        let site = api_site("api-location")?;
        let config = std::fs::read_to_string(site.config())?;
        let cells = "lmf: { cells: [{ nr_cell_id: \"000001001\", pci: 1, lat: 54.0924, lon: \
                     12.0991 }] }\n";
        std::fs::write(site.config(), format!("{config}{cells}"))?;
        let core = site.start(&[])?;
        let api = Caller::socket(&site);
        let points = api.get("/transmission-points")?;
        ensure!(points[0]["name"] == "000001001" && points[0]["latitude"] == 54.0924, "{points}");
        let gnb = gnb().await?;
        let ue = ue(&gnb, 1)?;
        ue.register().await?;
        let wrong = json!({"supi": "imsi-001010000000001", "interval_s": 0, "seconds": 60});
        let refused = api.post("/location-requests", wrong)?.expect(400)?.body;
        ensure!(refused["field"] == "interval_s", "{refused}");
        let body = json!({"supi": "imsi-001010000000001", "interval_s": 1, "seconds": 60});
        let started = api.post("/location-requests", body)?.expect(201)?.body;
        let path = format!("/location-requests/{}", started["id"].as_str().context("an id")?);
        let give_up = Instant::now() + Duration::from_secs(30);
        loop {
            let request = api.get(&path)?;
            let positions = request["positions"].as_array().context("positions")?;
            if positions.len() >= 2 {
                ensure!(positions[0]["semi_major"].as_f64().is_some_and(|m| m > 0.0), "{request}");
                ensure!(positions[0]["ms"].as_u64() < positions[1]["ms"].as_u64(), "{request}");
                break;
            }
            ensure!(Instant::now() < give_up, "{request}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        // Tracks are not for viewers.
        let user = json!({"name": "vera", "role": "viewer", "password": "first passphrase"});
        api.post("/users", user)?.expect(201)?;
        let viewer = Caller::tcp().sign_in("vera", "first passphrase")?;
        viewer.change_password("first passphrase", "another passphrase")?;
        viewer.request("GET", "/location-requests", None)?.expect(403)?;
        let stopped = api.post(&format!("{path}/stop"), json!({}))?.expect(200)?.body;
        ensure!(stopped["state"] == "stopped", "{stopped}");
        let length = |request: &Value| request["positions"].as_array().map_or(0, Vec::len);
        ensure!(length(&api.get(&path)?) >= 2, "the track ends with the request");
        api.request("DELETE", &path, None)?.expect(204)?;
        api.request("GET", &path, None)?.expect(404)?;
        let interfaces = api.get("/interfaces")?["interfaces"].to_string();
        ensure!(interfaces.contains("gnb-1") && interfaces.contains("N4"), "{interfaces}");
        core.stop()
    });
}

/// A run of the real program; `make release-lab` or `cargo build -p martlet-lab` builds it.
#[test]
fn a_quick_run_of_the_lab_is_started_over_the_api() {
    let program = std::path::Path::new(MARTLET).with_file_name("martlet-lab");
    if !program.exists() {
        return martlet_tests::skip("a quick run: martlet-lab is not built");
    }
    martlet_tests::in_namespace_within(Duration::from_secs(300), || async {
        let site = api_site("api-lab")?;
        let config = std::fs::read_to_string(site.config())?;
        let (reports, socket) = (site.0.join("lab"), site.0.join("lab.sock"));
        let lab = format!("lab_reports: {reports:?}, lab_socket: {socket:?}, enabled: true,");
        std::fs::write(site.config(), config.replace("enabled: true,", &lab))?;
        let core = site.start(&[])?;
        let api = Caller::socket(&site);
        let without = api.get("/lab-runs")?;
        ensure!(without["available"] == false, "{without}");
        ensure!(without["remedy"].to_string().contains("install martlet-lab"), "{without}");
        let request = |name: &str| api.post("/lab-runs", json!({"experiment": name}));
        let refused = request("sbi")?.expect(422)?.body;
        ensure!(refused["detail"].to_string().contains("does not serve"), "{refused}");

        let args = martlet_lab::serve::ServeArgs {
            socket: socket.clone(),
            out: reports,
            user: Vec::new(),
            limit_min: 4,
            program: Some(program),
        };
        let server = tokio::spawn(martlet_lab::serve::serve(args));
        let give_up = Instant::now() + Duration::from_secs(10);
        let api2 = api.clone();
        let ask = move |path: &'static str| {
            let api = api2.clone();
            tokio::task::spawn_blocking(move || api.get(path))
        };
        while ask("/lab-runs").await??["available"] != true {
            ensure!(Instant::now() < give_up, "{}", ask("/lab-runs").await??);
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        let api2 = api.clone();
        tokio::task::spawn_blocking(move || -> Result<()> {
            let request = |name: &str| api2.post("/lab-runs", json!({"experiment": name}));
            let refused = request("upf; reboot")?.expect(400)?.body;
            ensure!(refused["field"] == "experiment", "{refused}");
            // A run that is cancelled leaves no report.
            let started = request("sbi")?.expect(202)?.body;
            let path = format!("/jobs/{}", started["id"].as_str().context("a job")?);
            let give_up = Instant::now() + Duration::from_secs(20);
            while !api2.get(&path)?["result"].to_string().contains("sbi begins") {
                ensure!(Instant::now() < give_up, "{}", api2.get(&path)?);
                std::thread::sleep(Duration::from_millis(50));
            }
            request("sbi")?.expect(409)?;
            api2.request("DELETE", &path, None)?.expect(200)?;
            while !api2.get("/lab-runs")?["running"].is_null() {
                ensure!(Instant::now() < give_up, "the run goes on");
                std::thread::sleep(Duration::from_millis(50));
            }
            ensure!(api2.get("/lab-reports")? == json!([]));
            let started = request("sbi")?.expect(202)?.body;
            let done = ended(&api2, &started, Duration::from_secs(240))?;
            ensure!(done["state"] == "succeeded", "{done}");
            let report = done["result"]["report"].as_str().context("a report")?;
            let shown = api2.get(&format!("/lab-reports/{report}"))?;
            ensure!(shown["lab"] == "sbi" && shown["values"][0]["value"].is_number(), "{shown}");
            Ok(())
        })
        .await??;
        server.abort();
        core.stop()
    });
}

/// A backup that the API made brings back subscribers and accounts of its time.
#[test]
fn a_backup_of_the_api_is_restored() {
    in_namespace(|| async {
        let site = api_site("api-restore")?;
        let core = site.start(&[])?;
        let api = Caller::socket(&site);
        api.post("/subscribers", subscriber(7))?.expect(201)?;
        let user = json!({"name": "otto", "role": "operator", "password": "first passphrase"});
        api.post("/users", user)?.expect(201)?;
        let restored_path = "/subscribers/imsi-001010000000007";
        let before = api.get(restored_path)?;
        let folder = site.0.join("backup").display().to_string();
        let made = api.post("/backups", json!({"folder": folder}))?.expect(202)?.body;
        let give_up = Instant::now() + Duration::from_secs(20);
        let job = format!("/jobs/{}", made["id"].as_str().context("a job")?);
        while api.get(&job)?["state"] != "succeeded" {
            ensure!(Instant::now() < give_up, "{}", api.get(&job)?);
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        let with = api.with("if-match", "*");
        with.request("DELETE", restored_path, None)?.expect(204)?;
        api.post("/subscribers", subscriber(8))?.expect(201)?;
        api.request("DELETE", "/users/otto", None)?.expect(204)?;

        let config = site.config().display().to_string();
        let restore = |more: &[&str]| {
            let arguments = [&["restore", folder.as_str(), "-c", config.as_str()], more].concat();
            std::process::Command::new(MARTLET).args(arguments).output()
        };
        let refused = restore(&["--replace"])?;
        ensure!(!refused.status.success(), "a core runs with the database");
        core.stop()?;
        ensure!(!restore(&[])?.status.success(), "a database is replaced without --replace");
        // SQLite would write a journal that stays beside the restored database into it.
        let journal = site.0.join("martlet.db-journal");
        std::fs::write(&journal, "of the old database")?;
        let restored = restore(&["--replace"])?;
        ensure!(restored.status.success(), "{}", String::from_utf8_lossy(&restored.stderr));
        ensure!(!journal.exists(), "the journal of the old database is still there");

        let core = site.start(&[])?;
        ensure!(api.get(restored_path)? == before, "{}", api.get(restored_path)?);
        api.request("GET", "/subscribers/imsi-001010000000008", None)?.expect(404)?;
        Caller::tcp().sign_in("otto", "first passphrase")?;
        let gnb = gnb().await?;
        // The operator's key opens the keys of the restored subscriber.
        registration_cycle(&ue(&gnb, 7)?).await?;
        core.stop()
    });
}

/// OWASP ASVS V3.1.1, V8.2.1, V12.1.1, V13.1.3.
#[test]
fn secrets_are_no_parameters_answers_are_not_cached_and_bodies_are_bounded() {
    in_namespace(|| async {
        let site = api_site("api-asvs")?;
        let core = site.start(&[])?;
        let local = Caller::socket(&site);
        let user = json!({"name": "vera", "role": "viewer", "password": "first passphrase"});
        local.post("/users", user)?.expect(201)?;
        let body = json!({"name": "ci", "days": 1, "user": "vera", "scopes": ["read"]});
        let made = local.post("/tokens", body)?.expect(201)?;
        ensure!(made.header("cache-control") == Some("no-store"), "{made:?}");
        let token = made.body["token"].as_str().context("a token")?;
        let bearer = Caller::tcp().with("authorization", &format!("Bearer {token}"));
        for (caller, path, status) in [
            (&bearer, "/subscribers", 200),
            (&bearer, "/users", 403),
            (&bearer, "/nothing", 403),
            (&Caller::tcp(), "/subscribers", 401),
        ] {
            let answer = caller.request("GET", path, None)?.expect(status)?;
            ensure!(answer.header("cache-control") == Some("no-store"), "{path}: {answer:?}");
        }
        for name in ["token", "access_token", "authorization"] {
            let path = format!("/subscribers?{name}={token}");
            Caller::tcp().request("GET", &path, None)?.expect(401)?;
        }
        let session = Caller::tcp().sign_in("vera", "first passphrase")?;
        let cookie = session.headers[0].1.replace('=', "%3D");
        Caller::tcp().request("GET", &format!("/session?cookie={cookie}"), None)?.expect(401)?;
        // Who is not signed in sends no more than a sign-in needs.
        let long = json!({"user": "vera", "password": "x".repeat(5000)});
        Caller::tcp().post("/session", long)?.expect(413)?;
        core.stop()
    });
}

/// OWASP ASVS V2.3.1, V3.3.1: the one-time password is printed once, also if it was not used; a
/// sign-out ends the session.
#[test]
fn the_one_time_password_is_printed_once_and_a_sign_out_ends_the_session() {
    in_namespace(|| async {
        let site = api_site("api-once")?;
        let core = site.start(&[])?;
        let password = first_password(&site)?;
        let log = std::fs::read_to_string(site.0.join("core.log"))?;
        ensure!(log.matches(&password).count() == 1, "{log}");
        core.stop()?;
        // The log of the next process is another one.
        let core = site.start(&[])?;
        let log = std::fs::read_to_string(site.0.join("core.log"))?;
        ensure!(!log.contains("one-time password") && !log.contains(&password), "{log}");
        let admin = Caller::tcp().sign_in("admin", &password)?;
        admin.change_password(&password, "a correct horse battery")?;
        admin.get("/users")?;
        admin.request("DELETE", "/session", None)?.expect(204)?;
        admin.request("GET", "/users", None)?.expect(401)?;
        // It was one-time.
        let body = json!({"user": "admin", "password": password});
        Caller::tcp().post("/session", body)?.expect(401)?;
        // No caller changes or removes an entry of the audit log.
        let local = Caller::socket(&site);
        for method in ["POST", "PUT", "PATCH", "DELETE"] {
            for path in ["/audit", "/audit/1"] {
                let status = local.request(method, path, Some(json!({})))?.status;
                ensure!([404, 405].contains(&status), "{method} {path}: {status}");
            }
        }
        core.stop()
    });
}

/// OWASP ASVS V3.4.1 to V3.4.4, V9.1.2, V9.1.3: with TLS the cookie is Secure with the prefix
/// `__Host-`, and old versions of TLS are refused.
#[test]
fn cookies_over_tls_are_secure_and_old_versions_are_refused() {
    const SCRIPT: &str = r#"
import http.client, json, socket, ssl, sys, warnings
warnings.simplefilter("ignore")
def context(version):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.minimum_version = context.maximum_version = version
    context.set_ciphers("ALL:@SECLEVEL=0")
    return context
client = http.client.HTTPSConnection(
    "127.0.0.1", 9080, context=context(ssl.TLSVersion.TLSv1_3), timeout=5)
client.request("POST", "/api/v1/session", sys.argv[1], {"content-type": "application/json"})
response = client.getresponse()
print(response.status, response.headers["set-cookie"])
for version in [ssl.TLSVersion.TLSv1_1, ssl.TLSVersion.TLSv1]:
    stream = socket.create_connection(("127.0.0.1", 9080), timeout=5)
    try:
        context(version).wrap_socket(stream)
        print("accepted", version)
    except ssl.SSLError as error:
        print("refused", error.reason)
"#;
    in_namespace(|| async {
        let site = api_site("api-tls")?;
        let pair = rcgen::generate_simple_self_signed(["127.0.0.1".to_string()])?;
        let (certificate, key) = (site.0.join("api.pem"), site.0.join("api.key"));
        std::fs::write(&certificate, pair.cert.pem())?;
        std::fs::write(&key, pair.signing_key.serialize_pem())?;
        let config = std::fs::read_to_string(site.config())?;
        let files = format!("enabled: true, certificate: {certificate:?}, key: {key:?},");
        std::fs::write(site.config(), config.replace("enabled: true,", &files))?;
        let core = site.start(&[])?;
        let body = json!({"user": "admin", "password": first_password(&site)?}).to_string();
        let python = tokio::process::Command::new("python3").args(["-c", SCRIPT, &body]).output();
        let output = python.await?;
        let text = String::from_utf8_lossy(&output.stdout);
        let errors = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "{text}{errors}");
        let cookie = text.lines().find(|line| line.starts_with("200 ")).context("a cookie")?;
        for part in ["__Host-martlet-session=", "Path=/", "HttpOnly", "SameSite=Strict"] {
            ensure!(cookie.contains(part), "{part} is not in {cookie}");
        }
        ensure!(cookie.contains("; Secure") && !cookie.contains("Domain"), "{cookie}");
        ensure!(text.matches("refused").count() == 2, "{text}");
        core.stop()
    });
}

/// A hash of a password takes 19 MiB; the process does not keep them.
#[test]
fn memory_of_password_hashes_is_returned() {
    in_namespace(|| async {
        let site = api_site("api-memory")?;
        let core = site.start(&[])?;
        let resident = || -> Result<u64> {
            let status = std::fs::read_to_string(format!("/proc/{}/status", core.id()))?;
            let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"));
            let kilobytes = line.and_then(|line| line.trim().strip_suffix(" kB"));
            Ok(kilobytes.context("RssAnon")?.parse()?)
        };
        let password = first_password(&site)?;
        let before = resident()?;
        for _ in 0..4 {
            Caller::tcp().sign_in("admin", &password)?;
        }
        let after = resident()?;
        ensure!(after < before + 10_000, "{before} kB before, {after} kB after four sign-ins");
        core.stop()
    });
}

/// The API of a core without viewers takes at most 6 MB of resident memory: connections, a
/// thread and an open database. Code that a poll brings in goes again.
#[test]
fn an_api_at_rest_takes_little_memory() {
    in_namespace(|| async {
        let resident = |core: &CoreProcess| -> Result<i64> {
            let status = std::fs::read_to_string(format!("/proc/{}/status", core.id()))?;
            let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
            let kilobytes = line.and_then(|line| line.trim().strip_suffix(" kB"));
            Ok(kilobytes.context("VmRSS")?.parse()?)
        };
        let without = Site::new("api-rest-off")?;
        let config = std::fs::read_to_string(without.config())?;
        let off = config.replace("oam: {", "oam: { api: { enabled: false },");
        std::fs::write(without.config(), off)?;
        let with = api_site("api-rest")?;
        let core = without.start(&[])?;
        // Both are read after the code of the start was unmapped.
        tokio::time::sleep(Duration::from_secs(6)).await;
        let before = resident(&core)?;
        core.stop()?;
        let core = with.start(&[])?;
        let give_up = Instant::now() + Duration::from_secs(20);
        loop {
            tokio::time::sleep(Duration::from_secs(1)).await;
            let after = resident(&core)?;
            if after <= before + 6_000 {
                break;
            }
            let what = format!("{before} kB without the API, {after} kB with it");
            ensure!(Instant::now() < give_up, what);
        }
        core.stop()
    });
}

/// A page of another site, also one whose name leads to this machine by DNS rebinding, reads and
/// changes nothing, not even in the browser of a user who is signed in.
#[test]
fn attack_web_page_asks_the_api() {
    in_namespace(|| async {
        let site = api_site("api-web")?;
        let core = site.start(&[])?;
        let password = first_password(&site)?;
        let admin = Caller::tcp().sign_in("admin", &password)?;
        admin.change_password(&password, "a correct horse battery")?;
        let own = admin.with("origin", &format!("http://{ADDRESS}"));
        own.request("GET", "/ues", None)?.expect(200)?;
        for origin in ["https://evil.example", "null", "http://127.0.0.1:9090"] {
            let page = admin.with("origin", origin);
            page.request("GET", "/ues", None)?.expect(403)?;
            page.post("/subscribers", subscriber(7))?.expect(403)?;
        }
        admin.with("sec-fetch-site", "cross-site").request("GET", "/ues", None)?.expect(403)?;
        for host in ["evil.example", "evil.example:9080"] {
            admin.with("host", host).request("GET", "/ues", None)?.expect(421)?;
        }
        // The page itself may not be framed, and takes scripts from its origin alone.
        let mut stream = std::net::TcpStream::connect(ADDRESS)?;
        write!(stream, "GET / HTTP/1.1\r\nhost: {ADDRESS}\r\nconnection: close\r\n\r\n")?;
        let mut page = String::new();
        stream.read_to_string(&mut page)?;
        let head = page.to_lowercase();
        ensure!(head.contains("script-src 'self'") && head.contains("frame-ancestors 'none'"));
        ensure!(!head.contains("unsafe-inline"), "{page}");
        core.stop()
    });
}
