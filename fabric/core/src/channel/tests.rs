//! Both ends of a channel in one process.
use super::*;
use crate::memory::pool::BufferClass;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::sys::epoll::{Epoll, EpollEvent, EpollTimeout};
use std::time::Duration;

fn small() -> Sizes {
    let class = |bytes, count| BufferClass { bytes, count };
    Sizes { slots: 8, classes: vec![class(64, 4), class(256, 4)], frame: 16 << 10 }
}

fn pair(sizes: &Sizes) -> (Channel, Channel) {
    let [a, b] = ChannelFds::pair(&Layout::of(sizes).unwrap(), false).unwrap();
    (Channel::new(a, sizes, 0).unwrap(), Channel::new(b, sizes, 1).unwrap())
}

fn head(stream: u32) -> FrameHeader {
    FrameHeader { kind: FrameKind::Request, own: true, stream }
}

fn received(channel: &Channel) -> Vec<Frame> {
    let mut frames = Vec::new();
    channel.receive(usize::MAX, &mut frames).unwrap();
    frames
}

fn bytes(length: usize) -> Vec<u8> {
    (0..length).map(|n| (n * 7 + n / 251) as u8).collect()
}

fn was_signalled(channel: &Channel) -> bool {
    let doorbell = Epoll(channel.doorbell().try_clone().unwrap());
    doorbell.wait(&mut [EpollEvent::empty()], EpollTimeout::ZERO).unwrap() > 0
}

#[test]
fn frames_of_every_size_arrive_in_order() {
    let (a, b) = pair(&small());
    let lengths = [0, 1, 39, 40, 41, 64, 65, 256, 257, 1000, 5000, 16 << 10, 3];
    for (n, length) in lengths.into_iter().enumerate() {
        a.send(head(n as u32), &bytes(length)).unwrap();
    }
    let mut got = Vec::new();
    while got.len() < lengths.len() {
        got.extend(received(&b));
        got.extend(received(&a).into_iter().map(|_| panic!("nothing was sent this way")));
    }
    for (n, (frame, length)) in got.iter().zip(lengths).enumerate() {
        assert_eq!((frame.head, &frame.bytes), (head(n as u32), &bytes(length)));
    }
    assert_eq!(a.backlog(), 0);
    lock(&a.sender).reclaim().unwrap();
    assert_eq!(lock(&a.sender).lent(), 0);
}

#[test]
fn the_doorbell_is_signalled_only_for_a_sleeping_or_blocked_end() {
    let (a, b) = pair(&small());
    a.send(head(1), b"x").unwrap();
    assert!(!was_signalled(&b));
    assert!(!b.prepare_sleep().unwrap());
    assert_eq!(received(&b).len(), 1);
    assert!(b.prepare_sleep().unwrap());
    a.send(head(2), b"x").unwrap();
    a.send(head(3), b"x").unwrap();
    assert!(was_signalled(&b) && !was_signalled(&b));
    // A sender without room is woken when there is room.
    (0..20).for_each(|n| a.send(head(n), b"x").unwrap());
    assert!(!was_signalled(&a));
    received(&b);
    assert!(was_signalled(&a));
}

#[test]
fn an_end_cannot_make_the_signals_of_its_peer_block() {
    let sizes = small();
    let [a, b] = ChannelFds::pair(&Layout::of(&sizes).unwrap(), false).unwrap();
    let own = b.doorbell.try_clone().unwrap();
    let a = Arc::new(Channel::new(a, &sizes, 0).unwrap());
    let b = Channel::new(b, &sizes, 1).unwrap();
    assert!(b.prepare_sleep().unwrap());
    // The end that waits makes its descriptor block, and writes what saturates a counter.
    fcntl(&own, FcntlArg::F_SETFL(OFlag::empty())).unwrap();
    let _ = nix::unistd::write(&own, &(u64::MAX - 1).to_ne_bytes());
    let (outcome, sent) = std::sync::mpsc::channel();
    let sender = a.clone();
    std::thread::spawn(move || outcome.send(sender.send(head(1), b"x")));
    assert_eq!(sent.recv_timeout(Duration::from_secs(10)), Ok(Ok(())));
    assert!(was_signalled(&b));
}

