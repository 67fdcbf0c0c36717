//! Conformance tests of an SCTP stack. Each test runs with usrsctp, and with the kernel's SCTP if
//! it has one. With `MARTLET_REQUIRE_KERNEL_SCTP` a kernel without SCTP is a failure.
use bytes::Bytes;
use martlet_sctp::{
    Association, AssociationRecord, Listener, Message, Options, PPID_NGAP, SctpError, SctpStack,
    StackChoice,
};
use std::net::IpAddr;
use std::time::Duration;

/// Time limit of a test.
const TIME_LIMIT: Duration = Duration::from_secs(60);

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

/// Runs a test with one stack, within the time limit. Kernel and usrsctp endpoints of one machine
/// would answer each other's packets with ABORT, so each test has a network namespace.
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
        assert!(up.is_ok_and(|status| status.success()), "the loopback interface is up");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let Some(stack) = open(choice) else { return };
            tokio::time::timeout(TIME_LIMIT, test(stack)).await.expect("the test ends in time");
        });
    });
    if let Err(panic) = thread.join() {
        std::panic::resume_unwind(panic);
    }
}

/// One test for each function and stack.
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
    messages_keep_their_length_stream_and_ppid,
    many_associations_share_a_listener,
    a_graceful_shutdown_delivers_sent_messages,
    an_abort_is_reported_to_the_peer,
    a_dropped_association_is_aborted,
    connect_without_listener_is_refused,
    an_invalid_message_is_rejected_and_the_association_continues,
    a_slow_receiver_blocks_the_sender_and_no_message_is_lost,
    a_message_above_the_receivers_limit_aborts_the_association,
    a_former_association_is_aborted_with_its_tag_only,
);

const LOOPBACK: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

/// The successor of a process that was killed has only the record of the association.
async fn a_former_association_is_aborted_with_its_tag_only(stack: SctpStack) {
    let (near, far, _listener) = pair(&stack).await;
    near.send(0, PPID_NGAP, test_message(10, 1)).await.unwrap();
    far.recv().await.unwrap().unwrap();
    let Some(record) = far.record() else { return assert_eq!(stack.kind(), "kernel") };
    assert_eq!((record.local, record.peer), (far.local_addr(), near.local_addr()));
    let of_another = AssociationRecord { tag: record.tag ^ 1, ..record };
    assert_eq!(stack.abort_former(&[of_another]), 1);
    far.send(0, PPID_NGAP, test_message(10, 2)).await.unwrap();
    assert_eq!(near.recv().await.unwrap().unwrap().data, test_message(10, 2));
    assert_eq!(stack.abort_former(&[record]), 1);
    let ended = near.recv().await;
    assert!(matches!(ended, Err(SctpError::PeerAborted { cause: 12 })), "{ended:?}");
}

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

/// A message whose bytes show a shift or a gap.
fn test_message(length: usize, seed: u8) -> Bytes {
    (0..length).map(|n| (n as u8).wrapping_mul(31).wrapping_add(seed)).collect()
}

