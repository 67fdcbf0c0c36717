//! A process's part, with the manager played by hand.
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

struct Nobody;
impl Host for Nobody {
    fn request(&self, _: &Arc<Link>, _: u32, _: Vec<u8>) -> Result<(), Violation> {
        Ok(())
    }
    fn listener(&self, _: &SocketAddr) -> Option<Arc<Listener>> {
        None
    }
}

fn host() -> Weak<dyn Host> {
    Arc::downgrade(&Arc::new(Nobody)) as Weak<dyn Host>
}

fn told(process: &Process, message: &ToMember, fds: Vec<OwnedFd>) {
    process.incoming(&messages::encode(message), fds, &host()).unwrap();
}

#[test]
fn who_waits_for_an_answer_is_not_forgotten_for_others() {
    let process = Process::new("test", 0, ProcessLimits { ways: 2, ..ProcessLimits::default() });
    process.connected();
    let woken = Arc::new(Woken::default());
    let waker = Waker::from(woken.clone());
    let mut context = Context::from_waker(&waker);
    let now = Instant::now();
    let mut ask = |authority: &str| process.poll_way(Service::Calls, authority, now, &mut context);
    assert!(ask("a:1").is_pending() && ask("b:1").is_pending());
    // As many questions as may be are open already.
    assert!(matches!(ask("c:1"), Poll::Ready(None)));
    let nobody = |authority: &str| ToMember::Way {
        service: Service::Calls,
        authority: authority.into(),
        channel: None,
    };
    told(&process, &nobody("a:1"), Vec::new());
    assert_eq!(woken.0.load(Ordering::Relaxed), 1);
    // What is known makes room for what is not.
    assert!(ask("c:1").is_pending());
    told(&process, &nobody("b:1"), Vec::new());
    told(&process, &nobody("c:1"), Vec::new());
    assert_eq!(woken.0.load(Ordering::Relaxed), 3);
}

#[test]
fn without_a_manager_a_peer_that_listens_at_any_address_is_found() {
    let process = Process::new("test", 0, ProcessLimits::default());
    process.connected();
    let sizes = crate::memory::layout::Sizes::default();
    let layout = crate::memory::layout::Layout::of(&sizes).unwrap();
    let [own, _other] = Parts::pair(&layout, false).unwrap();
    let fds = vec![own.memory, own.bell, own.peer_bell, own.life_line];
    let peer = Peer {
        name: "p".into(),
        model: 0,
        calls: vec!["p:1".into()],
        connections: vec!["0.0.0.0:5".into()],
    };
    told(&process, &ToMember::Channel { channel: 1, end: 0, sizes, peer }, fds);
    process.disconnected("it has ended");
    let mut context = Context::from_waker(Waker::noop());
    let mut found = |service, authority: &str| {
        matches!(
            process.poll_way(service, authority, Instant::now(), &mut context),
            Poll::Ready(Some(_))
        )
    };
    assert!(
        found(Service::Connections, "127.0.0.1:5") && !found(Service::Connections, "127.0.0.1:6")
    );
    assert!(found(Service::Calls, "p:1") && !found(Service::Calls, "0.0.0.0:5"));
}
