//! A record of the messages on the service-based interface, and their validation against 3GPP's
//! OpenAPI files: JSON bodies, binary parts, query parameters, headers and statuses.
use crate::requests_compared::compared_requests;
use crate::{SbiGate, openapi_validator};
use anyhow::{Result, ensure};
use http::HeaderMap;
use martlet_sbi::{
    ApiRoot, BoxFuture, Encoded, Exchange, Multipart, Payload, Problem, Query, Request, Response,
    Tap, Transport,
};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard};

/// Records each exchange that a network function served.
#[derive(Default)]
pub struct SbiRecord(Mutex<Recorded>);

#[derive(Default)]
struct Recorded {
    /// Messages in the format that the validator reads.
    lines: Vec<Value>,
    /// Bodies that are neither JSON nor multipart.
    undecodable: Vec<String>,
    /// Requests that Martlet's functions sent to those of other vendors.
    sent: Vec<Value>,
}

impl SbiRecord {
    /// Removes all messages. Tests of memory use call it so that the record does not grow.
    pub fn clear(&self) {
        *self.recorded() = Recorded::default();
    }
}

impl Tap for SbiRecord {
    fn wants_bodies(&self) -> bool {
        true
    }

    fn exchanged(&self, exchange: &Exchange<'_>) {
        let Some(operation) = exchange.operation else { return };
        let mut line = json!({
            "service": operation.api,
            "operation": operation.name,
            "method": exchange.method.as_str(),
            "path": operation.path,
        });
        let mut recorded = self.recorded();
        line["direction"] = "request".into();
        line["query"] = query_of(exchange.target);
        line["headers"] = headers_of(exchange.headers);
        recorded.push(line.clone(), exchange.request.as_ref());
        line["direction"] = "response".into();
        line["status"] = exchange.status.into();
        line["headers"] = headers_of(exchange.response_headers);
        recorded.push(line, exchange.response.as_ref());
    }
}

/// The media type of forms.
const FORM: &str = "application/x-www-form-urlencoded";

/// Query parameters by name, as text.
fn query_of(target: &str) -> Value {
    object(target.split_once('?').map_or("", |(_, query)| query))
}

/// The fields of a query or a form by name, as text.
fn object(fields: &str) -> Value {
    Query::parse(fields)
        .0
        .into_iter()
        .map(|(name, value)| (name, Value::from(value)))
        .collect::<Map<_, _>>()
        .into()
}

/// Headers by name, as text.
fn headers_of(headers: &HeaderMap) -> Value {
    let text = |value: &http::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    headers
        .iter()
        .map(|(name, value)| (name.to_string(), Value::from(text(value))))
        .collect::<Map<_, _>>()
        .into()
}

/// A transport that records the requests to functions that are not those of the core. All requests
/// pass a gate.
pub(crate) struct RecordSent {
    /// Carries the requests.
    pub inner: Arc<dyn Transport>,
    /// Has the requests.
    pub record: Arc<SbiRecord>,
    /// Holds requests.
    pub gate: Arc<SbiGate>,
    /// Host and port of each function of the core.
    pub own: Vec<String>,
}

impl Transport for RecordSent {
    fn send<'a>(
        &'a self,
        to: &'a ApiRoot,
        request: Request,
    ) -> BoxFuture<'a, Result<Response, Problem>> {
        if !self.own.contains(&to.authority) {
            self.record.sent(&request);
        }
        Box::pin(async move {
            if let Some(operation) = request.operation
                && let Err(problem) = self.gate.pass(operation).await
            {
                return Ok(Response::problem(problem));
            }
            self.inner.send(to, request).await
        })
    }
}

impl Recorded {
    fn push(&mut self, mut line: Value, body: Option<&Encoded>) {
        let Some(body) = body else { return self.lines.push(line) };
        // The schema of a form is that of an object.
        if body.content_type == FORM {
            line["content_type"] = FORM.into();
            line["body"] = object(&String::from_utf8_lossy(&body.bytes));
            return self.lines.push(line);
        }
        match Multipart::<Value>::decode(Some(body.clone())) {
            Ok(decoded) => {
                line["content_type"] = body.content_type.to_string().into();
                line["body"] = decoded.json;
                let parts =
                    decoded.parts.into_iter().map(|part| (part.id, part.content_type.into()));
                line["parts"] = parts.collect::<Map<_, _>>().into();
                self.lines.push(line);
            }
            Err(problem) => self
                .undecodable
                .push(format!("{} {}: {problem}", line["service"], line["operation"])),
        }
    }
}

