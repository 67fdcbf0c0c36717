//! Export of traces to an OpenTelemetry collector: OTLP over HTTP with protobuf. The spans come
//! from [`martlet_sbi::trace`].
use crate::StartError;
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full, Limited};
use hyper_util::rt::TokioIo;
use opentelemetry::{KeyValue, global};
use opentelemetry_http::{HttpClient, HttpError};
use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::{
    BatchConfigBuilder, BatchSpanProcessor, Sampler, SdkTracerProvider,
};
use serde::Deserialize;
use std::pin::Pin;
use std::time::Duration;

/// Time limit of an export.
const EXPORT_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum size of a collector's response, bytes.
const MAX_RESPONSE: usize = 64 << 10;
/// Capacity of the span queue. More spans are dropped and logged.
const QUEUE: usize = 16_384;

/// Configuration of traces.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TracesConfig {
    /// URL of the collector's OTLP over HTTP, such as `http://127.0.0.1:4318/v1/traces`. Empty: no
    /// traces.
    pub endpoint: String,
    /// Ratio of traced procedures, from 0 to 1. A procedure is traced completely or not at all.
    pub ratio: f64,
    /// Interval of exports, milliseconds.
    pub export_interval_ms: u64,
}

impl Default for TracesConfig {
    fn default() -> Self {
        TracesConfig { endpoint: String::new(), ratio: 1.0, export_interval_ms: 1000 }
    }
}

impl TracesConfig {
    /// Checks the values. Returns key and message of each error.
    pub fn check(&self) -> Vec<(&'static str, String)> {
        let mut wrong = Vec::new();
        if !self.endpoint.is_empty() && authority(&self.endpoint).is_none() {
            let shape = "write the URL of OTLP over HTTP, such as http://127.0.0.1:4318/v1/traces \
                         (no TLS: a collector belongs on this machine or network, and passes on \
                         what leaves it)";
            wrong.push(("endpoint", shape.to_string()));
        }
        if !(0.0..=1.0).contains(&self.ratio) {
            wrong.push(("ratio", "write a ratio from 0 to 1".to_string()));
        }
        if self.export_interval_ms == 0 {
            wrong.push((
                "export_interval_ms",
                "0 would export each span separately: write 1000".to_string(),
            ));
        }
        wrong
    }
}

/// Host and port of an http URL.
fn authority(url: &str) -> Option<String> {
    let uri: http::Uri = url.parse().ok()?;
    let authority = uri.authority().filter(|_| uri.scheme_str() == Some("http"))?;
    Some(format!("{}:{}", authority.host(), authority.port_u16().unwrap_or(80)))
}

/// The trace exporter of the process. Dropping it exports the remaining spans.
pub struct Traces(SdkTracerProvider);

/// Starts the export if an endpoint is configured. `process` is the service name: `martlet`, or
/// `martlet-amf` and so on with one process per network function.
///
/// # Errors
/// The exporter cannot be made.
pub fn start(config: &TracesConfig, process: &str) -> Result<Option<Traces>, StartError> {
    if config.endpoint.is_empty() {
        return Ok(None);
    }
    let exporter = SpanExporter::builder()
        .with_http()
        .with_http_client(Sender::new().map_err(|error| StartError::Traces(error.into()))?)
        .with_protocol(Protocol::HttpBinary)
        .with_endpoint(&config.endpoint)
        .with_timeout(EXPORT_TIMEOUT)
        .build()
        .map_err(|error| StartError::Traces(error.into()))?;
    let batches = BatchConfigBuilder::default()
        .with_max_queue_size(QUEUE)
        .with_scheduled_delay(Duration::from_millis(config.export_interval_ms))
        .build();
    let resource = Resource::builder()
        .with_service_name(process.to_string())
        .with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")))
        .with_attribute(KeyValue::new("process.pid", i64::from(std::process::id())))
        .build();
    let provider = SdkTracerProvider::builder()
        .with_span_processor(
            BatchSpanProcessor::builder(exporter).with_batch_config(batches).build(),
        )
        .with_sampler(Sampler::ParentBased(Box::new(Sampler::TraceIdRatioBased(config.ratio))))
        .with_resource(resource)
        .build();
    global::set_tracer_provider(provider.clone());
    global::set_text_map_propagator(TraceContextPropagator::new());
    martlet_sbi::trace::enable();
    tracing::info!(endpoint = config.endpoint, ratio = config.ratio, "exporting traces");
    Ok(Some(Traces(provider)))
}

impl Drop for Traces {
    fn drop(&mut self) {
        if let Err(error) = self.0.shutdown_with_timeout(Duration::from_secs(1)) {
            tracing::warn!(%error, "exporting the last traces failed");
        }
    }
}

/// Sends batches on the exporter's thread, outside the network functions' runtime.
#[derive(Debug)]
struct Sender(tokio::runtime::Runtime);

impl Sender {
    fn new() -> std::io::Result<Sender> {
        tokio::runtime::Builder::new_current_thread().enable_all().build().map(Sender)
    }
}

impl HttpClient for Sender {
    fn send_bytes<'a, 'b>(
        &'a self,
        request: Request<Bytes>,
    ) -> Pin<Box<dyn Future<Output = Result<Response<Bytes>, HttpError>> + Send + 'b>>
    where
        'a: 'b,
        Self: 'b,
    {
        let answer =
            self.0.block_on(async { tokio::time::timeout(EXPORT_TIMEOUT, post(request)).await });
        Box::pin(async move { answer? })
    }
}

/// Opens a connection per batch, since batches are rare.
async fn post(request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
    let to = authority(&request.uri().to_string()).ok_or("the endpoint is not an http URL")?;
    let stream =
        tokio::net::TcpStream::connect(&to).await.map_err(|error| format!("{to}: {error}"))?;
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    let driven = tokio::spawn(connection);
    let (mut parts, body) = request.into_parts();
    parts.headers.insert(http::header::HOST, to.parse()?);
    parts.uri = parts.uri.path().parse()?;
    let answer = sender.send_request(Request::from_parts(parts, Full::new(body))).await?;
    let (parts, body) = answer.into_parts();
    let body = Limited::new(body, MAX_RESPONSE).collect().await?.to_bytes();
    driven.abort();
    Ok(Response::from_parts(parts, body))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_invalid_endpoint_is_reported() {
        let of = |endpoint: &str, ratio| TracesConfig {
            endpoint: endpoint.into(),
            ratio,
            ..TracesConfig::default()
        };
        let wrong = |config: TracesConfig| {
            config.check().into_iter().map(|(name, _)| name).collect::<Vec<_>>()
        };
        assert!(wrong(TracesConfig::default()).is_empty());
        assert!(wrong(of("http://collector:4318/v1/traces", 0.1)).is_empty());
        assert_eq!(wrong(of("https://collector:4318/v1/traces", 1.5)), ["endpoint", "ratio"]);
        assert_eq!(wrong(of("127.0.0.1:4318", f64::NAN)), ["endpoint", "ratio"]);
        assert_eq!(authority("http://[::1]/v1/traces").as_deref(), Some("[::1]:80"));
    }
}
