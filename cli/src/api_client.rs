//! Requests to the northbound API over its unix socket. The kernel names the caller there, who is
//! an administrator; the audit log has what it changes.
use crate::liveness::{HungProcess, unless_hung};
use anyhow::{Context, Result, anyhow, bail, ensure};
use http_body_util::{BodyExt, Full, Limited};
use hyper::Method;
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1::SendRequest;
use hyper_util::rt::TokioIo;
use martlet::config::{Config, FUNCTIONS};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::time::{Duration, Instant};
use tokio::net::UnixStream;
use tokio::sync::Mutex;

/// Maximum length of a response in bytes.
const MAX_BODY: usize = 64 << 20;
/// Timeout of a request: positioning takes some seconds.
const TIMEOUT: Duration = Duration::from_secs(70);
/// How long the API of a core that starts may take until it listens.
const START: Duration = Duration::from_secs(5);
/// Interval between two reads of a job: the first and the longest one.
const FIRST_LOOK: Duration = Duration::from_millis(5);
const LAST_LOOK: Duration = Duration::from_millis(200);

/// The API of a running core.
pub struct Api {
    socket: PathBuf,
    /// A connection that is open.
    connection: Mutex<Option<SendRequest<Full<Bytes>>>>,
}

/// A response.
pub struct Response {
    /// HTTP status.
    pub status: u16,
    /// The entity tag.
    pub tag: Option<String>,
    /// The JSON body, else null.
    pub body: Value,
}

impl Response {
    /// The body of a request that succeeded.
    ///
    /// # Errors
    /// What the problem details say, with the remedy.
    pub fn ok(self) -> Result<Value> {
        if (200..300).contains(&self.status) {
            return Ok(self.body);
        }
        let text = |name: &str| self.body[name].as_str();
        let detail = text("detail").unwrap_or("the core refused");
        match (text("field"), text("remedy")) {
            (Some(field), Some(remedy)) => bail!("{field}: {detail}: {remedy}"),
            (None, Some(remedy)) => bail!("{detail}: {remedy}"),
            _ => bail!("{detail} (HTTP {})", self.status),
        }
    }
}

/// How to reach the functions of this machine that `martlet nf` started, if there are any.
fn alone(config: &Config) -> String {
    let sockets = FUNCTIONS.map(|name| config.oam_endpoint(Some(name)).socket);
    let mut running =
        sockets.iter().filter(|socket| std::os::unix::net::UnixStream::connect(socket).is_ok());
    match running.next() {
        None => String::new(),
        Some(socket) => format!(
            ". Functions run alone here: start `martlet nf oam`, or name the OAM socket of one, \
             such as --at {}",
            socket.display()
        ),
    }
}

impl Api {
    /// The API of the core with a configuration; `None` if it is off, or nothing listens at its
    /// socket.
    pub fn of_core(config: &Config) -> Option<Api> {
        if !config.oam.api.enabled {
            return None;
        }
        let socket = config.api_socket();
        // A user that the socket does not admit gets an error for the request.
        let is_there = std::os::unix::net::UnixStream::connect(&socket)
            .map_or_else(|error| error.kind() == std::io::ErrorKind::PermissionDenied, |_| true);
        is_there.then(|| Api { socket, connection: Mutex::default() })
    }

    /// The API of the running core with a configuration.
    ///
    /// # Errors
    /// It is off, or no core runs. The error says what to do.
    pub fn of_running_core(config: &Config) -> Result<Api> {
        let oam = config.oam_endpoint(None).socket;
        ensure!(
            config.oam.api.enabled,
            "the API of this core is off, and commands reach a core over it: set \
             oam.api.enabled to true and restart the core, or name its OAM socket with --at {}",
            oam.display()
        );
        let give_up = Instant::now() + START;
        loop {
            if let Some(api) = Api::of_core(config) {
                return Ok(api);
            }
            // The API of a core in several processes may listen after the core does.
            let is_core_there = std::os::unix::net::UnixStream::connect(&oam).is_ok();
            ensure!(
                is_core_there && Instant::now() < give_up,
                "no core answers at {}: check that `martlet up` runs, that -c names its \
                 configuration, and that this user is root, the core's, or one of `oam.users`{}",
                config.api_socket().display(),
                alone(config)
            );
            std::thread::sleep(FIRST_LOOK);
        }
    }