impl SbiRecord {
    fn sent(&self, request: &Request) {
        let Some(operation) = request.operation else { return };
        let line = json!({
            "service": operation.api,
            "operation": operation.name,
            "method": request.method.as_str(),
            "path": operation.path,
            "direction": "request",
            "query": query_of(&request.target),
            "headers": headers_of(&request.headers),
        });
        let body = request.body.to_encoded().ok().flatten();
        let mut recorded = self.recorded();
        let mut alone = Recorded::default();
        alone.push(line, body.as_ref());
        recorded.sent.extend(alone.lines);
        recorded.undecodable.extend(alone.undecodable);
    }

    fn recorded(&self) -> MutexGuard<'_, Recorded> {
        self.0.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// The operations that were called, each as `service operation`.
    pub fn operations(&self) -> BTreeSet<String> {
        let name = |line: &Value| {
            Some(format!("{} {}", line["service"].as_str()?, line["operation"].as_str()?))
        };
        self.recorded().lines.iter().filter_map(name).collect()
    }

    /// The requests of an operation, named `service operation`: query parameters and body.
    pub fn requests(&self, operation: &str) -> Vec<(Value, Value)> {
        let (service, name) = operation.split_once(' ').unwrap_or_default();
        let is_it = |line: &&Value| {
            line["service"] == service
                && line["operation"] == name
                && line["direction"] == "request"
        };
        let recorded = self.recorded();
        let lines = recorded.lines.iter().filter(is_it);
        lines.map(|line| (line["query"].clone(), line["body"].clone())).collect()
    }

    /// The number of calls of an operation, named `service operation`.
    pub fn calls(&self, operation: &str) -> usize {
        self.requests(operation).len()
    }

    /// The calls that ended so far, in the order of their ends, each as `service operation`.
    pub fn sequence(&self) -> Vec<String> {
        let recorded = self.recorded();
        let responses = recorded.lines.iter().filter(|line| line["direction"] == "response");
        let name = |line: &Value| {
            Some(format!("{} {}", line["service"].as_str()?, line["operation"].as_str()?))
        };
        responses.filter_map(name).collect()
    }

    /// The number of calls of each operation, named `service operation`.
    pub fn counts(&self) -> BTreeMap<String, usize> {
        let mut counts = BTreeMap::new();
        for line in &self.recorded().lines {
            let names = (line["service"].as_str(), line["operation"].as_str());
            if let (Some(service), Some(name)) = names
                && line["direction"] == "request"
            {
                *counts.entry(format!("{service} {name}")).or_default() += 1;
            }
        }
        counts
    }

    /// Checks that each operation in `due`, named `service operation`, was called, and that all
    /// messages so far comply with the OpenAPI files. Without the files or the validator it prints
    /// that the validation is skipped.
    ///
    /// # Errors
    /// An operation in `due` was not called, or messages violate the files; the error lists them.
    pub async fn check(&self, due: &[&str]) -> Result<()> {
        let seen = self.operations();
        let missing: Vec<_> = due.iter().filter(|operation| !seen.contains(**operation)).collect();
        ensure!(
            missing.is_empty(),
            "these operations were not called: {missing:?}; only these were: {seen:?}"
        );
        let (lines, undecodable) = {
            let recorded = self.recorded();
            (recorded.lines.clone(), recorded.undecodable.clone())
        };
        ensure!(undecodable.is_empty(), "bodies that cannot be decoded: {undecodable:#?}");
        ensure!(!lines.is_empty(), "there was no message on the service-based interface");
        compliant(lines, seen.len()).await
    }

    /// Checks that each request so far has the members that it always has by the table of
    /// `docs/interop.md`.
    ///
    /// # Errors
    /// The page has no such table, or members are missing; the error lists them.
    pub fn check_members(&self) -> Result<()> {
        let rows = compared_requests()?;
        let mut missing = BTreeSet::new();
        for line in &self.recorded().lines {
            let names = (line["service"].as_str(), line["operation"].as_str());
            let (Some(service), Some(name)) = names else { continue };
            let name = format!("{service} {name}");
            let members = rows.get(&name).filter(|_| line["direction"] == "request");
            let lacks = |member: &&String| {
                !has_member(&line["query"], member) && !has_member(&line["body"], member)
            };
            let lacking = members.into_iter().flatten().filter(lacks);
            missing.extend(lacking.map(|member| format!("{name}: {member}")));
        }
        ensure!(missing.is_empty(), "requests lack members of docs/interop.md: {missing:#?}");
        Ok(())
    }

