//! The client side: a producer that a consumer calls.
use crate::{
    ApiRoot, Body, OperationInfo, Problem, Query, Reply, Request, Transport, headers, tolerant,
    trace,
};
use http::{HeaderMap, HeaderValue, header};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How calls are made.
#[derive(Debug, Clone, Copy)]
pub struct CallPolicy {
    /// From the call to the response, retries included.
    pub timeout: Duration,
    /// Refuse responses with deviations that are tolerated otherwise ([`crate::tolerant`]).
    pub strict: bool,
}

impl Default for CallPolicy {
    fn default() -> Self {
        CallPolicy { timeout: Duration::from_secs(5), strict: false }
    }
}

/// A producer that a consumer calls.
#[derive(Clone)]
pub struct Peer {
    transport: Arc<dyn Transport>,
    root: ApiRoot,
    user_agent: HeaderValue,
    correlation: Option<HeaderValue>,
    policy: CallPolicy,
}

impl Peer {
    /// A producer at a root. `user_agent` is the consumer's NF type (TS 29.500, 5.2.2.2).
    pub fn new(
        transport: Arc<dyn Transport>,
        root: ApiRoot,
        user_agent: &str,
        policy: CallPolicy,
    ) -> Self {
        let user_agent =
            HeaderValue::from_str(user_agent).unwrap_or(HeaderValue::from_static("NF"));
        Peer { transport, root, user_agent, correlation: None, policy }
    }

    /// The same producer, with the identity of a UE in `3gpp-Sbi-Correlation-Info`.
    pub fn about(&self, supi: &str) -> Self {
        Peer { correlation: HeaderValue::from_str(supi).ok(), ..self.clone() }
    }

    /// The same producer with another timeout.
    pub fn within(&self, timeout: Duration) -> Self {
        Peer { policy: CallPolicy { timeout, ..self.policy }, ..self.clone() }
    }

    /// The producer at another root, with the same transport and policy.
    pub fn at(&self, root: ApiRoot) -> Self {
        Peer { root, ..self.clone() }
    }

    /// The API root of the producer.
    pub fn root(&self) -> &ApiRoot {
        &self.root
    }

    /// Calls an operation.
    pub async fn call<R: Reply>(
        &self,
        operation: &'static OperationInfo,
        parameters: &[&str],
        query: Query,
        body: Body,
    ) -> Result<R, Problem> {
        let mut target = self.root.prefix.clone();
        target.push_str(&operation.expand(parameters));
        query.append_to(&mut target);
        self.send(&self.root, operation, target, body).await
    }

    /// Calls a callback operation at the URI that the consumer registered.
    pub async fn call_back<R: Reply>(
        &self,
        uri: &str,
        operation: &'static OperationInfo,
        body: Body,
    ) -> Result<R, Problem> {
        let Some((root, target)) = ApiRoot::split(uri) else {
            return Err(Problem::unreachable(
                crate::TransportFailure::NotSent,
                format!("invalid callback URI {uri:?}"),
            ));
        };
        self.send(&root, operation, target.to_string(), body).await
    }

    async fn send<R: Reply>(
        &self,
        root: &ApiRoot,
        operation: &'static OperationInfo,
        target: String,
        body: Body,
    ) -> Result<R, Problem> {
        let deadline = Instant::now() + self.policy.timeout;
        let mut fields = HeaderMap::with_capacity(4);
        fields.insert(header::USER_AGENT, self.user_agent.clone());
        fields.insert(
            headers::MAX_RSP_TIME,
            HeaderValue::from(self.policy.timeout.as_millis().min(60_000) as u64),
        );
        if let Some(correlation) = &self.correlation {
            fields.insert(headers::CORRELATION_INFO, correlation.clone());
        }
        let mut request = Request {
            operation: Some(operation),
            method: operation.method.clone(),
            target,
            headers: fields,
            body,
            deadline: Some(deadline),
        };
        let call = trace::Call::begin(operation, &root.authority, &mut request);
        let answer =
            tokio::time::timeout_at(deadline.into(), self.transport.send(root, request)).await;
        let answer = answer.unwrap_or_else(|_| {
            let waited = self.policy.timeout;
            Err(Problem::timed_out(format!(
                "{} at {root} timed out after {waited:?}",
                operation.name
            )))
        });
        if let Some(call) = call {
            call.end(
                answer.as_ref().map(|response| response.status).map_err(|problem| problem as _),
            );
        }
        let response = answer?;
        match response.status {
            200..300 => {
                tolerant::begin();
                let response = tolerant::without_envelope(response);
                let reply = R::from_response(response);
                let consumer = self.user_agent.to_str().unwrap_or_default();
                let deviated =
                    tolerant::report(operation, consumer, &root.authority, self.policy.strict);
                deviated.and(reply)
            }
            _ => Err(response.into_problem()),
        }
    }
}
