//! Traces of a split core, as an OTLP collector receives them.
use super::{MARTLET, Site, gnb, registration_cycle, ue};
use anyhow::{Context, Result, ensure};
use http_body_util::{BodyExt, Empty};
use hyper::body::{Bytes, Incoming};
use hyper_util::rt::TokioIo;
use martlet_tests::in_namespace;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::{KeyValue, any_value::Value};
use prost::Message;
use std::collections::{BTreeSet, HashMap};
use std::process::Command;
use std::sync::{Arc, Mutex};

/// A span and its process.
#[derive(Debug, Clone)]
struct CollectedSpan {
    process: String,
    name: String,
    trace: Vec<u8>,
    id: Vec<u8>,
    parent: Vec<u8>,
    about: String,
}

type Collected = Arc<Mutex<Vec<CollectedSpan>>>;

fn text(attributes: &[KeyValue], key: &str) -> String {
    let found = attributes
        .iter()
        .find(|attribute| attribute.key == key)
        .and_then(|a| a.value.clone()?.value);
    match found {
        Some(Value::StringValue(text)) => text,
        _ => String::new(),
    }
}

fn take(body: &[u8], into: &Collected) -> Result<()> {
    for resource in ExportTraceServiceRequest::decode(body)?.resource_spans {
        let process =
            text(&resource.resource.context("spans have a resource")?.attributes, "service.name");
        let spans = resource.scope_spans.into_iter().flat_map(|scope| scope.spans).map(|span| {
            CollectedSpan {
                process: process.clone(),
                name: span.name,
                trace: span.trace_id,
                id: span.span_id,
                parent: span.parent_span_id,
                about: text(&span.attributes, "martlet.supi"),
            }
        });
        into.lock().expect("the lock is not poisoned").extend(spans);
    }
    Ok(())
}

/// Accepts OTLP over HTTP (POST /v1/traces, protobuf).
async fn collect(listener: tokio::net::TcpListener, into: Collected) {
    while let Ok((stream, _)) = listener.accept().await {
        let into = into.clone();
        let serve = hyper::service::service_fn(move |request: hyper::Request<Incoming>| {
            let into = into.clone();
            async move {
                let right = request.method() == "POST"
                    && request.uri().path() == "/v1/traces"
                    && request.headers()["content-type"] == "application/x-protobuf";
                let body = request.into_body().collect().await?.to_bytes();
                let status = if right && take(&body, &into).is_ok() { 200 } else { 400 };
                let answer = hyper::Response::builder().status(status).body(Empty::<Bytes>::new());
                Ok::<_, hyper::Error>(answer.expect("the status is valid"))
            }
        });
        tokio::spawn(
            hyper::server::conn::http1::Builder::new()
                .serve_connection(TokioIo::new(stream), serve),
        );
    }
}

/// The path from a span to the root of its trace, as `process name`.
fn path_to_root<'a>(
    mut span: &'a CollectedSpan,
    all: &'a HashMap<Vec<u8>, CollectedSpan>,
) -> Result<Vec<String>> {
    let mut path_to_root = vec![format!("{} {}", span.process, span.name)];
    while !span.parent.is_empty() {
        span =
            all.get(&span.parent).with_context(|| format!("the parent of {span:?} is missing"))?;
        path_to_root.push(format!("{} {}", span.process, span.name));
    }
    Ok(path_to_root)
}

#[test]
fn a_procedure_is_one_trace_across_all_processes() {
    in_namespace(|| async {
        let site = Site::new("traces")?;
        let config = std::fs::read_to_string(site.config())?;
        let traces = "oam: { traces: { endpoint: \"http://127.0.0.1:4318/v1/traces\", \
                      export_interval_ms: 100 }, ";
        std::fs::write(site.config(), config.replace("oam: { ", traces))?;
        let checked = Command::new(MARTLET).arg("check").arg(site.config()).output()?;
        ensure!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stderr));

        let seen = Collected::default();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:4318").await?;
        tokio::spawn(collect(listener, seen.clone()));
        let core = site.start(&["--split"])?;
        let gnb = gnb().await?;
        registration_cycle(&ue(&gnb, 1)?).await?;
        gnb.shutdown().await;
        // The collector runs on this thread: the core is stopped from another one, so that its last
        // spans are received.
        tokio::task::spawn_blocking(move || core.stop()).await??;

        let seen = seen.lock().expect("the lock is not poisoned").clone();
        let by_id: HashMap<Vec<u8>, CollectedSpan> =
            seen.iter().map(|span| (span.id.clone(), span.clone())).collect();
        let of = |process: &str, name: &str| {
            let found = seen.iter().find(|span| span.process == process && span.name == name);
            found.cloned().with_context(|| {
                let names: BTreeSet<_> =
                    seen.iter().map(|span| format!("{} {}", span.process, span.name)).collect();
                format!("no span {name} of {process} among {names:#?}")
            })
        };
        let registration = of("martlet-amf", "registration")?;
        ensure!(
            registration.parent.is_empty(),
            "a procedure is the root of its trace: {registration:?}"
        );
        ensure!(registration.about == "imsi-001010000000001", "{registration:?}");
        let together: Vec<&CollectedSpan> =
            seen.iter().filter(|span| span.trace == registration.trace).collect();
        for span in &together {
            let path_to_root = path_to_root(span, &by_id)?;
            ensure!(
                path_to_root.last().is_some_and(|root| root == "martlet-amf registration"),
                "{path_to_root:?}"
            );
        }
        let processes: BTreeSet<&str> = together.iter().map(|span| span.process.as_str()).collect();
        for process in ["martlet-amf", "martlet-ausf", "martlet-udm", "martlet-udr", "martlet-pcf"]
        {
            ensure!(
                processes.contains(process),
                "{process} takes part in a registration: {processes:?}"
            );
        }
        let vectors = path_to_root(&of("martlet-udm", "nudm-ueau GenerateAuthData")?, &by_id)?;
        let expected = [
            "martlet-udm nudm-ueau GenerateAuthData",
            "martlet-ausf nudm-ueau GenerateAuthData",
            "martlet-ausf nausf-auth UeAuthenticationsPost",
            "martlet-amf nausf-auth UeAuthenticationsPost",
            "martlet-amf registration",
        ];
        ensure!(
            vectors.len() == expected.len()
                && vectors[..2].iter().all(|step| step.contains("GenerateAuthData")),
            "{vectors:?}"
        );
        ensure!(vectors.last().map(String::as_str) == expected.last().copied(), "{vectors:?}");

        let n4 = path_to_root(&of("martlet-smf", "n4 SessionEstablishmentRequest")?, &by_id)?;
        ensure!(
            n4.last().is_some_and(|root| root == "martlet-amf pdu_session_establishment"),
            "{n4:?}"
        );
        let setup = path_to_root(&of("martlet-amf", "pdu_session_resource_setup")?, &by_id)?;
        ensure!(
            setup.last().is_some_and(|root| root == "martlet-amf pdu_session_establishment"),
            "{setup:?}"
        );
        Ok(())
    });
}