    /// As [`SbiRecord::check`], for the requests that functions of other vendors got. What they
    /// answer and request themselves is theirs.
    ///
    /// # Errors
    /// An operation in `due` was not requested of them, or requests violate the files.
    pub async fn check_sent(&self, due: &[&str]) -> Result<()> {
        let lines = self.recorded().sent.clone();
        let name = |line: &Value| {
            Some(format!("{} {}", line["service"].as_str()?, line["operation"].as_str()?))
        };
        let seen: BTreeSet<String> = lines.iter().filter_map(name).collect();
        let missing: Vec<_> = due.iter().filter(|operation| !seen.contains(**operation)).collect();
        ensure!(missing.is_empty(), "not requested of others: {missing:?}; only {seen:?}");
        let undecodable = self.recorded().undecodable.clone();
        ensure!(undecodable.is_empty(), "bodies that cannot be decoded: {undecodable:#?}");
        compliant(lines, seen.len()).await
    }
}

/// Whether a value has a member of this name, at any depth.
fn has_member(value: &Value, name: &str) -> bool {
    match value {
        Value::Object(members) => {
            members.contains_key(name) || members.values().any(|member| has_member(member, name))
        }
        Value::Array(items) => items.iter().any(|item| has_member(item, name)),
        _ => false,
    }
}

