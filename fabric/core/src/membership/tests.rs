//! The membership state machine, with scripted messages of the manager.
use super::*;
use crate::channel::Violation;
use crate::messages::Peer;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::Wake;

#[derive(Default)]
struct Woken(AtomicU32);
impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

struct NullHost;
impl Host for NullHost {
    fn request(&self, _: &Arc<Link>, _: u32, _: Vec<u8>) -> Result<(), Violation> {
        Ok(())
    }
    fn listener(&self, _: &SocketAddr) -> Option<Arc<Listener>> {
        None
    }
}

fn host() -> Weak<dyn Host> {
    Arc::downgrade(&Arc::new(NullHost)) as Weak<dyn Host>
}

fn receive(process: &Membership, message: &FromManager, fds: Vec<OwnedFd>) {
    process.handle_message(&messages::encode(message), fds, &host()).unwrap();
}

#[test]
fn a_route_request_with_waiters_is_not_evicted() {
    let process =
        Membership::new("test", 0, ProcessLimits { routes: 2, ..ProcessLimits::default() });
    process.connected();
    let woken = Arc::new(Woken::default());
    let waker = Waker::from(woken.clone());
    let mut context = Context::from_waker(&waker);
    let now = Instant::now();
    let mut ask =
        |authority: &str| process.poll_route(Service::Calls, authority, now, &mut context);
    assert!(ask("a:1").is_pending() && ask("b:1").is_pending());
    // At the limit of cached routes.
    assert!(matches!(ask("c:1"), Poll::Ready(None)));
    let unserved = |authority: &str| FromManager::Route {
        service: Service::Calls,
        authority: authority.into(),
        channel: None,
    };
    receive(&process, &unserved("a:1"), Vec::new());
    assert_eq!(woken.0.load(Ordering::Relaxed), 1);
    // A negative route is evicted.
    assert!(ask("c:1").is_pending());
    receive(&process, &unserved("b:1"), Vec::new());
    receive(&process, &unserved("c:1"), Vec::new());
    assert_eq!(woken.0.load(Ordering::Relaxed), 3);
}

#[test]
fn without_a_manager_a_peer_that_listens_on_any_address_is_found() {
    let process = Membership::new("test", 0, ProcessLimits::default());
    process.connected();
    let sizes = crate::memory::layout::Sizes::default();
    let layout = crate::memory::layout::Layout::of(&sizes).unwrap();
    let [own, _other] = ChannelFds::pair(&layout, false).unwrap();
    let fds = vec![own.memory, own.doorbell, own.peer_doorbell, own.liveness];
    let peer = Peer {
        name: "p".into(),
        schema: 0,
        user: None,
        calls: vec!["p:1".into()],
        connections: vec!["0.0.0.0:5".into()],
    };
    receive(&process, &FromManager::Channel { channel: 1, end: 0, sizes, peer }, fds);
    process.disconnected("it ended");
    let mut context = Context::from_waker(Waker::noop());
    let mut found = |service, authority: &str| {
        matches!(
            process.poll_route(service, authority, Instant::now(), &mut context),
            Poll::Ready(Some(_))
        )
    };
    assert!(
        found(Service::Connections, "127.0.0.1:5") && !found(Service::Connections, "127.0.0.1:6")
    );
    assert!(found(Service::Calls, "p:1") && !found(Service::Calls, "0.0.0.0:5"));
}
