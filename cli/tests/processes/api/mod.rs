//! The northbound API of a running core: a caller of it for tests, and the tests, by subject.
mod accounts;
mod backups;
mod changes;
mod configuration;
mod flood;
mod further_upfs;
mod http_security;
mod lab_runs;
mod location;
mod memory;
mod nai;
mod restores;
mod scopes;
mod subscribers;
mod ues;

use crate::site::*;
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use std::collections::BTreeSet;
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

    pub fn tag(&self) -> Result<String> {
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

    /// Waits until the API answers: it starts last.
    pub async fn until_it_answers(&self) -> Result<()> {
        let give_up = Instant::now() + Duration::from_secs(60);
        while self.get("/version").is_err() {
            ensure!(Instant::now() < give_up, "no API");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        Ok(())
    }

    pub fn headers(&self) -> &[(String, String)] {
        &self.headers
    }

    pub fn with(&self, name: &str, value: &str) -> Self {
        let mut other = self.clone();
        other.headers.push((name.into(), value.into()));
        other
    }

    /// Sends a request. What is returned has the answer.
    pub fn begin(
        &self,
        method: &str,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Box<dyn Read + Send>> {
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
        Ok(match &self.socket {
            Some(socket) => {
                let mut stream = UnixStream::connect(socket)?;
                stream.write_all(request.as_bytes())?;
                Box::new(stream)
            }
            None => {
                let mut stream = std::net::TcpStream::connect(ADDRESS)?;
                stream.write_all(request.as_bytes())?;
                Box::new(stream)
            }
        })
    }

    fn send(&self, method: &str, path: &str, body: Option<&Value>) -> Result<String> {
        let mut answer = String::new();
        self.begin(method, path, body)?.read_to_string(&mut answer)?;
        Ok(answer)
    }

    /// The status of an answer, which may be a stream.
    pub fn status(&self, method: &str, path: &str, body: Option<&Value>) -> Result<u16> {
        let mut line = String::new();
        BufReader::new(self.begin(method, path, body)?).read_line(&mut line)?;
        Ok(line.split(' ').nth(1).context("a status")?.parse()?)
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

/// The SUPIs of all pages of a list.
pub fn supis(api: &Caller, list: &str) -> Result<Vec<String>> {
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

/// All operations of the description: method and path.
pub fn described(api: &Caller) -> Result<BTreeSet<(String, String)>> {
    let document = api.get("/openapi.json")?;
    let paths = document["paths"].as_object().context("paths")?;
    let methods = |(path, item): (&String, &Value)| {
        let methods = item.as_object().into_iter().flatten();
        methods.map(|(method, _)| (method.to_uppercase(), path.clone())).collect::<Vec<_>>()
    };
    Ok(paths.iter().flat_map(methods).collect())
}

/// The path of something that does not exist.
pub fn nothing(path: &str) -> String {
    let id = if path.starts_with("/gnbs") { "00101-999999" } else { "999999" };
    path.replace("{supi}", "imsi-001010000000099")
        .replace("{id}", id)
        .replace("{name}", "unknown")
        .replace("{plot}", "none")
        .replace("{seid}", "0xfffffffffffffff0")
}
