//! The client side of the binding, and what both sides share.
use crate::scratch::with_scratch;
use crate::{frames, metrics};
use bytes::Bytes;
use http::Method;
use martlet_fabric::channel::{Closed, Violation};
use martlet_fabric::link::{Call, CallError, Link};
use martlet_fabric::{Fabric, RequestHandler};
use martlet_sbi::{
    ApiRoot, Appended, Body, BoxFuture, Form, OperationInfo, Problem, Request, Response, Router,
    Transport, TransportFailure, UserGuard,
};
use std::collections::HashMap;
use std::sync::{Arc, OnceLock, RwLock, Weak};
use std::time::{Duration, Instant};
use tokio::sync::OwnedSemaphorePermit;

/// Configuration of service calls over the fabric.
#[derive(Debug, Clone)]
pub struct CallConfig {
    /// Maximum number of retries of a request that is safe to repeat.
    pub retries: u32,
    /// Upper limit in milliseconds of the processing time of a request.
    pub max_duration_ms: u64,
}

impl Default for CallConfig {
    fn default() -> Self {
        CallConfig { retries: 2, max_duration_ms: 60_000 }
    }
}

/// Service calls over one process's membership in the fabric. Clones share the membership.
#[derive(Clone)]
pub struct FabricBinding {
    pub(crate) shared: Arc<Shared>,
    next: Option<Arc<dyn Transport>>,
}

pub(crate) struct Shared {
    pub(crate) fabric: Fabric,
    pub(crate) config: CallConfig,
    pub(crate) servers: RwLock<HashMap<String, Arc<Router>>>,
    pub(crate) user_guard: OnceLock<UserGuard>,
}

impl Shared {
    pub(crate) fn router(&self, authority: &str) -> Option<Arc<Router>> {
        self.servers.read().unwrap_or_else(|e| e.into_inner()).get(authority).cloned()
    }

    /// The form of bodies that a peer understands: compact if it has the same schema as this
    /// process, else the form of the wire (JSON).
    pub(crate) fn form(&self, link: &Link) -> Form {
        match link.peer.schema {
            schema if schema != 0 && schema == self.fabric.config().schema => Form::Compact,
            _ => Form::Wire,
        }
    }
}

impl FabricBinding {
    /// A binding with the default configuration.
    pub fn new(fabric: Fabric) -> Self {
        Self::with_config(fabric, CallConfig::default())
    }

    /// A binding over a membership. It becomes the request handler of `fabric`, so use one binding
    /// for each [`Fabric`]. To use the compact form of bodies, set
    /// [`FabricConfig::schema`](martlet_fabric::FabricConfig::schema) to the same number in
    /// processes with equal service types.
    pub fn with_config(fabric: Fabric, config: CallConfig) -> Self {
        let (servers, user_guard) = (RwLock::default(), OnceLock::new());
        let shared = Arc::new(Shared { fabric, config, servers, user_guard });
        let handler = Arc::downgrade(&shared) as Weak<dyn RequestHandler>;
        shared.fabric.set_request_handler(handler);
        FabricBinding { shared, next: None }
    }

    /// Passes requests that no process of the fabric serves to `next`.
    pub fn with_next(mut self, next: Arc<dyn Transport>) -> Self {
        self.next = Some(next);
        self
    }

    /// Authorises the requests of other processes by their users. The first guard stays.
    pub fn guard_users(&self, guard: UserGuard) {
        let _ = self.shared.user_guard.set(guard);
    }

    /// The process's membership in the fabric.
    pub fn fabric(&self) -> &Fabric {
        &self.shared.fabric
    }

