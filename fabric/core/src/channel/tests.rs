//! Both ends of a channel in one process.
use super::*;
use crate::memory::pool::BufferClass;

fn small() -> Sizes {
    let class = |octets, count| BufferClass { octets, count };
    Sizes { slots: 8, classes: vec![class(64, 4), class(256, 4)], frame: 16 << 10 }
}

fn pair(sizes: &Sizes) -> (Channel, Channel) {
    let [a, b] = Parts::pair(&Layout::of(sizes).unwrap(), false).unwrap();
    (Channel::new(a, sizes, 0).unwrap(), Channel::new(b, sizes, 1).unwrap())
}

fn head(stream: u32) -> Head {
    Head { kind: Kind::Request, own: true, stream }
}

fn received(channel: &Channel) -> Vec<Frame> {
    let mut frames = Vec::new();
    channel.receive(usize::MAX, &mut frames).unwrap();
    frames
}

fn octets(length: usize) -> Vec<u8> {
    (0..length).map(|n| (n * 7 + n / 251) as u8).collect()
}

fn rang(channel: &Channel) -> bool {
    let mut count = [0; 8];
    nix::unistd::read(channel.bell(), &mut count).is_ok()
}

#[test]
fn frames_of_every_size_arrive_in_order() {
    let (a, b) = pair(&small());
    let lengths = [0, 1, 39, 40, 41, 64, 65, 256, 257, 1000, 5000, 16 << 10, 3];
    for (n, length) in lengths.into_iter().enumerate() {
        a.send(head(n as u32), &octets(length)).unwrap();
    }
    let mut got = Vec::new();
    while got.len() < lengths.len() {
        got.extend(received(&b));
        got.extend(received(&a).into_iter().map(|_| panic!("nothing was sent this way")));
    }
    for (n, (frame, length)) in got.iter().zip(lengths).enumerate() {
        assert_eq!((frame.head, &frame.octets), (head(n as u32), &octets(length)));
    }
    assert_eq!(a.backlog(), 0);
    lock(&a.outbox).reclaim().unwrap();
    assert_eq!(lock(&a.outbox).lent(), 0);
}

#[test]
fn a_bell_is_rung_for_who_sleeps_and_for_nobody_else() {
    let (a, b) = pair(&small());
    a.send(head(1), b"x").unwrap();
    assert!(!rang(&b));
    assert!(!b.may_sleep().unwrap());
    assert_eq!(received(&b).len(), 1);
    assert!(b.may_sleep().unwrap());
    a.send(head(2), b"x").unwrap();
    a.send(head(3), b"x").unwrap();
    assert!(rang(&b) && !rang(&b));
    // A sender without room is told when there is some.
    (0..20).for_each(|n| a.send(head(n), b"x").unwrap());
    assert!(!rang(&a));
    received(&b);
    assert!(rang(&a));
}

#[test]
fn what_finds_no_room_is_not_lost() {
    let (a, b) = pair(&small());
    (0..100).for_each(|n| a.send(head(n), &octets(100 + n as usize)).unwrap());
    assert!(a.backlog() > 0);
    assert_eq!(a.send_some(head(0), &octets(10)).unwrap(), 0);
    let mut got = Vec::new();
    for _ in 0..100 {
        got.extend(received(&b));
        received(&a);
    }
    assert_eq!(got.iter().map(|f| f.head.stream).collect::<Vec<_>>(), (0..100).collect::<Vec<_>>());
    assert!(got.iter().enumerate().all(|(n, f)| f.octets == octets(100 + n)));
    assert_eq!(a.send_some(head(0), &octets(1000)).unwrap(), 256);
}

#[test]
fn either_end_learns_of_the_others_end() {
    let (a, b) = pair(&small());
    a.send(head(1), b"last words").unwrap();
    b.check_life();
    assert_eq!(b.closed(), None);
    drop(a);
    // What was sent before is still there.
    assert_eq!(received(&b).len(), 1);
    b.check_life();
    assert_eq!((b.closed(), b.send(head(2), b"")), (Some(Closed::Gone), Err(Closed::Gone)));
}

#[test]
fn a_frame_over_the_limit_is_not_sent() {
    let (a, _b) = pair(&small());
    assert_eq!(a.send(head(1), &octets((16 << 10) + 1)), Err(Closed::Violation(Violation::Frame)));
}

/// A peer that follows no rule: it writes descriptors of its own making.
struct Rogue {
    memory: ChannelMemory,
    ring: crate::memory::ring::Producer<mapping::SharedRing<8>, 8>,
    _line: OwnedFd,
}

