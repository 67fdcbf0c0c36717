//! Calls over HTTP/1.1, with a pool of connections: one for each call in flight.
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use martlet_sbi::{
    ApiRoot, Body, BoxFuture, Problem, Request, Response, Transport, TransportFailure,
};
use martlet_sbi_http::Dial;
use std::sync::{Arc, Mutex};

type Sender = SendRequest<Full<Bytes>>;

/// The client.
pub struct Http1 {
    dial: Arc<dyn Dial>,
    idle: Mutex<Vec<Sender>>,
}

impl Http1 {
    /// A client without connections.
    pub fn new(dial: Arc<dyn Dial>) -> Self {
        Http1 { dial, idle: Mutex::default() }
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<Sender>> {
        self.idle.lock().unwrap_or_else(|e| e.into_inner())
    }

    async fn sender(&self, to: &ApiRoot) -> Result<Sender, Problem> {
        let not_sent =
            |e: String| Problem::unreachable(TransportFailure::NotSent, format!("{to}: {e}"));
        loop {
            let idle = self.idle().pop();
            let Some(mut sender) = idle else { break };
            if sender.ready().await.is_ok() {
                return Ok(sender);
            }
        }
        let stream = self.dial.dial(&to.authority).await.map_err(|e| not_sent(e.to_string()))?;
        let (sender, connection) =
            handshake(TokioIo::new(stream)).await.map_err(|e| not_sent(e.to_string()))?;
        tokio::spawn(connection);
        Ok(sender)
    }

    async fn exchange(&self, to: &ApiRoot, request: Request) -> Result<Response, Problem> {
        let unknown =
            |e: String| Problem::unreachable(TransportFailure::Unknown, format!("{to}: {e}"));
        let encoded = request.body.to_encoded()?;
        let mut builder = http::Request::builder().method(&request.method).uri(&request.target);
        builder = builder.header(http::header::HOST, &to.authority);
        if let Some(encoded) = &encoded {
            builder = builder.header(http::header::CONTENT_TYPE, &*encoded.content_type);
        }
        let body = Full::new(encoded.map_or_else(Bytes::new, |encoded| encoded.bytes));
        let mut out = builder.body(body).map_err(|e| unknown(e.to_string()))?;
        out.headers_mut().extend(request.headers);
        let mut sender = self.sender(to).await?;
        let answer = sender.send_request(out).await.map_err(|e| unknown(e.to_string()))?;
        let (parts, incoming) = answer.into_parts();
        let bytes = incoming.collect().await.map_err(|e| unknown(e.to_string()))?.to_bytes();
        self.idle().push(sender);
        let kind = parts
            .headers
            .get(http::header::CONTENT_TYPE)
            .and_then(|kind| kind.to_str().ok())
            .unwrap_or("");
        let body =
            if bytes.is_empty() { Body::empty() } else { Body::encoded(kind.to_string(), bytes) };
        Ok(Response { status: parts.status.as_u16(), headers: parts.headers, body })
    }
}

impl Transport for Http1 {
    fn send<'a>(
        &'a self,
        to: &'a ApiRoot,
        request: Request,
    ) -> BoxFuture<'a, Result<Response, Problem>> {
        Box::pin(self.exchange(to, request))
    }
}
