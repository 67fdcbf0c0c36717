//! What every SCTP stack here has to do. Each test runs over the stack in user space and over the
//! kernel's, where it has one. With `MARTLET_REQUIRE_KERNEL_SCTP` a kernel without SCTP is a
//! failure.
use bytes::Bytes;
use martlet_sctp::{
    Association, Listener, Message, Options, PPID_NGAP, SctpError, SctpStack, StackChoice,
};
use std::net::IpAddr;
use std::time::Duration;

/// How long anything may take.
const PATIENCE: Duration = Duration::from_secs(60);

fn open(choice: StackChoice) -> Option<SctpStack> {
    match SctpStack::open(choice) {
        Ok(stack) => Some(stack),
        Err(error)
            if choice == StackChoice::Kernel
                && std::env::var_os("MARTLET_REQUIRE_KERNEL_SCTP").is_some() =>
        {
            panic!("the kernel's SCTP is required: {error}")
        }
        Err(error) => {
            eprintln!("SKIPPED: {error}");
            None
        }
    }
}

/// A test over one stack, bounded in time. Kernel endpoints and those in user space of one machine
/// would answer each other's packets with ABORT, so there is a namespace for each test.
fn over<F: Future<Output = ()>>(
    choice: StackChoice,
    test: impl FnOnce(SctpStack) -> F + Send + 'static,
) {
    let thread = std::thread::spawn(move || {
        if let Err(error) = nix::sched::unshare(nix::sched::CloneFlags::CLONE_NEWNET) {
            return eprintln!(
                "SKIPPED: a network namespace cannot be made ({error}); run the tests as root"
            );
        }
        let up = std::process::Command::new("ip").args(["link", "set", "lo", "up"]).status();
        assert!(up.is_ok_and(|status| status.success()), "the loopback interface comes up");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let Some(stack) = open(choice) else { return };
            tokio::time::timeout(PATIENCE, test(stack)).await.expect("the test ends in time");
        });
    });
    if let Err(panic) = thread.join() {
        std::panic::resume_unwind(panic);
    }
}

