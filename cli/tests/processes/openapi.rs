//! The description of the API in OpenAPI: generated clients work, and random requests of
//! Schemathesis get no 500 while a UE with a session is registered.
use crate::api::{ADDRESS, Caller, api_site, subscriber};
use crate::site::*;
use anyhow::{Context, Result, ensure};
use martlet_lab::CoreProcess;
use martlet_ran::{Gnb, PduSessionRequest, Ue};
use martlet_tests::{in_namespace_within, skip};
use serde_json::json;
use std::path::Path;
use std::time::Duration;

/// Longest time of a test.
const LONGEST: Duration = Duration::from_secs(600);

/// The gNB's cell, so that a UE has a position; a datapath that traces packets; and a CHF.
const MORE: &str = "upf: { datapath: xdp, xdp: { sessions: 1024, rules: 4096, filters: 1024 } }
lmf: { cells: [{ nr_cell_id: \"000001001\", pci: 1, lat: 54.0924, lon: 12.0991 }] }
chf: { enabled: true }
";

/// A core with the API, and a token of an administrator. `more` is added to its configuration.
pub fn site_with_token(name: &str, more: &str) -> Result<(Site, CoreProcess, String)> {
    let site = api_site(name)?;
    let config = std::fs::read_to_string(site.config())?;
    let many = "enabled: true, requests_per_minute: 1000000,";
    std::fs::write(site.config(), config.replace("enabled: true,", many) + more)?;
    let core = site.start(&[])?;
    let api = Caller::socket(&site);
    let user = json!({"name": "robot", "role": "administrator", "password": "first passphrase"});
    api.post("/users", user)?.expect(201)?;
    let body = json!({"name": "test", "days": 1, "user": "robot",
        "scopes": ["read", "subscribers", "network", "administration"]});
    let made = api.post("/tokens", body)?.expect(201)?.body;
    let token = made["token"].as_str().context("a token")?.to_string();
    Ok((site, core, token))
}

/// A UE with a session, whatever the API does to it: deregistration, release of its gNB, removal of
/// its subscription.
struct Subscribed {
    api: Caller,
    gnb: Gnb,
    ue: Ue,
    /// How often it was registered.
    registrations: u64,
}

impl Subscribed {
    async fn new(site: &Site) -> Result<Self> {
        let gnb = gnb_that_waits(1, Duration::from_secs(5)).await?;
        let ue = ue(&gnb, 1)?;
        let mut this = Subscribed { api: Caller::socket(site), gnb, ue, registrations: 0 };
        this.register().await?;
        Ok(this)
    }

    async fn register(&mut self) -> Result<()> {
        if !self.ue.status().await?.state.is_registered() {
            self.ue.register().await?;
            self.registrations += 1;
        }
        if self.ue.status().await?.sessions.is_empty() {
            let dnn = Some("internet".into());
            let request = PduSessionRequest { dnn, ..PduSessionRequest::default() };
            self.ue.establish_pdu_session(request).await?;
        }
        Ok(())
    }

    /// Subscribes the UE again.
    async fn subscribe(&self) -> Result<()> {
        let (api, body) = (self.api.clone(), subscriber(1));
        let path = format!("/subscribers/{}", self.ue.supi());
        tokio::task::spawn_blocking(move || -> Result<()> {
            let put = api.with("if-match", "*").request("PUT", &path, Some(body.clone()))?;
            if put.status == 404 {
                api.post("/subscribers", body)?.expect(201)?;
            }
            Ok(())
        })
        .await?
    }

    /// Registers it again after whatever was done to it.
    async fn restore(&mut self) -> Result<()> {
        if tokio::time::timeout(Duration::ZERO, self.gnb.lost()).await.is_ok() {
            self.gnb = self.gnb.connect_again().await?;
            self.ue.move_to(&self.gnb).await?;
        }
        if self.register().await.is_err() {
            self.subscribe().await?;
            self.ue.forget_registration().await?;
            self.register().await?;
        }
        Ok(())
    }

    /// Keeps it registered until the future is dropped.
    async fn keep(&mut self) {
        loop {
            tokio::time::sleep(Duration::from_millis(100)).await;
            // What fails is tried again: requests may change policies meanwhile.
            let _ = self.restore().await;
        }
    }
}

/// The description is valid OpenAPI 3.1, and the core answers accordingly: a client that was
/// generated from it works, and random requests get no 500.
#[test]
fn openapi_is_valid_and_random_requests_get_no_500() {
    let python = std::env::var("MARTLET_PYTHON")
        .unwrap_or(concat!(env!("CARGO_MANIFEST_DIR"), "/../target/oracles/bin/python").into());
    let has = |module: &str| {
        let import = format!("import {module}");
        let run = std::process::Command::new(&python).args(["-c", &import]).output();
        run.is_ok_and(|output| output.status.success())
    };
    if !has("schemathesis") || !has("openapi_spec_validator") {
        return skip("OpenAPI and Schemathesis: `make oracles` installs them");
    }
    let seconds = std::env::var("MARTLET_SCHEMATHESIS_SECONDS").unwrap_or("12".into());
    let longest = LONGEST + Duration::from_secs(seconds.parse().unwrap_or(0));
    in_namespace_within(longest, || async move {
        let (site, core, token) = site_with_token("openapi", MORE)?;
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../console/tests/openapi.py");
        let mut subscribed = Subscribed::new(&site).await?;
        let mut run = tokio::process::Command::new(&python);
        run.args([script, &format!("http://{ADDRESS}"), &token, &seconds]).kill_on_drop(true);
        let output = tokio::select! {
            output = run.arg(site.0.join("api.sock")).arg(subscribed.ue.supi()).output() => output?,
            () = subscribed.keep() => unreachable!(),
        };
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        println!("{text}");
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        ensure!(output.status.success(), "{text}\n{error}");
        println!("the UE was registered {} times", subscribed.registrations);
        ensure!(subscribed.registrations > 1, "no request deregistered the UE");
        let answer = Caller::socket(&site).get("/overview");
        answer.context("the core answers after it")?;
        // UEs are served as before.
        subscribed.restore().await?;
        core.stop()
    });
}

/// A client in Go that oapi-codegen generates from the description lists, adds, changes and removes
/// subscribers.
#[test]
fn a_go_client_generated_from_the_description_works() {
    let oracles = concat!(env!("CARGO_MANIFEST_DIR"), "/../target/oracles/bin/oapi-codegen");
    let generator = std::env::var_os("MARTLET_OAPI_CODEGEN").unwrap_or(oracles.into());
    let has_go = std::process::Command::new("go").arg("version").output().is_ok();
    if !Path::new(&generator).exists() || !has_go {
        return skip("the Go client: `make oracles` installs oapi-codegen, which needs Go");
    }
    in_namespace_within(LONGEST, || async move {
        let (site, core, token) = site_with_token("openapi-go", "")?;
        site.subscribe(100, 20)?;
        let folder = site.0.join("go");
        std::fs::create_dir_all(folder.join("client"))?;
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../console/tests/openapi_go");
        for file in ["go.mod", "go.sum", "main.go", "oapi-codegen.yaml"] {
            std::fs::copy(source.join(file), folder.join(file))?;
        }
        let document = Caller::socket(&site).get("/openapi.json")?;
        std::fs::write(folder.join("openapi.json"), document.to_string())?;
        let run = async |program: &std::ffi::OsStr, arguments: &[&str]| -> Result<String> {
            let mut command = tokio::process::Command::new(program);
            command.args(arguments).current_dir(&folder).env("GOFLAGS", "-mod=mod -modcacherw");
            let output = command.env("GOPROXY", "off").kill_on_drop(true).output().await?;
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            let error = String::from_utf8_lossy(&output.stderr).into_owned();
            ensure!(output.status.success(), "{program:?} {arguments:?}: {text}{error}");
            Ok(text)
        };
        run(&generator, &["--config", "oapi-codegen.yaml", "openapi.json"]).await?;
        run("go".as_ref(), &["build", "-o", "client-test", "."]).await?;
        let program = folder.join("client-test");
        let text = run(program.as_os_str(), &[&format!("http://{ADDRESS}/api/v1"), &token]).await?;
        print!("{text}");
        ensure!(text.contains("listed 22 subscribers on 4 pages"), "{text}");
        ensure!(text.contains("added, changed and removed one"), "{text}");
        core.stop()
    });
}
