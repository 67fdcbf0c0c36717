//! The kernel module against a user space program, as requester and as responder. Needs the module
//! loaded and root; `deploy/guest/lcs.sh` runs this in a guest.

use martlet_lcs_channel::{Channel, Identity, Kind, Options, connect, listen};
use martlet_lcs_kernel::{Device, MAX_ROUNDS};
use martlet_lcsupp::{Framer, Message, PayloadType, Transport};
use nix::libc::{self, c_int};
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};
use std::io::ErrorKind;
use std::net::TcpStream;
use std::os::unix::thread::JoinHandleExt;
use std::thread::JoinHandle;
use std::time::Duration;

const SESSION: [u8; 255] = [0x5e; 255];

/// The module; none where it is not loaded and not required.
fn device() -> Option<Device> {
    match Device::open() {
        Ok(device) => Some(device),
        Err(error) if std::env::var_os("MARTLET_REQUIRE_KERNEL_MODULE").is_some() => {
            panic!("no module: {error}")
        }
        Err(error) => {
            println!("SKIPPED: the kernel module is not loaded: {error}");
            None
        }
    }
}

/// Both ends of a connection; the second runs `work` on a thread.
fn pair<T: Send + 'static>(
    ours: Kind,
    theirs: Kind,
    work: impl FnOnce(Box<dyn Channel>) -> T + Send + 'static,
) -> (Box<dyn Channel>, JoinHandle<T>) {
    let identity = Identity::self_signed(&["lmf.example"]).unwrap();
    let options = Options { timeout: Duration::from_secs(20), ..Options::default() };
    let mut listener = listen(theirs, ([127, 0, 0, 1], 0).into(), &identity, &options).unwrap();
    let at = listener.local_addr();
    let thread = std::thread::spawn(move || work(listener.accept().unwrap()));
    (connect(ours, at, &identity.trust("lmf.example"), &options).unwrap(), thread)
}

/// A responder in user space: echoes each message, changed by `change`.
fn echo(mut channel: Box<dyn Channel>, change: impl Fn(&mut Vec<u8>)) {
    let (mut framer, mut input) = (Framer::new(), Vec::new());
    while let Ok(true) = channel.receive(&mut input) {
        framer.push(&input);
        input.clear();
        while let Some(message) = framer.next().unwrap() {
            let Message::Uplink(transport) = message else { panic!("{message:?}") };
            assert_eq!(
                (transport.payload_type, transport.session),
                (PayloadType::Lpp, &SESSION[..])
            );
            let mut answer = Vec::new();
            Message::Downlink(transport).encode_into(&mut answer).unwrap();
            change(&mut answer);
            if channel.send(&answer).is_err() {
                return;
            }
        }
    }
    let _ = channel.close();
}

fn uplink(payload: &[u8], session: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let transport = Transport { payload_type: PayloadType::Lpp, payload, session };
    Message::Uplink(transport).encode_into(&mut bytes).unwrap();
    bytes
}

#[test]
fn requests_of_the_module_are_answered_by_each_library() {
    let Some(device) = device() else { return };
    for theirs in [Kind::Ktls, Kind::Rustls] {
        let (mut channel, thread) = pair(Kind::Ktls, theirs, |channel| echo(channel, |_| {}));
        for n in [1, 2, 255, 1024, 16_127, 16_384, 32_768, 65_535] {
            let times = device.ask(channel.kernel_socket().unwrap(), n, 5, &SESSION).unwrap();
            assert_eq!(times.len(), 5);
            assert!(
                times
                    .iter()
                    .all(|time| *time > Duration::from_micros(1) && *time < Duration::from_secs(5))
            );
        }
        channel.close().unwrap();
        thread.join().unwrap();
    }
}

#[test]
fn the_module_answers_messages_split_at_any_byte() {
    let Some(device) = device() else { return };
    for ours in [Kind::Ktls, Kind::Rustls] {
        let (mut channel, thread) = pair(ours, Kind::Ktls, move |mut channel| {
            let answered =
                Device::open().unwrap().answer(channel.kernel_socket().unwrap(), &SESSION);
            let _ = channel.close();
            answered
        });
        let mut asked = 0;
        let mut framer = Framer::new();
        for n in [1, 700, 20_000, 65_535] {
            let payload: Vec<u8> = (0..n).map(|at| (at * 3) as u8).collect();
            let message = uplink(&payload, &SESSION);
            // Whole, byte by byte at its borders, and two at once.
            let mut pieces: Vec<Vec<u8>> = vec![message.clone()];
            pieces.extend(message[..6].chunks(1).map(<[u8]>::to_vec));
            pieces.push(message[6..message.len() - 2].to_vec());
            pieces.extend(message[message.len() - 2..].chunks(1).map(<[u8]>::to_vec));
            if n < 1000 {
                pieces.push([message.clone(), message.clone()].concat());
                asked += 2;
            }
            asked += 2;
            let expected = if n < 1000 { 4 } else { 2 };
            pieces.iter().for_each(|piece| channel.send(piece).unwrap());
            let mut answered = 0;
            while answered < expected {
                if let Some(answer) = framer.next().unwrap() {
                    let transport = Transport {
                        payload_type: PayloadType::Lpp,
                        payload: &payload,
                        session: &SESSION,
                    };
                    assert!(answer == Message::Downlink(transport), "{n}");
                    answered += 1;
                    continue;
                }
                let mut bytes = Vec::new();
                assert!(channel.receive(&mut bytes).unwrap());
                framer.push(&bytes);
            }
        }
        channel.close().unwrap();
        assert_eq!(thread.join().unwrap().unwrap(), asked);
    }
    drop(device);
}

