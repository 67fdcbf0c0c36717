//! Traces of a split core, as a collector gets them.
use super::{MARTLET, Site, a_day, gnb, ue};
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

/// A span, and the process that it is from.
#[derive(Debug, Clone)]
struct SoakCounters {
    process: String,
    name: String,
    trace: Vec<u8>,
    id: Vec<u8>,
    parent: Vec<u8>,
    about: String,
}

type Collected = Arc<Mutex<Vec<SoakCounters>>>;

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
        let process = text(
            &resource.resource.context("spans come from somewhere")?.attributes,
            "service.name",
        );
        let spans = resource.scope_spans.into_iter().flat_map(|scope| scope.spans).map(|span| {
            SoakCounters {
                process: process.clone(),
                name: span.name,
                trace: span.trace_id,
                id: span.span_id,
                parent: span.parent_span_id,
                about: text(&span.attributes, "martlet.supi"),
            }
        });
        into.lock().expect("nobody panics with it").extend(spans);
    }
    Ok(())
}

/// Takes what comes, as OTLP over HTTP says (POST /v1/traces, protobuf).
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
                Ok::<_, hyper::Error>(answer.expect("a status that exists"))
            }
        });
        tokio::spawn(
            hyper::server::conn::http1::Builder::new()
                .serve_connection(TokioIo::new(stream), serve),
        );
    }
}

/// The way from a span to the root of its trace, as `process name`.
fn way<'a>(
    mut span: &'a SoakCounters,
    all: &'a HashMap<Vec<u8>, SoakCounters>,
) -> Result<Vec<String>> {
    let mut way = vec![format!("{} {}", span.process, span.name)];
    while !span.parent.is_empty() {
        span =
            all.get(&span.parent).with_context(|| format!("the parent of {span:?} is missing"))?;
        way.push(format!("{} {}", span.process, span.name));
    }
    Ok(way)
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
        a_day(&ue(&gnb, 1)?).await?;
        gnb.shutdown().await;
        // The collector is a task of this thread: the core ends beside it, and sends what it still
        // has.
        tokio::task::spawn_blocking(move || core.stop()).await??;

        let seen = seen.lock().expect("nobody panics with it").clone();
        let by_id: HashMap<Vec<u8>, SoakCounters> =
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
            "a procedure is where a trace begins: {registration:?}"
        );
        ensure!(registration.about == "imsi-001010000000001", "{registration:?}");
        let together: Vec<&SoakCounters> =
            seen.iter().filter(|span| span.trace == registration.trace).collect();
        for span in &together {
            let way = way(span, &by_id)?;
            ensure!(way.last().is_some_and(|root| root == "martlet-amf registration"), "{way:?}");
        }
        let processes: BTreeSet<&str> = together.iter().map(|span| span.process.as_str()).collect();
        for process in ["martlet-amf", "martlet-ausf", "martlet-udm", "martlet-udr", "martlet-pcf"]
        {
            ensure!(
                processes.contains(process),
                "{process} has part in a registration: {processes:?}"
            );
        }
        let vectors = way(&of("martlet-udm", "nudm-ueau GenerateAuthData")?, &by_id)?;
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

        let n4 = way(&of("martlet-smf", "n4 SessionEstablishmentRequest")?, &by_id)?;
        ensure!(
            n4.last().is_some_and(|root| root == "martlet-amf pdu_session_establishment"),
            "{n4:?}"
        );
        let setup = way(&of("martlet-amf", "pdu_session_resource_setup")?, &by_id)?;
        ensure!(
            setup.last().is_some_and(|root| root == "martlet-amf pdu_session_establishment"),
            "{setup:?}"
        );
        Ok(())
    });
}