    async fn connect(&self) -> Result<SendRequest<Full<Bytes>>> {
        let refused = || {
            format!(
                "the API at {} refuses: this user has to be root, the core's, or one of \
                 `oam.users`",
                self.socket.display()
            )
        };
        let stream = UnixStream::connect(&self.socket).await.with_context(refused)?;
        let (sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
            .await
            .with_context(refused)?;
        tokio::spawn(connection);
        Ok(sender)
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<&Value>,
    ) -> Result<hyper::Response<Incoming>> {
        let mut connection = self.connection.lock().await;
        let mut sender = match connection.take().filter(|sender| !sender.is_closed()) {
            Some(sender) => sender,
            None => self.connect().await?,
        };
        let mut request = hyper::Request::builder().method(method).uri(format!("/api/v1{path}"));
        request = request.header("host", "localhost");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let bytes = match body {
            None => Bytes::new(),
            Some(body) => {
                request = request.header("content-type", "application/json");
                Bytes::from(body.to_string())
            }
        };
        sender.ready().await.context("the connection to the API ended")?;
        let response = sender.send_request(request.body(Full::new(bytes))?);
        let response = tokio::time::timeout(TIMEOUT, response)
            .await
            .map_err(|_| anyhow!("{} did not answer within {TIMEOUT:?}", self.socket.display()))?
            .with_context(|| {
                format!(
                    "{}: no answer: check that this user is root, the core's, or one of \
                     `oam.users`",
                    self.socket.display()
                )
            })?;
        *connection = Some(sender);
        Ok(response)
    }

    /// Waits for an answer, unless the process hangs.
    async fn answered<T>(&self, answer: impl Future<Output = Result<T>>) -> Result<T> {
        let probe = || async {
            let mut sender = self.connect().await?;
            let request =
                hyper::Request::builder().uri("/api/v1/alive").header("host", "localhost");
            anyhow::Ok(sender.send_request(request.body(Full::new(Bytes::new()))?).await?)
        };
        match unless_hung(answer, probe).await {
            Ok(outcome) => outcome,
            Err(_) => {
                let process = HungProcess::at(&self.socket).await;
                let what = format!("the core at {} does not answer", self.socket.display());
                Err(anyhow::Error::new(process).context(what))
            }
        }
    }

    /// Sends a request.
    pub async fn request(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<&Value>,
    ) -> Result<Response> {
        self.answered(self.exchange(method, path, headers, body)).await
    }

    async fn exchange(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<&Value>,
    ) -> Result<Response> {
        let response = self.send(method, path, headers, body).await?;
        let status = response.status().as_u16();
        let tag = response.headers().get("etag").and_then(|tag| tag.to_str().ok());
        let tag = tag.map(str::to_string);
        let body = Limited::new(response.into_body(), MAX_BODY).collect().await;
        let body = body.map_err(|error| anyhow!("{}{path}: {error}", self.socket.display()))?;
        let body = serde_json::from_slice(&body.to_bytes()).unwrap_or_default();
        Ok(Response { status, tag, body })
    }

    /// The resource at a path.
    pub async fn get(&self, path: &str) -> Result<Value> {
        self.request(Method::GET, path, &[], None).await?.ok()
    }

    /// Posts a body. Returns that of the response.
    pub async fn post(&self, path: &str, body: &Value) -> Result<Value> {
        self.request(Method::POST, path, &[], Some(body)).await?.ok()
    }

    /// Posts a request that starts a job, and waits for its end. Returns its result.
    pub async fn job(&self, path: &str, body: &Value) -> Result<Value> {
        let started = self.post(path, body).await?;
        let id = started["id"].as_str().context("the API started no job")?.to_string();
        let mut pause = FIRST_LOOK;
        loop {
            let mut job = self.get(&format!("/jobs/{id}")).await?;
            match job["state"].as_str() {
                Some("running") => {}
                Some("succeeded") => return Ok(job["result"].take()),
                Some("cancelled") => bail!("the job was cancelled"),
                _ => bail!("{}", job["error"].as_str().unwrap_or("the job failed")),
            }
            tokio::time::sleep(pause).await;
            pause = (2 * pause).min(LAST_LOOK);
        }
    }

    /// Posts a request whose response is a line of JSON for each item, and passes the lines on
    /// until `each` returns `false`.
    pub async fn lines(
        &self,
        path: &str,
        body: &Value,
        mut each: impl FnMut(Value) -> bool,
    ) -> Result<()> {
        let response = self.answered(self.send(Method::POST, path, &[], Some(body))).await?;
        // The connection is this response's.
        *self.connection.lock().await = None;
        let status = response.status().as_u16();
        let mut stream = response.into_body();
        if status != 200 {
            let body = Limited::new(stream, MAX_BODY).collect().await;
            let body = body.map_err(|error| anyhow!("{}{path}: {error}", self.socket.display()))?;
            let body = serde_json::from_slice(&body.to_bytes()).unwrap_or(json!({}));
            return Response { status, tag: None, body }.ok().map(drop);
        }
        let mut rest = Vec::new();
        while let Some(frame) = stream.frame().await {
            let frame = frame.context("the core ended the response")?;
            rest.extend_from_slice(frame.data_ref().map_or(&[][..], |data| data));
            while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = rest.drain(..=end).collect();
                if !each(serde_json::from_slice(&line).unwrap_or_default()) {
                    return Ok(());
                }
            }
        }
        Ok(())
    }
}