async fn messages_keep_their_length_stream_and_ppid(stack: SctpStack) {
    let (near, far, _listener) = pair(&stack).await;
    assert!(near.streams() >= 2 && far.streams() >= 2, "{} and {}", near.streams(), far.streams());
    assert_eq!(near.peer_addr(), far.local_addr());
    for (n, length) in [1, 7, 200, 1500, 60_000, 70_000, 200_000].into_iter().enumerate() {
        let (stream, ppid) =
            (n as u16 % near.streams().min(far.streams()), if n % 2 == 0 { PPID_NGAP } else { 66 });
        for (from, to) in [(&near, &far), (&far, &near)] {
            let sent = Message { stream, ppid, data: test_message(length, n as u8) };
            from.send(stream, ppid, sent.data.clone()).await.unwrap();
            let received = to.recv().await.unwrap().unwrap();
            assert!(
                received == sent,
                "{length} bytes on stream {stream} received as {} on {}",
                received.data.len(),
                received.stream
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
        near.send(1, PPID_NGAP, test_message(100, n as u8)).await.unwrap();
    }
    for (n, (_, far)) in associations.iter().enumerate() {
        assert_eq!(far.recv().await.unwrap().unwrap().data, test_message(100, n as u8));
    }
    // The end of one association does not affect the others.
    let (first, _far) = associations.remove(0);
    first.abort();
    for (near, far) in &associations {
        far.send(0, PPID_NGAP, test_message(10, 9)).await.unwrap();
        assert_eq!(near.recv().await.unwrap().unwrap().data, test_message(10, 9));
    }
}

async fn a_graceful_shutdown_delivers_sent_messages(stack: SctpStack) {
    let (near, far, _listener) = pair(&stack).await;
    for n in 0..20 {
        near.send(n % near.streams(), PPID_NGAP, test_message(500, n as u8)).await.unwrap();
    }
    let reader = async {
        let mut received = 0;
        while far.recv().await.expect("a graceful shutdown").is_some() {
            received += 1;
        }
        received
    };
    let ((), received) = tokio::join!(near.shutdown(), reader);
    assert_eq!(received, 20);
    assert!(near.send(0, PPID_NGAP, test_message(1, 0)).await.is_err());
}

async fn an_abort_is_reported_to_the_peer(stack: SctpStack) {
    let (near, far, _listener) = pair(&stack).await;
    near.abort();
    let end = far.recv().await;
    assert!(matches!(end, Err(SctpError::PeerAborted { .. })), "{end:?}");
    assert!(far.send(0, PPID_NGAP, test_message(1, 0)).await.is_err());
}

async fn a_dropped_association_is_aborted(stack: SctpStack) {
    let (near, far, _listener) = pair(&stack).await;
    drop(near);
    let end = far.recv().await;
    assert!(matches!(end, Err(SctpError::PeerAborted { .. })), "{end:?}");
}

async fn connect_without_listener_is_refused(stack: SctpStack) {
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
    let error = outcome.err().expect("no listener");
    assert!(matches!(error, SctpError::Refused | SctpError::ConnectTimeout), "{error:?}");
}

async fn an_invalid_message_is_rejected_and_the_association_continues(stack: SctpStack) {
    let (near, far, _listener) = pair(&stack).await;
    let streams = near.streams();
    assert!(matches!(
        near.send(streams, PPID_NGAP, test_message(1, 0)).await,
        Err(SctpError::NoSuchStream { .. })
    ));
    assert!(matches!(near.send(0, PPID_NGAP, Bytes::new()).await, Err(SctpError::EmptyMessage)));
    let limit = Options::default().max_message;
    let too_long = near.send(0, PPID_NGAP, test_message(limit + 1, 0)).await;
    assert!(matches!(too_long, Err(SctpError::MessageTooLarge { .. })), "{too_long:?}");
    near.send(0, PPID_NGAP, test_message(5, 1)).await.unwrap();
    assert_eq!(far.recv().await.unwrap().unwrap().data, test_message(5, 1));
}

async fn a_slow_receiver_blocks_the_sender_and_no_message_is_lost(stack: SctpStack) {
    const MESSAGES: usize = 150;
    let (near, far, _listener) = pair(&stack).await;
    let sender = async {
        for n in 0..MESSAGES {
            near.send(1, PPID_NGAP, test_message(40_000, n as u8)).await.unwrap();
        }
    };
    let reader = async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        for n in 0..MESSAGES {
            let received = far.recv().await.unwrap().unwrap();
            assert!(
                received.data == test_message(40_000, n as u8),
                "message {n} is complete and in order"
            );
        }
    };
    tokio::join!(sender, reader);
}

async fn a_message_above_the_receivers_limit_aborts_the_association(stack: SctpStack) {
    let listener = stack
        .listen(&[LOOPBACK], 0, &Options { max_message: 1000, ..Options::default() })
        .await
        .unwrap();
    let options = Options::default();
    let (near, far) =
        tokio::join!(stack.connect(None, listener.local_addr(), &options), listener.accept());
    let (near, far) = (near.unwrap(), far.unwrap());
    near.send(0, PPID_NGAP, test_message(100_000, 0)).await.unwrap();
    let rejected = far.recv().await;
    assert!(matches!(rejected, Err(SctpError::MessageTooLarge { .. })), "{rejected:?}");
    let end = near.recv().await;
    assert!(matches!(end, Err(SctpError::PeerAborted { .. })), "{end:?}");
}
