//! Sign-in with OpenID Connect: a core and a real provider (oidc-provider) on the loopback.
use crate::api::{ADDRESS, Caller, Response, api_site, first_password};
use crate::console::{BrowserPermit, BrowserScript, tools};
use crate::site::*;
use anyhow::{Context, Result, bail, ensure};
use martlet_tests::{in_namespace, in_namespace_within, skip};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::process::Stdio;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

const PORT: u16 = 7999;

/// The provider, which ends with this value.
struct Provider(#[expect(dead_code)] Child);

fn is_there() -> bool {
    tools().join("node_modules/oidc-provider").is_dir()
}

async fn start_provider() -> Result<Provider> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../console/tests/oidc_provider.mjs");
    let mut node = Command::new("node")
        .arg(script)
        .arg(tools())
        .args([PORT.to_string(), format!("http://{ADDRESS}/oidc")])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()?;
    let mut lines = BufReader::new(node.stdout.take().context("standard output")?).lines();
    while let Some(line) = lines.next_line().await? {
        if line == "ready" {
            tokio::spawn(async move {
                while let Ok(Some(line)) = lines.next_line().await {
                    println!("provider: {line}");
                }
            });
            return Ok(Provider(node));
        }
    }
    bail!("the provider ended")
}

/// A site whose core knows the provider.
fn oidc_site(name: &str) -> Result<Site> {
    let site = api_site(name)?;
    let secret = site.0.join("oidc.secret");
    std::fs::write(&secret, "a secret of the client\n")?;
    let oidc = format!(
        "listen: \"{ADDRESS}\", oidc: {{ issuer: \"http://127.0.0.1:{PORT}\", name: Example, \
         client_id: martlet, client_secret_file: \"{}\", redirect_uri: \"http://{ADDRESS}/oidc\", \
         scopes: [openid, profile, groups], \
         roles: {{ core-admins: administrator, noc: operator }} }}",
        secret.display()
    );
    let config = std::fs::read_to_string(site.config())?;
    std::fs::write(site.config(), config.replace(&format!("listen: \"{ADDRESS}\""), &oidc))?;
    Ok(site)
}

/// A browser at the provider: it keeps cookies and follows redirects.
#[derive(Default)]
struct Browser(BTreeMap<String, String>);

impl Browser {
    fn request(&mut self, url: &str, form: Option<&str>) -> Result<(Option<String>, String)> {
        let own = format!("http://127.0.0.1:{PORT}");
        let path = url.strip_prefix(&own).unwrap_or(url);
        let cookies: Vec<_> =
            self.0.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let (method, body) = form.map_or(("GET", ""), |form| ("POST", form));
        let mut stream = std::net::TcpStream::connect(("127.0.0.1", PORT))?;
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nhost: 127.0.0.1:{PORT}\r\nconnection: close\r\ncookie: \
             {}\r\ncontent-type: application/x-www-form-urlencoded\r\ncontent-length: \
             {}\r\n\r\n{body}",
            cookies.join("; "),
            body.len()
        )?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        let (head, body) = answer.split_once("\r\n\r\n").context("an answer")?;
        let mut location = None;
        for (name, value) in head.lines().filter_map(|line| line.split_once(": ")) {
            if name.eq_ignore_ascii_case("location") {
                location = Some(value.to_string());
            }
            let pair = value.split(';').next().and_then(|pair| pair.split_once('='));
            if let (true, Some((name, value))) = (name.eq_ignore_ascii_case("set-cookie"), pair) {
                self.0.insert(name.into(), value.into());
            }
        }
        Ok((location, body.into()))
    }

    /// Signs in at the provider as a user, and returns where it sends the browser.
    fn sign_in(&mut self, url: &str, user: &str) -> Result<String> {
        let mut next = url.to_string();
        for _ in 0..10 {
            if next.starts_with(&format!("http://{ADDRESS}/oidc?")) {
                return Ok(next);
            }
            let (location, body) = self.request(&next, None)?;
            next = match location {
                Some(location) => location,
                None => {
                    let prompt = body.split("name=\"prompt\" value=\"").nth(1);
                    let prompt = prompt.and_then(|rest| rest.split('"').next());
                    let prompt = prompt.with_context(|| format!("a form in {body}"))?;
                    let form = format!("prompt={prompt}&login={user}&password=any");
                    self.request(&next, Some(&form))?.0.context("a redirect")?
                }
            };
        }
        bail!("the provider does not come back")
    }
}

/// The parameters of a redirect, as the console sends them.
fn parameters(url: &str) -> Result<Value> {
    let query = url.split_once('?').context("parameters")?.1;
    let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    let decoded = |value: &str| value.replace("%3A", ":").replace("%2F", "/");
    Ok(pairs.map(|(name, value)| (name.to_string(), json!(decoded(value)))).collect())
}