#[test]
fn frames_without_room_are_queued_and_sent_later() {
    let (a, b) = pair(&small());
    (0..100).for_each(|n| a.send(head(n), &bytes(100 + n as usize)).unwrap());
    assert!(a.backlog() > 0);
    assert_eq!(a.send_some(head(0), &bytes(10)).unwrap(), 0);
    let mut got = Vec::new();
    for _ in 0..100 {
        got.extend(received(&b));
        received(&a);
    }
    assert_eq!(got.iter().map(|f| f.head.stream).collect::<Vec<_>>(), (0..100).collect::<Vec<_>>());
    assert!(got.iter().enumerate().all(|(n, f)| f.bytes == bytes(100 + n)));
    assert_eq!(a.send_some(head(0), &bytes(1000)).unwrap(), 256);
}

#[test]
fn an_end_detects_that_its_peer_is_gone() {
    let (a, b) = pair(&small());
    a.send(head(1), b"last frame").unwrap();
    b.check_liveness();
    assert_eq!(b.closed(), None);
    drop(a);
    // Frames that were sent before can still be received.
    assert_eq!(received(&b).len(), 1);
    b.check_liveness();
    assert_eq!((b.closed(), b.send(head(2), b"")), (Some(Closed::PeerGone), Err(Closed::PeerGone)));
}

#[test]
fn a_frame_above_the_maximum_length_is_not_sent() {
    let (a, _b) = pair(&small());
    assert_eq!(a.send(head(1), &bytes((16 << 10) + 1)), Err(Closed::Violation(Violation::Frame)));
}

/// A peer that writes arbitrary descriptors.
struct MaliciousPeer {
    memory: ChannelMemory,
    ring: crate::memory::ring::Producer<mapping::SharedRing<8>, 8>,
    _liveness: OwnedFd,
}

fn malicious_peer() -> (Channel, MaliciousPeer) {
    let sizes = small();
    let layout = Arc::new(Layout::of(&sizes).unwrap());
    let [a, b] = ChannelFds::pair(&layout, false).unwrap();
    let twice = || ChannelMemory::map(&b.memory, &layout, 1).unwrap();
    let (memory, ring) = (twice(), crate::memory::ring::Producer::new(twice().out.ring));
    (Channel::new(a, &sizes, 0).unwrap(), MaliciousPeer { memory, ring, _liveness: b.liveness })
}

fn receive_all(descriptors: &[[u64; 8]]) -> Result<usize, Closed> {
    let (channel, mut malicious_peer) = malicious_peer();
    for words in descriptors {
        assert!(malicious_peer.ring.push(words).unwrap());
    }
    let mut frames = Vec::new();
    channel.receive(usize::MAX, &mut frames)?;
    Ok(frames.len())
}

fn piece(first: bool, last: bool, total: u32, payload: Payload) -> Descriptor {
    Descriptor { head: head(1), first, last, total, payload }
}

fn in_buffer(id: u32, length: u32) -> Payload {
    Payload::Buffer(crate::memory::pool::BufferId(id), length)
}

