//! Serves a [`Router`] under an authority of the fabric.
use super::{Fabric, Shared};
use crate::channel::Violation;
use crate::frames;
use crate::link::{Host, Link};
use crate::messages::Service;
use crate::sockets::Listener;
use bytes::Bytes;
use martlet_sbi::{BoxFuture, Form, Problem, Request, Response, Router};
use std::cell::RefCell;
use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

/// A router that is reachable under an authority as long as this value lives.
pub struct FabricServer {
    fabric: Fabric,
    authority: String,
}

impl FabricServer {
    /// Serves from now on.
    pub fn bind(fabric: &Fabric, authority: &str, router: Arc<Router>) -> FabricServer {
        fabric
            .0
            .servers
            .write()
            .unwrap_or_else(|e| e.into_inner())
            .insert(authority.to_string(), router);
        fabric.process().serve(Service::Calls, authority);
        FabricServer { fabric: fabric.clone(), authority: authority.to_string() }
    }

    /// Serves until the future is dropped.
    pub async fn run(self) {
        std::future::pending().await
    }
}

impl Drop for FabricServer {
    fn drop(&mut self) {
        self.fabric.0.servers.write().unwrap_or_else(|e| e.into_inner()).remove(&self.authority);
        self.fabric.process().withdraw(Service::Calls, &self.authority);
    }
}

impl Host for Shared {
    fn listener(&self, address: &SocketAddr) -> Option<Arc<Listener>> {
        self.process.listener(address)
    }

    fn request(&self, link: &Arc<Link>, stream: u32, octets: Vec<u8>) -> Result<(), Violation> {
        let now = Instant::now();
        let incoming =
            frames::read_request(Bytes::from(octets), now).map_err(|_| Violation::Frame)?;
        let Some(router) = self.router(&incoming.authority) else {
            link.refuse(stream);
            return Ok(());
        };
        let mut request = incoming.request;
        let longest = now + Duration::from_millis(self.config.longest_ms);
        request.deadline = Some(request.deadline.map_or(longest, |deadline| deadline.min(longest)));
        let (form, backlog) = (self.form(link), self.config.limits.backlog);
        begin(Box::pin(answer(router, request, link.clone(), stream, form, backlog)), link, stream);
        Ok(())
    }
}

/// Begins the work on a request here and now; what has to wait for something goes on in a task of
/// its own. Most answers are there at once, and to hand them to a task would take longer than to
/// find them.
fn begin(mut work: BoxFuture<'static, ()>, link: &Link, stream: u32) {
    // Whatever would wake the work is asked again by its task, which begins by looking.
    let mut context = Context::from_waker(Waker::noop());
    match catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(&mut context))) {
        Ok(Poll::Pending) => {
            let task = tokio::spawn(work).abort_handle();
            link.abort_with(stream, Box::new(move || task.abort()));
        }
        Ok(Poll::Ready(())) => {}
        // The consumer has its answer by now: `Due` gave it while the work was unwound.
        Err(_) => tracing::error!(peer = link.peer.name, "the handler of a request panicked"),
    }
}

thread_local! {
    /// Where messages are written before they go into shared memory: warm, and large enough after a while.
    static SCRATCH: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}
/// What is kept of it, in octets.
const KEPT: usize = 64 << 10;

/// Lends a buffer that is empty.
pub(super) fn with_scratch<T>(work: impl FnOnce(&mut Vec<u8>) -> T) -> T {
    let mut buffer = SCRATCH.take();
    buffer.clear();
    let result = work(&mut buffer);
    if buffer.capacity() <= KEPT {
        SCRATCH.set(buffer);
    }
    result
}

async fn answer(
    router: Arc<Router>,
    request: Request,
    link: Arc<Link>,
    stream: u32,
    form: Form,
    backlog: usize,
) {
    let mut due = Due { link, stream, form, answered: false };
    let response = router.handle(request).await;
    if due.link.channel().backlog() > backlog {
        std::future::poll_fn(|context| due.link.poll_room(backlog, context)).await;
    }
    due.respond(response);
}

/// An answer that is due: also when the handler panics.
struct Due {
    link: Arc<Link>,
    stream: u32,
    form: Form,
    answered: bool,
}

impl Due {
    fn respond(&mut self, response: Response) {
        self.answered = true;
        with_scratch(|out| {
            let written = frames::write_response(&response, self.form, out);
            let longest = self.link.channel().longest_frame();
            let problem = match written {
                Ok(_) if out.len() <= longest => None,
                Ok(_) => Some(Problem::system_failure(format!(
                    "an answer of more than {longest} octets"
                ))),
                Err(problem) => Some(problem),
            };
            if let Some(problem) = problem {
                out.clear();
                // The details of a problem always have a form.
                let _ = frames::write_response(&Response::problem(problem), Form::Wire, out);
            }
            self.link.respond(self.stream, out);
        });
    }
}

impl Drop for Due {
    fn drop(&mut self) {
        if !self.answered {
            // The consumer has given up, and nothing will be sent; or the handler panicked.
            self.respond(Response::problem(Problem::system_failure(
                "the handler of the request ended abnormally",
            )));
        }
    }
}