/// Checks that messages of a number of operations comply with the OpenAPI files.
async fn compliant(lines: Vec<Value>, operations: usize) -> Result<()> {
    let good = format!("{} messages of {operations} operations: 0 violations", lines.len());
    // The validator runs on another thread: SCTP associations need this one, and their shared
    // timer would count unread messages as lost.
    let checked = tokio::task::spawn_blocking(move || openapi_validator::check(&lines)).await?;
    let Some(output) = checked? else { return Ok(()) };
    ensure!(output.lines().last() == Some(&good), "messages violate the OpenAPI files:\n{output}");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use martlet_sbi::OperationInfo;
    use martlet_sbi_api::nausf_ueauthentication::NAUSF_AUTH;
    use martlet_sbi_api::nnrf_nfdiscovery::NNRF_DISC;
    use martlet_sbi_api::nsmf_pdusession::NSMF_PDUSESSION;
    use martlet_sbi_api::nudm_sdm::NUDM_SDM;

    fn exchange(
        operation: &'static OperationInfo,
        target: &str,
        status: u16,
        sent: Option<Encoded>,
    ) -> SbiRecord {
        let record = SbiRecord::default();
        record.exchanged(&Exchange {
            operation: Some(operation),
            method: &operation.method,
            target,
            consumer: None,
            correlation: None,
            headers: &HeaderMap::new(),
            request: sent,
            status,
            response_headers: &HeaderMap::new(),
            response: None,
            duration: std::time::Duration::ZERO,
        });
        record
    }

    fn check(record: &SbiRecord, due: &[&str]) -> Result<()> {
        tokio::runtime::Builder::new_current_thread().build()?.block_on(record.check(due))
    }

    fn no_validator() -> bool {
        openapi_validator::check(&[json!({})]).is_ok_and(|report| report.is_none())
    }

    #[test]
    fn missing_operation_is_reported() {
        let record =
            exchange(NUDM_SDM::unsubscribe(), "/nudm-sdm/v2/imsi-1/sdm-subscriptions/1", 204, None);
        check(&record, &["nudm-sdm Unsubscribe"]).unwrap();
        assert!(
            check(&record, &["nudm-sdm Subscribe"])
                .unwrap_err()
                .to_string()
                .contains("nudm-sdm Subscribe")
        );
        assert!(check(&SbiRecord::default(), &[]).is_err());
    }

    #[test]
    fn invalid_query_part_and_body_are_reported() {
        let wrong = |record: SbiRecord| check(&record, &[]).unwrap_err().to_string();
        let bytes = Encoded { content_type: "application/json".into(), bytes: "{".into() };
        let record = exchange(
            NUDM_SDM::subscribe(),
            "/nudm-sdm/v2/imsi-1/sdm-subscriptions",
            201,
            Some(bytes),
        );
        assert!(wrong(record).contains("cannot be decoded"));
        if no_validator() {
            return;
        }
        let record =
            exchange(NUDM_SDM::get_am_data(), "/nudm-sdm/v2/imsi-1/am-data?plmnid=1", 404, None);
        assert!(wrong(record).contains("query parameter plmnid is not defined"));
        let discovery = |query: &str| {
            let target = format!("/nnrf-disc/v1/nf-instances{query}");
            exchange(NNRF_DISC::search_nf_instances(), &target, 404, None)
        };
        check(&discovery("?target-nf-type=AMF&requester-nf-type=SMF"), &[]).unwrap();
        for query in ["", "?target-nf-type=AMF"] {
            let missing = wrong(discovery(query));
            assert!(missing.contains("parameter requester-nf-type is mandatory"), "{missing}");
        }
        let body = |id, media| {
            let json = json!({"upCnxState": "ACTIVATED", "n1SmMsg": {"contentId": "n1"}});
            Multipart::new(json).part(id, media, vec![1]).encode().unwrap()
        };
        let target = "/nsmf-pdusession/v1/sm-contexts/1/modify";
        let update = NSMF_PDUSESSION::update_sm_context();
        check(&exchange(update, target, 204, body("n1", "application/vnd.3gpp.5gnas")), &[])
            .unwrap();
        let unnamed =
            wrong(exchange(update, target, 204, body("n2", "application/vnd.3gpp.5gnas")));
        assert!(unnamed.contains("the body names the parts"), "{unnamed}");
        let mislabelled = wrong(exchange(update, target, 204, body("n1", "text/plain")));
        assert!(mislabelled.contains("text/plain"), "{mislabelled}");
    }

    #[test]
    fn undefined_status_and_missing_header_are_reported() {
        if no_validator() {
            return;
        }
        let wrong = |record: SbiRecord| check(&record, &[]).unwrap_err().to_string();
        let unsubscribe = NUDM_SDM::unsubscribe();
        let target = "/nudm-sdm/v2/imsi-1/sdm-subscriptions/1";
        for status in [404, 429] {
            check(&exchange(unsubscribe, target, status, None), &[]).unwrap();
        }
        let undefined = wrong(exchange(unsubscribe, target, 202, None));
        assert!(undefined.contains("status 202 is not defined"), "{undefined}");
        // The AUSF's file lists the errors of this operation, without a default.
        let authenticate = NAUSF_AUTH::ue_authentications_post();
        let target = "/nausf-auth/v1/ue-authentications";
        let undefined = wrong(exchange(authenticate, target, 409, None));
        assert!(undefined.contains("status 409 is not defined"), "{undefined}");
        let missing = wrong(exchange(authenticate, target, 201, None));
        assert!(missing.contains("header Location is mandatory"), "{missing}");
    }

    #[test]
    fn request_to_another_vendor_is_checked() {
        let record = SbiRecord::default();
        let request = |body: Value| Request {
            operation: Some(NUDM_SDM::subscribe()),
            method: http::Method::POST,
            target: "/nudm-sdm/v2/imsi-1/sdm-subscriptions".into(),
            headers: HeaderMap::new(),
            body: martlet_sbi::Body::encoded("application/json", body.to_string().into()),
            deadline: None,
        };
        let check = |due: &[&str]| {
            let runtime = tokio::runtime::Builder::new_current_thread().build()?;
            runtime.block_on(record.check_sent(due))
        };
        assert!(check(&["nudm-sdm Subscribe"]).is_err());
        record.sent(&request(json!({"nfInstanceId": "3fa85f64-5717-4562-b3fc-2c963f66afa6",
            "callbackReference": "http://a", "monitoredResourceUris": ["http://b"]})));
        check(&["nudm-sdm Subscribe"]).unwrap();
        assert_eq!(record.calls("nudm-sdm Subscribe"), 0, "no function of the core got it");
        if no_validator() {
            return;
        }
        record.sent(&request(json!({"callbackReference": "http://a"})));
        let wrong = check(&[]).unwrap_err().to_string();
        assert!(wrong.contains("nfInstanceId"), "{wrong}");
    }
}