/// The way of a user up to the redirect: the caller with the browser's cookie, and the parameters.
async fn redirected(user: &str) -> Result<(Caller, Value)> {
    let user = user.to_string();
    tokio::task::spawn_blocking(move || {
        let begun = Caller::tcp().post("/session/oidc", json!({}))?.expect(200)?;
        let caller = Caller::tcp().with("cookie", &cookie(&begun, "martlet-sign-in")?);
        let url = begun.body["authorization_url"].as_str().context("an address")?;
        let back = Browser::default().sign_in(url, &user)?;
        Ok((caller, parameters(&back)?))
    })
    .await?
}

fn cookie(response: &Response, name: &str) -> Result<String> {
    let all = response.headers("set-cookie");
    let found = all.iter().find(|cookie| cookie.starts_with(&format!("{name}=")));
    let cookie = found.with_context(|| format!("no cookie {name} in {all:?}"))?;
    ensure!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"), "{cookie}");
    Ok(cookie.split(';').next().unwrap_or_default().to_string())
}

async fn callback(caller: &Caller, parameters: &Value) -> Result<Response> {
    let (caller, parameters) = (caller.clone(), parameters.clone());
    tokio::task::spawn_blocking(move || caller.post("/session/oidc/callback", parameters)).await?
}

async fn sign_in(user: &str) -> Result<(Caller, Value)> {
    let (caller, parameters) = redirected(user).await?;
    let response = callback(&caller, &parameters).await?.expect(200)?;
    let csrf = response.body["csrf_token"].as_str().context("a CSRF token")?.to_string();
    let cookie = cookie(&response, "martlet-session")?;
    Ok((Caller::tcp().with("cookie", &cookie).with("x-csrf-token", &csrf), response.body))
}

/// OWASP ASVS V2.7, V2.8, V4.3.1: with `acr_values` and without local users, each user of the
/// console has a second factor at the provider.
#[test]
fn a_second_factor_is_needed_where_it_is_configured() {
    if !is_there() {
        return skip("OpenID Connect: `make console-tools` installs oidc-provider");
    }
    in_namespace(|| async {
        let _provider = start_provider().await?;
        let site = oidc_site("oidc-factor")?;
        let config = std::fs::read_to_string(site.config())?;
        let config = config.replace("oidc: {", "local_users: false, oidc: { acr_values: [mfa],");
        std::fs::write(site.config(), config)?;
        let core = site.start(&[])?;
        let log = std::fs::read_to_string(site.0.join("core.log"))?;
        ensure!(!log.contains("one-time password"), "{log}");
        let (caller, parameters) = redirected("anna").await?;
        let refused = callback(&caller, &parameters).await?;
        ensure!([401, 403].contains(&refused.status), "{refused:?}");
        ensure!(refused.body["detail"].to_string().contains("second factor"), "{}", refused.body);
        let (_, session) = sign_in("fault-second").await?;
        ensure!(session["role"] == "administrator", "{session}");
        // A local user has a password alone.
        let user = json!({"name": "eva", "role": "viewer", "password": "first passphrase"});
        Caller::socket(&site).post("/users", user)?.expect(201)?;
        let body = json!({"user": "eva", "password": "first passphrase"});
        Caller::tcp().post("/session", body)?.expect(403)?;
        core.stop()
    });
}