extern "C" fn ignore(_: c_int) {}

#[test]
fn a_signal_between_messages_returns_their_number() {
    let Some(device) = device() else { return };
    let action = SigAction::new(SigHandler::Handler(ignore), SaFlags::SA_RESTART, SigSet::empty());
    // SAFETY: the handler does nothing.
    unsafe { sigaction(Signal::SIGUSR1, &action) }.unwrap();
    let (mut channel, thread) = pair(Kind::Rustls, Kind::Ktls, |mut channel| {
        let answered = Device::open().unwrap().answer(channel.kernel_socket().unwrap(), &SESSION);
        let _ = channel.close();
        answered
    });
    let message = uplink(&[1; 10], &SESSION);
    channel.send(&message).unwrap();
    let mut answer = Vec::new();
    while answer.len() < message.len() {
        assert!(channel.receive(&mut answer).unwrap());
    }
    // SAFETY: the thread is joined later.
    let sent = unsafe { libc::pthread_kill(thread.as_pthread_t(), libc::SIGUSR1) };
    assert_eq!(sent, 0);
    assert_eq!(thread.join().unwrap().unwrap(), 1);
    drop(device);
}

#[test]
fn invalid_messages_are_rejected_by_both_ends() {
    let Some(device) = device() else { return };
    let wrong: Vec<Vec<u8>> = vec![
        // Another message type, another payload type, no payload, another session, a shorter one.
        [&[0x42], &uplink(&[1; 10], &SESSION)[1..]].concat(),
        [&[0x41, 0x02], &uplink(&[1; 10], &SESSION)[2..]].concat(),
        vec![0x41, 0x01, 0, 0, 255],
        uplink(&[1; 10], &[0x5f; 255]),
        uplink(&[1; 10], &[0x5e; 254]),
    ];
    for bytes in wrong {
        let (mut channel, thread) = pair(Kind::Rustls, Kind::Ktls, |channel| {
            Device::open().unwrap().answer(channel.kernel_socket().unwrap(), &SESSION)
        });
        channel.send(&bytes).unwrap();
        let refused = thread.join().unwrap().unwrap_err();
        assert_eq!(refused.raw_os_error(), Some(nix::errno::Errno::EBADMSG as i32), "{bytes:?}");
    }
    // Wrong answers: a changed byte of the payload, of the session, of the type.
    for at in [5, 30, 0] {
        let (channel, thread) =
            pair(Kind::Ktls, Kind::Rustls, move |channel| echo(channel, |answer| answer[at] ^= 1));
        let refused = device.ask(channel.kernel_socket().unwrap(), 20, 1, &SESSION).unwrap_err();
        assert_eq!(refused.raw_os_error(), Some(nix::errno::Errno::EBADMSG as i32), "{at}");
        drop(channel);
        thread.join().unwrap();
    }
    // A peer that closes within a message.
    let (mut channel, thread) = pair(Kind::Rustls, Kind::Ktls, |channel| {
        Device::open().unwrap().answer(channel.kernel_socket().unwrap(), &SESSION)
    });
    channel.send(&uplink(&[1; 10], &SESSION)[..9]).unwrap();
    channel.close().unwrap();
    assert_eq!(thread.join().unwrap().unwrap_err().kind(), ErrorKind::ConnectionReset);
}

#[test]
fn other_sockets_and_invalid_arguments_are_rejected() {
    let Some(device) = device() else { return };
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let plain = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    assert_eq!(device.ask(&plain, 1, 1, &SESSION).unwrap_err().kind(), ErrorKind::NotConnected);
    assert_eq!(device.answer(&plain, &SESSION).unwrap_err().kind(), ErrorKind::NotConnected);
    let file = std::fs::File::open("/dev/null").unwrap();
    assert!(device.ask(&file, 1, 1, &SESSION).is_err());
    let (channel, thread) = pair(Kind::Ktls, Kind::Rustls, |channel| echo(channel, |_| {}));
    let socket = channel.kernel_socket().unwrap();
    for (payload, rounds, session) in
        [(0, 1, &SESSION[..]), (65_536, 1, &SESSION), (1, MAX_ROUNDS + 1, &SESSION), (1, 1, &[])]
    {
        assert_eq!(
            device.ask(socket, payload, rounds, session).unwrap_err().kind(),
            ErrorKind::InvalidInput
        );
    }
    drop(channel);
    thread.join().unwrap();
}