/// Makes a test of each function, over each stack.
macro_rules! conformance {
    ($($name:ident),+ $(,)?) => {
        mod usrsctp {
            $(#[test] fn $name() { super::over(super::StackChoice::Usrsctp, super::$name); })+
        }
        mod kernel {
            $(#[test] fn $name() { super::over(super::StackChoice::Kernel, super::$name); })+
        }
    };
}

conformance!(
    messages_keep_their_bounds_their_stream_and_their_protocol,
    many_associations_share_a_listener,
    an_orderly_end_is_seen_as_one_and_what_was_sent_before_arrives,
    an_abort_is_seen_as_one,
    who_is_dropped_is_aborted,
    where_nobody_listens_nobody_is_reached,
    what_cannot_be_sent_is_refused_and_disturbs_nothing,
    a_reader_that_rests_holds_the_sender_back_and_nothing_is_lost,
    a_message_above_the_receivers_limit_ends_the_association,
);

const LOOPBACK: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

async fn listen(stack: &SctpStack) -> Listener {
    stack.listen(&[LOOPBACK], 0, &Options::default()).await.unwrap()
}

async fn pair_with(stack: &SctpStack, options: &Options) -> (Association, Association, Listener) {
    let listener = stack.listen(&[LOOPBACK], 0, options).await.unwrap();
    let (near, far) =
        tokio::join!(stack.connect(None, listener.local_addr(), options), listener.accept());
    (near.unwrap(), far.unwrap(), listener)
}

async fn pair(stack: &SctpStack) -> (Association, Association, Listener) {
    pair_with(stack, &Options::default()).await
}

/// Octets of which each place tells whether it is in place.
fn octets(length: usize, seed: u8) -> Bytes {
    (0..length).map(|n| (n as u8).wrapping_mul(31).wrapping_add(seed)).collect()
}

async fn messages_keep_their_bounds_their_stream_and_their_protocol(stack: SctpStack) {
    let (near, far, _listener) = pair(&stack).await;
    assert!(near.streams() >= 2 && far.streams() >= 2, "{} and {}", near.streams(), far.streams());
    assert_eq!(near.peer_addr(), far.local_addr());
    for (n, length) in [1, 7, 200, 1500, 60_000, 70_000, 200_000].into_iter().enumerate() {
        let (stream, ppid) =
            (n as u16 % near.streams().min(far.streams()), if n % 2 == 0 { PPID_NGAP } else { 66 });
        for (from, to) in [(&near, &far), (&far, &near)] {
            let sent = Message { stream, ppid, data: octets(length, n as u8) };
            from.send(stream, ppid, sent.data.clone()).await.unwrap();
            let came = to.recv().await.unwrap().unwrap();
            assert!(
                came == sent,
                "{length} octets on stream {stream} came as {} on {}",
                came.data.len(),
                came.stream
            );
        }
    }
}

async fn many_associations_share_a_listener(stack: SctpStack) {
    let listener = listen(&stack).await;
    let (address, options) = (listener.local_addr(), Options::default());
    let mut associations = Vec::new();
    for _ in 0..5 {
        let (near, far) = tokio::join!(stack.connect(None, address, &options), listener.accept());
        associations.push((near.unwrap(), far.unwrap()));
    }
    for (n, (near, _)) in associations.iter().enumerate() {
        near.send(1, PPID_NGAP, octets(100, n as u8)).await.unwrap();
    }
    for (n, (_, far)) in associations.iter().enumerate() {
        assert_eq!(far.recv().await.unwrap().unwrap().data, octets(100, n as u8));
    }
    // One that ends does not disturb the others.
    let (first, _far) = associations.remove(0);
    first.abort();
    for (near, far) in &associations {
        far.send(0, PPID_NGAP, octets(10, 9)).await.unwrap();
        assert_eq!(near.recv().await.unwrap().unwrap().data, octets(10, 9));
    }
}

async fn an_orderly_end_is_seen_as_one_and_what_was_sent_before_arrives(stack: SctpStack) {
    let (near, far, _listener) = pair(&stack).await;
    for n in 0..20 {
        near.send(n % near.streams(), PPID_NGAP, octets(500, n as u8)).await.unwrap();
    }
    let reader = async {
        let mut came = 0;
        while far.recv().await.expect("an orderly end").is_some() {
            came += 1;
        }
        came
    };
    let ((), came) = tokio::join!(near.shutdown(), reader);
    assert_eq!(came, 20);
    assert!(near.send(0, PPID_NGAP, octets(1, 0)).await.is_err());
}

async fn an_abort_is_seen_as_one(stack: SctpStack) {
    let (near, far, _listener) = pair(&stack).await;
    near.abort();
    let end = far.recv().await;
    assert!(matches!(end, Err(SctpError::PeerAborted { .. })), "{end:?}");
    assert!(far.send(0, PPID_NGAP, octets(1, 0)).await.is_err());
}

async fn who_is_dropped_is_aborted(stack: SctpStack) {
    let (near, far, _listener) = pair(&stack).await;
    drop(near);
    let end = far.recv().await;
    assert!(matches!(end, Err(SctpError::PeerAborted { .. })), "{end:?}");
}

async fn where_nobody_listens_nobody_is_reached(stack: SctpStack) {
    let listener = listen(&stack).await;
    let address = listener.local_addr();
    drop(listener);
    let options = Options {
        init_attempts: 2,
        rto_initial: Duration::from_millis(260),
        init_timeout: Duration::from_millis(300),
        ..Options::default()
    };
    let outcome = stack.connect(None, address, &options).await;
    let error = outcome.err().expect("there is nobody");
    assert!(matches!(error, SctpError::Refused | SctpError::ConnectTimeout), "{error:?}");
}

async fn what_cannot_be_sent_is_refused_and_disturbs_nothing(stack: SctpStack) {
    let (near, far, _listener) = pair(&stack).await;
    let streams = near.streams();
    assert!(matches!(
        near.send(streams, PPID_NGAP, octets(1, 0)).await,
        Err(SctpError::NoSuchStream { .. })
    ));
    assert!(matches!(near.send(0, PPID_NGAP, Bytes::new()).await, Err(SctpError::EmptyMessage)));
    let most = Options::default().max_message;
    let too_long = near.send(0, PPID_NGAP, octets(most + 1, 0)).await;
    assert!(matches!(too_long, Err(SctpError::MessageTooLarge { .. })), "{too_long:?}");
    near.send(0, PPID_NGAP, octets(5, 1)).await.unwrap();
    assert_eq!(far.recv().await.unwrap().unwrap().data, octets(5, 1));
}

async fn a_reader_that_rests_holds_the_sender_back_and_nothing_is_lost(stack: SctpStack) {
    const MESSAGES: usize = 150;
    let (near, far, _listener) = pair(&stack).await;
    let sender = async {
        for n in 0..MESSAGES {
            near.send(1, PPID_NGAP, octets(40_000, n as u8)).await.unwrap();
        }
    };
    let reader = async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        for n in 0..MESSAGES {
            let came = far.recv().await.unwrap().unwrap();
            assert!(came.data == octets(40_000, n as u8), "message {n} is whole and in its place");
        }
    };
    tokio::join!(sender, reader);
}

async fn a_message_above_the_receivers_limit_ends_the_association(stack: SctpStack) {
    let listener = stack
        .listen(&[LOOPBACK], 0, &Options { max_message: 1000, ..Options::default() })
        .await
        .unwrap();
    let options = Options::default();
    let (near, far) =
        tokio::join!(stack.connect(None, listener.local_addr(), &options), listener.accept());
    let (near, far) = (near.unwrap(), far.unwrap());
    near.send(0, PPID_NGAP, octets(100_000, 0)).await.unwrap();
    let refused = far.recv().await;
    assert!(matches!(refused, Err(SctpError::MessageTooLarge { .. })), "{refused:?}");
    let end = near.recv().await;
    assert!(matches!(end, Err(SctpError::PeerAborted { .. })), "{end:?}");
}