#[test]
fn a_user_of_an_openid_provider_has_the_role_of_the_claim() {
    if !is_there() {
        return skip("OpenID Connect: `make console-tools` installs oidc-provider");
    }
    in_namespace(|| async {
        let _provider = start_provider().await?;
        let site = oidc_site("oidc")?;
        let core = site.start(&[])?;
        ensure!(Caller::tcp().get("/session/oidc")? == json!({"provider": "Example"}));

        let (anna, session) = sign_in("anna").await?;
        ensure!(session["role"] == "administrator", "{session}");
        ensure!(session["user"] == "anna@example", "{session}");
        ensure!(anna.get("/session")?["user"] == "anna@example");
        // The session is like that of a local user: CSRF token, scopes, its end.
        let user = json!({"name": "eva", "role": "viewer", "password": "first passphrase"});
        let without = Caller::tcp().with("cookie", &anna.headers()[0].1);
        without.post("/users", user.clone())?.expect(403)?;
        anna.post("/users", user)?.expect(201)?;
        let token = json!({"name": "ci", "scopes": ["read"], "days": 1});
        let refused = anna.post("/tokens", token)?.expect(400)?;
        ensure!(refused.body["field"] == "user", "{}", refused.body);
        let password = json!({"old": "x", "new": "a correct horse battery"});
        anna.request("PUT", "/session/password", Some(password))?.expect(409)?;
        let (otto, session) = sign_in("otto").await?;
        ensure!(session["role"] == "operator", "{session}");
        otto.request("GET", "/users", None)?.expect(403)?;
        otto.get("/ues")?;

        let audit = anna.get("/audit")?;
        let entries = audit["items"].as_array().context("entries")?;
        let of = |what: &str, who: &str| {
            entries.iter().find(|entry| entry["what"] == what && entry["who"] == who)
        };
        let start = of("session.start", "oidc:anna").context("a session")?;
        let issuer = format!("http://127.0.0.1:{PORT}");
        ensure!(start["after"]["issuer"] == json!(issuer), "{start}");
        ensure!(start["after"]["subject"] == "anna", "{start}");
        ensure!(of("user.create", "oidc:anna").is_some(), "{audit}");

        // Who has no role is refused.
        for user in ["vera", "unknown"] {
            let (caller, parameters) = redirected(user).await?;
            let refused = callback(&caller, &parameters).await?.expect(403)?;
            ensure!(refused.body["detail"].to_string().contains("groups"), "{}", refused.body);
            ensure!(refused.headers("set-cookie").is_empty(), "{refused:?}");
        }
        anna.request("DELETE", "/session", None)?.expect(204)?;
        anna.request("GET", "/session", None)?.expect(401)?;
        core.stop()
    });
}

