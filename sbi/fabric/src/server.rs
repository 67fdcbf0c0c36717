//! The server side of the binding: it serves a [`Router`] under an authority of the fabric.
use crate::binding::{FabricBinding, Shared};
use crate::frames;
use crate::scratch::with_scratch;
use bytes::Bytes;
use martlet_fabric::RequestHandler;
use martlet_fabric::channel::Violation;
use martlet_fabric::link::Link;
use martlet_sbi::{BoxFuture, Form, Problem, Request, Response, Router};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

/// Serves a router under an authority until it is dropped.
pub struct FabricServer {
    binding: FabricBinding,
    authority: String,
}

impl FabricServer {
    /// Starts to serve.
    pub fn bind(binding: &FabricBinding, authority: &str, router: Arc<Router>) -> FabricServer {
        let mut servers = binding.shared.servers.write().unwrap_or_else(|e| e.into_inner());
        servers.insert(authority.to_string(), router);
        drop(servers);
        binding.fabric().announce(authority);
        FabricServer { binding: binding.clone(), authority: authority.to_string() }
    }

    /// Serves until the future is dropped.
    pub async fn run(self) {
        std::future::pending().await
    }
}

impl Drop for FabricServer {
    fn drop(&mut self) {
        let mut servers = self.binding.shared.servers.write().unwrap_or_else(|e| e.into_inner());
        servers.remove(&self.authority);
        drop(servers);
        self.binding.fabric().withdraw(&self.authority);
    }
}

impl RequestHandler for Shared {
    fn request(&self, link: &Arc<Link>, stream: u32, bytes: Vec<u8>) -> Result<(), Violation> {
        let now = Instant::now();
        let incoming =
            frames::read_request(Bytes::from(bytes), now).map_err(|_| Violation::Frame)?;
        let Some(router) = self.router(&incoming.authority) else {
            link.refuse(stream);
            return Ok(());
        };
        let mut request = incoming.request;
        if let Some(problem) = self.refusal(link, &request) {
            let (link, form) = (link.clone(), self.form(link));
            let mut guard = ResponseGuard { link, stream, form, responded: false };
            guard.respond(Response::problem(problem));
            return Ok(());
        }
        let latest = now + Duration::from_millis(self.config.max_duration_ms);
        request.deadline = Some(request.deadline.map_or(latest, |deadline| deadline.min(latest)));
        let (form, backlog) = (self.form(link), self.fabric.config().limits.backlog);
        let work = Box::pin(process(router, request, link.clone(), stream, form, backlog));
        start(work, link, stream);
        Ok(())
    }
}

impl Shared {
    /// Why a request is refused: the user of the peer may not send it.
    fn refusal(&self, link: &Link, request: &Request) -> Option<Problem> {
        let (guard, user) = (self.user_guard.get()?, link.peer.user?);
        (guard.0)(&request.method, request.path(), user).err()
    }
}

/// Starts to process a request on the current thread, and continues in a task of its own if it has
/// to wait. Most responses are ready at once, in less time than a task takes to start.
fn start(mut work: BoxFuture<'static, ()>, link: &Link, stream: u32) {
    // The no-op waker is safe: a spawned task polls the work again first.
    let mut context = Context::from_waker(Waker::noop());
    match catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(&mut context))) {
        Ok(Poll::Pending) => {
            let task = tokio::spawn(work).abort_handle();
            link.abort_with(stream, Box::new(move || task.abort()));
        }
        Ok(Poll::Ready(())) => {}
        // `ResponseGuard` has responded during unwinding.
        Err(_) => tracing::error!(peer = link.peer.name, "request handler panicked"),
    }
}

async fn process(
    router: Arc<Router>,
    request: Request,
    link: Arc<Link>,
    stream: u32,
    form: Form,
    backlog: usize,
) {
    let mut guard = ResponseGuard { link, stream, form, responded: false };
    let response = router.handle(request).await;
    if guard.link.channel().backlog() > backlog {
        std::future::poll_fn(|context| guard.link.poll_room(backlog, context)).await;
    }
    guard.respond(response);
}

/// Responds with an error if it is dropped before a response: after a panic or a cancellation.
struct ResponseGuard {
    link: Arc<Link>,
    stream: u32,
    form: Form,
    responded: bool,
}

impl ResponseGuard {
    fn respond(&mut self, response: Response) {
        self.responded = true;
        with_scratch(|out| {
            let written = frames::write_response(&response, self.form, out);
            let max_bytes = self.link.channel().max_frame_bytes();
            let problem = match written {
                Ok(_) if out.len() <= max_bytes => None,
                Ok(_) => {
                    Some(Problem::system_failure(format!("the response exceeds {max_bytes} bytes")))
                }
                Err(problem) => Some(problem),
            };
            if let Some(problem) = problem {
                out.clear();
                // Cannot fail: problem details can always be encoded.
                let _ = frames::write_response(&Response::problem(problem), Form::Wire, out);
            }
            self.link.respond(self.stream, out);
        });
    }
}

impl Drop for ResponseGuard {
    fn drop(&mut self) {
        if !self.responded {
            // After a cancellation the link discards this response.
            self.respond(Response::problem(Problem::system_failure(
                "the request handler ended abnormally",
            )));
        }
    }
}