fn rogue() -> (Channel, Rogue) {
    let sizes = small();
    let layout = Arc::new(Layout::of(&sizes).unwrap());
    let [a, b] = Parts::pair(&layout, false).unwrap();
    let twice = || ChannelMemory::map(&b.memory, &layout, 1).unwrap();
    let (memory, ring) = (twice(), crate::memory::ring::Producer::new(twice().out.ring));
    (Channel::new(a, &sizes, 0).unwrap(), Rogue { memory, ring, _line: b.life_line })
}

fn fate(descriptors: &[[u64; 8]]) -> Result<usize, Closed> {
    let (channel, mut rogue) = rogue();
    for words in descriptors {
        assert!(rogue.ring.push(words).unwrap());
    }
    let mut frames = Vec::new();
    channel.receive(usize::MAX, &mut frames)?;
    Ok(frames.len())
}

fn piece(first: bool, last: bool, total: u32, place: Place) -> Descriptor {
    Descriptor { head: head(1), first, last, total, place }
}

fn in_buffer(id: u32, length: u32) -> Place {
    Place::Buffer(crate::memory::pool::BufferId(id), length)
}

#[test]
fn descriptors_that_break_the_rules_close_the_channel() {
    let wrong = |violation| Err(Closed::Violation(violation));
    let whole = piece(true, true, 64, in_buffer(0, 64)).to_words();
    assert_eq!(fate(&[whole]), Ok(1));
    // Kinds, lengths and buffers that do not exist.
    assert_eq!(fate(&[[0; 8]]), wrong(Violation::Descriptor));
    assert_eq!(fate(&[[u64::MAX; 8]]), wrong(Violation::Descriptor));
    assert_eq!(
        fate(&[piece(true, true, 65, in_buffer(0, 65)).to_words()]),
        wrong(Violation::Buffer)
    );
    assert_eq!(
        fate(&[piece(true, true, 64, in_buffer(8, 64)).to_words()]),
        wrong(Violation::Buffer)
    );
    assert_eq!(
        fate(&[piece(true, true, 64, in_buffer(u32::MAX, 64)).to_words()]),
        wrong(Violation::Buffer)
    );
    assert_eq!(fate(&[piece(true, true, 0, in_buffer(0, 0)).to_words()]), wrong(Violation::Buffer));
    // Pieces that make no frame.
    assert_eq!(
        fate(&[piece(false, true, 64, in_buffer(0, 64)).to_words()]),
        wrong(Violation::Frame)
    );
    assert_eq!(
        fate(&[piece(true, true, 63, in_buffer(0, 64)).to_words()]),
        wrong(Violation::Frame)
    );
    assert_eq!(
        fate(&[piece(true, false, 64, in_buffer(0, 64)).to_words()]),
        wrong(Violation::Frame)
    );
    assert_eq!(
        fate(&[piece(true, false, u32::MAX, in_buffer(0, 64)).to_words()]),
        wrong(Violation::Frame)
    );
    let begun = piece(true, false, 128, in_buffer(0, 64)).to_words();
    assert_eq!(fate(&[begun, whole]), wrong(Violation::Frame));
    assert_eq!(fate(&[begun, piece(false, true, 128, in_buffer(1, 64)).to_words()]), Ok(1));
    let other = Descriptor { head: head(2), ..piece(false, true, 128, in_buffer(1, 64)) };
    assert_eq!(fate(&[begun, other.to_words()]), wrong(Violation::Frame));
}

#[test]
fn a_buffer_sent_more_often_than_there_are_buffers_closes_the_channel() {
    let (channel, mut rogue) = rogue();
    let whole = piece(true, true, 64, in_buffer(0, 64)).to_words();
    let mut frames = Vec::new();
    let outcome = (0..20).find_map(|_| {
        assert!(rogue.ring.push(&whole).unwrap());
        channel.receive(usize::MAX, &mut frames).err()
    });
    assert_eq!(outcome, Some(Closed::Violation(Violation::Return)));
}

#[test]
fn buffers_given_back_that_were_not_lent_close_the_channel() {
    for wrong in [1, 7, 8, u64::MAX] {
        let (channel, rogue) = rogue();
        channel.send(head(1), &octets(64)).unwrap();
        let mut returns = crate::memory::ring::Producer::new(rogue.memory.into.returns);
        assert!(returns.push(&[wrong]).unwrap());
        let outcome = (0..8).find_map(|_| channel.send(head(1), &octets(64)).err());
        assert_eq!(outcome, Some(Closed::Violation(Violation::Return)), "{wrong}");
    }
}