#[test]
fn invalid_descriptors_close_the_channel() {
    let wrong = |violation| Err(Closed::Violation(violation));
    let whole = piece(true, true, 64, in_buffer(0, 64)).to_words();
    assert_eq!(receive_all(&[whole]), Ok(1));
    // Invalid kinds, lengths and buffers.
    assert_eq!(receive_all(&[[0; 8]]), wrong(Violation::Descriptor));
    assert_eq!(receive_all(&[[u64::MAX; 8]]), wrong(Violation::Descriptor));
    assert_eq!(
        receive_all(&[piece(true, true, 65, in_buffer(0, 65)).to_words()]),
        wrong(Violation::Buffer)
    );
    assert_eq!(
        receive_all(&[piece(true, true, 64, in_buffer(8, 64)).to_words()]),
        wrong(Violation::Buffer)
    );
    assert_eq!(
        receive_all(&[piece(true, true, 64, in_buffer(u32::MAX, 64)).to_words()]),
        wrong(Violation::Buffer)
    );
    assert_eq!(
        receive_all(&[piece(true, true, 0, in_buffer(0, 0)).to_words()]),
        wrong(Violation::Buffer)
    );
    // Pieces that do not form a frame.
    assert_eq!(
        receive_all(&[piece(false, true, 64, in_buffer(0, 64)).to_words()]),
        wrong(Violation::Frame)
    );
    assert_eq!(
        receive_all(&[piece(true, true, 63, in_buffer(0, 64)).to_words()]),
        wrong(Violation::Frame)
    );
    assert_eq!(
        receive_all(&[piece(true, false, 64, in_buffer(0, 64)).to_words()]),
        wrong(Violation::Frame)
    );
    assert_eq!(
        receive_all(&[piece(true, false, u32::MAX, in_buffer(0, 64)).to_words()]),
        wrong(Violation::Frame)
    );
    let begun = piece(true, false, 128, in_buffer(0, 64)).to_words();
    assert_eq!(receive_all(&[begun, whole]), wrong(Violation::Frame));
    assert_eq!(receive_all(&[begun, piece(false, true, 128, in_buffer(1, 64)).to_words()]), Ok(1));
    let other = Descriptor { head: head(2), ..piece(false, true, 128, in_buffer(1, 64)) };
    assert_eq!(receive_all(&[begun, other.to_words()]), wrong(Violation::Frame));
}

#[test]
fn a_frame_has_no_more_pieces_than_buffers_of_its_length() {
    let wrong = |violation| Err(Closed::Violation(violation));
    let inline = |length| Payload::Inline(length, [0; INLINE_BYTES]);
    // Without progress, or with less of it than a buffer has, a frame would never end.
    for length in [0, 1] {
        let first = piece(true, false, 40, inline(length)).to_words();
        assert_eq!(receive_all(&[first]), wrong(Violation::Frame));
    }
    let begun = piece(true, false, 70, in_buffer(0, 64)).to_words();
    for length in [0, 6] {
        let next = piece(false, length == 6, 70, inline(length)).to_words();
        assert_eq!(receive_all(&[begun, next]), wrong(Violation::Frame));
    }
    let short = piece(true, false, 128, in_buffer(0, 63)).to_words();
    assert_eq!(receive_all(&[short]), wrong(Violation::Buffer));
    assert_eq!(receive_all(&[begun, piece(false, true, 70, in_buffer(1, 6)).to_words()]), Ok(1));
}

#[test]
fn a_buffer_that_is_sent_repeatedly_closes_the_channel() {
    let (channel, mut malicious_peer) = malicious_peer();
    let whole = piece(true, true, 64, in_buffer(0, 64)).to_words();
    let mut frames = Vec::new();
    let outcome = (0..20).find_map(|_| {
        assert!(malicious_peer.ring.push(&whole).unwrap());
        channel.receive(usize::MAX, &mut frames).err()
    });
    assert_eq!(outcome, Some(Closed::Violation(Violation::Return)));
}

#[test]
fn returning_a_buffer_that_is_not_lent_closes_the_channel() {
    for wrong in [1, 7, 8, u64::MAX] {
        let (channel, malicious_peer) = malicious_peer();
        channel.send(head(1), &bytes(64)).unwrap();
        let mut returns = crate::memory::ring::Producer::new(malicious_peer.memory.into.returns);
        assert!(returns.push(&[wrong]).unwrap());
        let outcome = (0..8).find_map(|_| channel.send(head(1), &bytes(64)).err());
        assert_eq!(outcome, Some(Closed::Violation(Violation::Return)), "{wrong}");
    }
}