#[test]
fn wrong_id_tokens_and_states_of_an_openid_provider_are_refused() {
    if !is_there() {
        return skip("OpenID Connect: `make console-tools` installs oidc-provider");
    }
    in_namespace_within(Duration::from_secs(300), || async {
        let provider = start_provider().await?;
        let site = oidc_site("oidc-wrong")?;
        let config = std::fs::read_to_string(site.config())?;
        let many = "enabled: true, lockout_failures: 1000,";
        std::fs::write(site.config(), config.replace("enabled: true,", many))?;
        let core = site.start(&[])?;
        // The keys of the provider are known from here on.
        sign_in("anna").await?;
        for (fault, reason) in [
            ("nonce", "nonce"),
            ("audience", "another client"),
            ("issuer", "another issuer"),
            ("expired", "has expired"),
            ("unknown", "not one of the provider's"),
            ("signature", "signature"),
            ("none", "malformed"),
            ("hmac", "algorithm"),
        ] {
            let (caller, parameters) = redirected(&format!("fault-{fault}")).await?;
            let refused = callback(&caller, &parameters).await?.expect(401)?;
            let detail = refused.body["detail"].to_string();
            ensure!(detail.contains(reason), "{fault}: {detail}");
            ensure!(refused.headers("set-cookie").is_empty(), "{fault}: {refused:?}");
        }

        // A state is valid once, and in the browser that began.
        let (caller, parameters) = redirected("anna").await?;
        let (mallory, _) = redirected("anna").await?;
        for other in [&mallory, &Caller::tcp()] {
            let refused = callback(other, &parameters).await?.expect(400)?;
            ensure!(refused.body["field"] == "state", "{}", refused.body);
        }
        callback(&caller, &parameters).await?.expect(200)?;
        callback(&caller, &parameters).await?.expect(400)?;
        // A code of another sign-in does not fit the verifier; one that was used is refused.
        let (caller, mut parameters) = redirected("anna").await?;
        let (_, other) = redirected("otto").await?;
        parameters["code"] = other["code"].clone();
        callback(&caller, &parameters).await?.expect(401)?;
        // The response of another issuer (RFC 9207), and the user's refusal.
        let (caller, mut parameters) = redirected("anna").await?;
        parameters["iss"] = json!("http://127.0.0.1:1");
        callback(&caller, &parameters).await?.expect(401)?;
        let (caller, mut parameters) = redirected("anna").await?;
        parameters["error"] = json!("access_denied");
        let refused = callback(&caller, &parameters).await?.expect(401)?;
        ensure!(refused.body["detail"].to_string().contains("access_denied"), "{}", refused.body);

        // The provider is down: a clear error, and local users sign in.
        let (caller, parameters) = redirected("anna").await?;
        drop(provider);
        let give_up = std::time::Instant::now() + Duration::from_secs(60);
        while std::net::TcpStream::connect(("127.0.0.1", PORT)).is_ok() {
            ensure!(std::time::Instant::now() < give_up, "the provider does not end");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let down = callback(&caller, &parameters).await?.expect(503)?;
        ensure!(down.body["detail"].to_string().contains("does not answer"), "{}", down.body);
        Caller::tcp().sign_in("admin", &first_password(&site)?)?;
        core.stop()
    });
}

/// Begin with a provider that is down before anything of it is known.
#[test]
fn a_core_starts_without_its_openid_provider() {
    in_namespace(|| async {
        let site = oidc_site("oidc-down")?;
        let core = site.start(&[])?;
        let down = Caller::tcp().post("/session/oidc", json!({}))?.expect(503)?;
        ensure!(down.body["detail"].to_string().contains("127.0.0.1:7999"), "{}", down.body);
        ensure!(down.body["remedy"].to_string().contains("local user"), "{}", down.body);
        Caller::tcp().sign_in("admin", &first_password(&site)?)?;
        core.stop()
    });
}

/// OWASP ASVS V9.2: nothing is sent to a provider whose certificate is of no authority that the
/// core trusts.
#[test]
fn a_provider_with_an_unknown_certificate_gets_no_request() {
    const SCRIPT: &str = r#"
import http.server, ssl, sys
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        print("request", self.path, flush=True)
        self.send_error(404)
    def log_message(self, *_):
        pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(sys.argv[2], sys.argv[3])
server.socket = context.wrap_socket(server.socket, server_side=True)
print("ready", flush=True)
server.serve_forever()
"#;
    in_namespace(|| async {
        let site = oidc_site("oidc-tls")?;
        let pair = rcgen::generate_simple_self_signed(["127.0.0.1".to_string()])?;
        let (certificate, key) = (site.0.join("id.pem"), site.0.join("id.key"));
        std::fs::write(&certificate, pair.cert.pem())?;
        std::fs::write(&key, pair.signing_key.serialize_pem())?;
        let config =
            std::fs::read_to_string(site.config())?.replace("issuer: \"http:", "issuer: \"https:");
        std::fs::write(site.config(), &config)?;
        let mut python = Command::new("python3")
            .args(["-c", SCRIPT, &PORT.to_string()])
            .args([&certificate, &key])
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let mut lines = BufReader::new(python.stdout.take().context("standard output")?).lines();
        ensure!(lines.next_line().await?.as_deref() == Some("ready"), "no provider");
        let core = site.start(&[])?;
        let refused = Caller::tcp().post("/session/oidc", json!({}))?.expect(503)?;
        ensure!(refused.body["detail"].to_string().contains("certificate"), "{}", refused.body);
        core.stop()?;
        // Nor with another authority, which is replaced while the core runs.
        let authorities = site.0.join("authorities");
        std::fs::create_dir(&authorities)?;
        let (ca, new) = (authorities.join("ca.pem"), authorities.join("new.pem"));
        let other = rcgen::generate_simple_self_signed(["127.0.0.1".to_string()])?;
        std::fs::write(&ca, other.cert.pem())?;
        let trusting = config.replace("oidc: {", &format!("oidc: {{ ca: {ca:?},"));
        std::fs::write(site.config(), trusting)?;
        let core = site.start(&[])?;
        let ask = || Caller::tcp().post("/session/oidc", json!({}));
        let refused = ask()?.expect(503)?;
        ensure!(refused.body["detail"].to_string().contains("certificate"), "{}", refused.body);
        std::fs::copy(&certificate, &new)?;
        std::fs::rename(&new, &ca)?;
        let pid = nix::unistd::Pid::from_raw(core.id() as i32);
        nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGHUP)?;
        let give_up = std::time::Instant::now() + Duration::from_secs(60);
        let asked = loop {
            let asked = ask()?;
            // This provider has no description.
            if asked.status == 502 || std::time::Instant::now() >= give_up {
                break asked.expect(502)?;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        };
        ensure!(asked.body["detail"].to_string().contains("404"), "{}", asked.body);
        core.stop()?;
        // That of the core that trusts it is the only one.
        python.start_kill()?;
        let mut requests = Vec::new();
        while let Some(line) = lines.next_line().await? {
            requests.push(line);
        }
        ensure!(requests == ["request /.well-known/openid-configuration"], "{requests:?}");
        Ok(())
    });
}

/// The button of the console in a real Chromium.
#[test]
fn the_console_signs_in_with_an_openid_provider_in_chromium() {
    if !is_there() || !BrowserScript::is_possible() {
        return skip("OpenID Connect in Chromium: `make console-tools` installs what it needs");
    }
    let _permit = BrowserPermit::acquire();
    in_namespace_within(Duration::from_secs(300), || async {
        let provider = start_provider().await?;
        let site = oidc_site("oidc-console")?;
        let core = site.start(&[])?;
        let mut script = BrowserScript::start(&site, "sign_in.mjs")?;
        let mut provider = Some(provider);
        while let Some(request) = script.request().await? {
            ensure!(request == "stop the provider", "the script asks for {request}");
            drop(provider.take());
            script.answer("done").await?;
        }
        script.succeeded().await?;
        core.stop()
    });
}