    async fn exchange(&self, to: &ApiRoot, mut request: Request) -> Result<Response, Problem> {
        let Shared { fabric, config, .. } = &*self.shared;
        if let Some(router) = self.shared.router(&to.authority) {
            return match request.is_misdirected() {
                true => Err(Problem::misdirected(request.path())),
                false => Ok(router.handle(request).await),
            };
        }
        let mut left = config.retries;
        loop {
            let Some(link) = fabric.route(&to.authority).await else {
                return self.fall_back(to, request).await;
            };
            if request.is_misdirected() {
                return Err(Problem::misdirected(request.path()));
            }
            let permit = self.permit(&link).await;
            let failed = match self.call(&link, to, &mut request)? {
                Ok(call) => match self.response(&link, call).await {
                    Ok(response) => return Ok(response),
                    Err(failed) => failed,
                },
                Err(failed) => failed,
            };
            drop(permit);
            let how = match failed {
                CallError::NotSent(_) | CallError::Refused => TransportFailure::NotSent,
                CallError::NoResponse(_) => TransportFailure::Unknown,
            };
            if failed == CallError::Refused {
                fabric.invalidate_route(&to.authority, &link);
            }
            if left == 0 || !may_retry(request.operation, &request.method, how) {
                return Err(Problem::unreachable(how, format!("{to}: {failed}")));
            }
            left -= 1;
            let reason = if how == TransportFailure::NotSent { "not sent" } else { "no response" };
            metrics::RETRIES.with_label_values(&[reason]).inc();
            tracing::debug!(%to, %failed, "SBI request retried");
            let done = config.retries - left;
            tokio::time::sleep(Duration::from_millis(10 << done.min(6))).await;
        }
    }

    /// Waits until another call to the peer is allowed.
    async fn permit(&self, link: &Arc<Link>) -> Option<OwnedSemaphorePermit> {
        let backlog = self.shared.fabric.config().limits.backlog;
        let permit = link.call_permit().await;
        if link.channel().backlog() > backlog {
            std::future::poll_fn(|context| link.poll_room(backlog, context)).await;
        }
        permit
    }

    /// Sends a request. The outer error is a defect of the request itself, so a retry is useless.
    fn call(
        &self,
        link: &Arc<Link>,
        to: &ApiRoot,
        request: &mut Request,
    ) -> Result<Result<Call, CallError>, Problem> {
        let max_bytes = link.channel().max_frame_bytes();
        let form = self.shared.form(link);
        with_scratch(|out| {
            let written = frames::write_request(&to.authority, request, form, Instant::now(), out)?;
            if out.len() > max_bytes {
                return Err(
                    Problem::new(413, "").detail(format!("the request exceeds {max_bytes} bytes"))
                );
            }
            let call = link.call(out);
            // A retry needs the encoded body only. Drop the value now, while the peer works, rather
            // than after the response.
            if let Some(Appended { content_type, form }) = written.body {
                let bytes = Bytes::copy_from_slice(&out[written.at..]);
                request.body = match form {
                    Form::Wire => Body::encoded(content_type, bytes),
                    Form::Compact => {
                        let body = request.operation.and_then(|operation| operation.body);
                        Body::compact(content_type, bytes).with_wire_form(body)
                    }
                };
            }
            Ok(call)
        })
    }

    async fn response(&self, link: &Arc<Link>, call: Call) -> Result<Response, CallError> {
        let bytes = call.await?;
        frames::read_response(Bytes::from(bytes)).map_err(|error| {
            tracing::warn!(peer = link.peer.name, %error, "fabric channel closed");
            link.channel().close(Closed::Violation(Violation::Frame));
            CallError::NoResponse(Closed::Violation(Violation::Frame))
        })
    }

    async fn fall_back(&self, to: &ApiRoot, request: Request) -> Result<Response, Problem> {
        match &self.next {
            Some(next) => {
                metrics::FALLBACKS.inc();
                next.send(to, request).await
            }
            None => Err(Problem::unreachable(
                TransportFailure::NotSent,
                format!("no process of the fabric serves {to}"),
            )),
        }
    }
}

impl Transport for FabricBinding {
    fn send<'a>(
        &'a self,
        to: &'a ApiRoot,
        request: Request,
    ) -> BoxFuture<'a, Result<Response, Problem>> {
        Box::pin(self.exchange(to, request))
    }
}

fn may_retry(operation: Option<&OperationInfo>, method: &Method, how: TransportFailure) -> bool {
    how == TransportFailure::NotSent
        || operation.map_or(*method == Method::GET, OperationInfo::is_idempotent)
}
