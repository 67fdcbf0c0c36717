//! How a command reaches a running core: over the unix socket of the northbound API. With `--at`
//! it asks an OAM endpoint instead, which has the same answers.
use crate::api_client::Api;
use crate::oam_client::{self, Endpoint, OamArgs};
use anyhow::{Context, Result, bail};
use hyper::Method;
use serde_json::{Value, json};
use std::time::Duration;

/// A running core.
pub enum CoreClient {
    /// Over the API.
    Api(Api),
    /// Over an OAM endpoint.
    Oam(Endpoint),
}

/// A request in both forms.
pub struct Request {
    method: Method,
    /// Below `/api/v1`.
    path: String,
    body: Option<Value>,
    /// Whether the change replaces every version: `If-Match: *`.
    any_version: bool,
    /// The function, and what it is asked.
    function: &'static str,
    question: String,
    timeout: Duration,
    /// The error if there is no such function.
    missing: &'static str,
}

/// Timeout of a request over an OAM socket.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Timeout of a request for all functions of the network, of which many may hang.
const NETWORK_TIMEOUT: Duration = Duration::from_secs(15);

impl Request {
    /// Reads a resource.
    pub fn get(path: impl Into<String>, function: &'static str, question: &str) -> Self {
        Request {
            method: Method::GET,
            path: path.into(),
            body: None,
            any_version: false,
            function,
            question: question.into(),
            timeout: TIMEOUT,
            missing: "no such function runs in this core",
        }
    }

    /// Changes something.
    pub fn change(self, method: Method, body: Option<Value>) -> Self {
        Request { method, body, ..self }
    }

    /// Replaces every version: the command has the whole new value.
    pub fn of_any_version(self) -> Self {
        Request { any_version: true, ..self }
    }

    /// With another timeout.
    pub fn within(self, timeout: Duration) -> Self {
        Request { timeout, ..self }
    }

    /// Sets the error for the case that there is no such function.
    pub fn or_say(self, missing: &'static str) -> Self {
        Request { missing, ..self }
    }
}

impl OamArgs {
    /// The running core.
    ///
    /// # Errors
    /// The core has no API, or does not run.
    pub fn client(&self) -> Result<CoreClient> {
        match &self.at {
            Some(at) => self.endpoint(at).map(CoreClient::Oam),
            None => Api::of_running_core(&self.config.load()?).map(CoreClient::Api),
        }
    }
}

impl CoreClient {
    /// Sends a request. Returns the body of the answer.
    pub async fn send(&self, request: Request) -> Result<Value> {
        let Request { method, path, body, any_version, function, question, timeout, missing } =
            request;
        match self {
            CoreClient::Api(api) => {
                let headers = [("if-match", "*")];
                let headers = if any_version { &headers[..] } else { &[] };
                let response = api.request(method, &path, headers, body.as_ref()).await?;
                let is_missing = response.body["detail"]
                    .as_str()
                    .is_some_and(|detail| detail == format!("no {function} runs in this core"));
                if response.status == 404 && is_missing {
                    bail!(missing);
                }
                response.ok()
            }
            CoreClient::Oam(endpoint) => {
                let path = format!("/ask/{question}");
                let answer = oam_client::ask(endpoint, &path, timeout).await;
                let (status, answer) = answer.context("the request to the core failed")?;
                match status {
                    200 => Ok(answer),
                    _ => bail!("{}", answer["detail"].as_str().unwrap_or(missing)),
                }
            }
        }
    }

    /// The status of the core.
    pub async fn status(&self) -> Result<Value> {
        match self {
            CoreClient::Api(api) => api.get("/status").await,
            CoreClient::Oam(endpoint) => oam_client::status(endpoint).await,
        }
    }

    /// The functions of the network with their readiness, UPFs and gNBs.
    pub async fn network(&self) -> Result<Value> {
        let endpoint = match self {
            CoreClient::Api(api) => return api.get("/network-functions").await,
            CoreClient::Oam(endpoint) => endpoint,
        };
        match oam_client::ask(endpoint, "/ask/network", NETWORK_TIMEOUT).await? {
            (200, functions) => Ok(functions),
            (404, _) => bail!("no function at {endpoint} knows the NRF"),
            (504, answer) => {
                let detail = answer["detail"].as_str().unwrap_or_default();
                bail!("the NRF, which has the functions of the network, does not answer: {detail}")
            }
            (status, answer) => bail!("the NRF's list is not available ({status}): {answer}"),
        }
    }

    /// The user plane, with the SUPI of each session that this core's SMF knows.
    pub async fn user_plane(&self) -> Result<Value> {
        let request = Request::get("/user-plane", "upf", "upf/top").or_say(NO_UPF);
        let mut top = self.send(request.within(Duration::from_secs(2))).await?;
        if let (CoreClient::Oam(_), Some(sessions)) = (self, top["sessions"].as_array_mut()) {
            let seids: Vec<&str> = sessions.iter().filter_map(|s| s["seid"].as_str()).collect();
            let question = format!("smf/owners/{}", seids.join(","));
            // The SMF may be another one's.
            let owners = self.send(Request::get("", "smf", &question)).await.unwrap_or(json!({}));
            for session in sessions {
                let owner = session["seid"].as_str().map(|seid| owners[seid].clone());
                session["supi"] = owner.unwrap_or_default();
            }
        }
        Ok(top)
    }
}

/// The error if there is no UPF.
pub const NO_UPF: &str = "no UPF runs in this core";
