//! Calls producers over the fabric, and those that it does not know over the next binding.
use super::Fabric;
use super::server::with_scratch;
use crate::channel::{Closed, Violation};
use crate::link::{Call, CallFailed, Link};
use crate::messages::Service;
use crate::{frames, metrics};
use bytes::Bytes;
use http::Method;
use martlet_sbi::{
    ApiRoot, Appended, Body, BoxFuture, Form, OperationInfo, Problem, Request, Response, Transport,
    TransportFailure,
};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::OwnedSemaphorePermit;

/// The client side of the binding.
#[derive(Clone)]
pub struct FabricBinding {
    fabric: Fabric,
    next: Option<Arc<dyn Transport>>,
}

impl FabricBinding {
    /// Calls over a process's part in the fabric.
    pub fn new(fabric: Fabric) -> Self {
        FabricBinding { fabric, next: None }
    }

    /// Calls to authorities that nobody of the fabric serves go here: other machines, other
    /// vendors.
    pub fn with_next(mut self, next: Arc<dyn Transport>) -> Self {
        self.next = Some(next);
        self
    }

    async fn link(&self, authority: &str) -> Option<Arc<Link>> {
        let process = self.fabric.process();
        let way = std::future::poll_fn(|context| {
            process.poll_way(Service::Calls, authority, Instant::now(), context)
        });
        let longest = Duration::from_millis(self.fabric.config().connect_ms);
        tokio::time::timeout(longest, way).await.unwrap_or(None)
    }

    async fn exchange(&self, to: &ApiRoot, mut request: Request) -> Result<Response, Problem> {
        if let Some(router) = self.fabric.router(&to.authority) {
            return Ok(router.handle(request).await);
        }
        let mut left = self.fabric.config().retries;
        loop {
            let Some(link) = self.link(&to.authority).await else {
                return self.elsewhere(to, request).await;
            };
            let turn = self.turn(&link).await;
            let failed = match self.call(&link, to, &mut request)? {
                Ok(call) => match self.answer(&link, call).await {
                    Ok(response) => return Ok(response),
                    Err(failed) => failed,
                },
                Err(failed) => failed,
            };
            drop(turn);
            let how = match failed {
                CallFailed::NotSent(_) | CallFailed::Refused => TransportFailure::NotSent,
                CallFailed::NoAnswer(_) => TransportFailure::Unknown,
            };
            if failed == CallFailed::Refused {
                self.fabric.process().mistaken(Service::Calls, &to.authority, &link);
            }
            if left == 0 || !may_repeat(request.operation, &request.method, how) {
                return Err(Problem::unreachable(how, format!("{to}: {failed}")));
            }
            left -= 1;
            let reason = if how == TransportFailure::NotSent { "not sent" } else { "no answer" };
            metrics::RETRIES.with_label_values(&[reason]).inc();
            tracing::debug!(%to, %failed, "an SBI request is repeated");
            let done = self.fabric.config().retries - left;
            tokio::time::sleep(Duration::from_millis(10 << done.min(6))).await;
        }
    }

    /// Waits until there may be another call on a link.
    async fn turn(&self, link: &Arc<Link>) -> Option<OwnedSemaphorePermit> {
        let backlog = self.fabric.config().limits.backlog;
        let turn = link.turns.clone().acquire_owned().await.ok();
        if link.channel().backlog() > backlog {
            std::future::poll_fn(|context| link.poll_room(backlog, context)).await;
        }
        turn
    }

    /// Sends a request. The outer error is one of the request itself, which no repetition would
    /// heal.
    fn call(
        &self,
        link: &Arc<Link>,
        to: &ApiRoot,
        request: &mut Request,
    ) -> Result<Result<Call, CallFailed>, Problem> {
        let longest = link.channel().longest_frame();
        let form = self.fabric.0.form(link);
        with_scratch(|out| {
            let written = frames::write_request(&to.authority, request, form, Instant::now(), out)?;
            if out.len() > longest {
                return Err(Problem::new(413, "")
                    .detail(format!("a request of more than {longest} octets")));
            }
            let call = link.call(out);
            // A repetition needs octets alone: the value is let go while the peer works, and not
            // when its answer is there.
            if let Some(Appended { content_type, form }) = written.body {
                let octets = Bytes::copy_from_slice(&out[written.at..]);
                request.body = match form {
                    Form::Wire => Body::encoded(content_type, octets),
                    Form::Compact => {
                        let body = request.operation.and_then(|operation| operation.body);
                        Body::compact(content_type, octets).known(body)
                    }
                };
            }
            Ok(call)
        })
    }

    async fn answer(&self, link: &Arc<Link>, call: Call) -> Result<Response, CallFailed> {
        let octets = call.await?;
        frames::read_response(Bytes::from(octets)).map_err(|wrong| {
            tracing::warn!(peer = link.peer.name, %wrong, "a channel of the fabric is closed");
            link.channel().close(Closed::Violation(Violation::Frame));
            CallFailed::NoAnswer(Closed::Violation(Violation::Frame))
        })
    }

    async fn elsewhere(&self, to: &ApiRoot, request: Request) -> Result<Response, Problem> {
        match &self.next {
            Some(next) => {
                metrics::ELSEWHERE.inc();
                next.send(to, request).await
            }
            None => Err(Problem::unreachable(
                TransportFailure::NotSent,
                format!("nobody of the fabric serves {to}"),
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

fn may_repeat(operation: Option<&OperationInfo>, method: &Method, how: TransportFailure) -> bool {
    how == TransportFailure::NotSent
        || operation.map_or(*method == Method::GET, OperationInfo::is_idempotent)
}
