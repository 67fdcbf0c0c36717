//! The round-trip time of LCS-UPP over each kind of channel, as a multiple of the same exchange
//! over plain TCP. Both ends are threads of one process. `martlet-lab lcs-upp` measures the same
//! between processes, with the statistics of the paper; this benchmark is quick to build.
//!
//!     cargo bench -p martlet-lab-channels [--features openssl,wolfssl] [-- ROUNDS [SPIN_US]]

use martlet_lab_channels::{Channel, Identity, Kind, Options, connect, listen};
use martlet_lcsupp::{Framer, Message, PayloadType, Transport};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

const BLOCK: usize = 25;

fn echo(channel: &mut dyn Channel) {
    let (mut framer, mut input, mut output) = (Framer::new(), Vec::new(), Vec::new());
    loop {
        input.clear();
        match channel.receive(&mut input) {
            Ok(true) => framer.push(&input),
            Err(martlet_lab_channels::ChannelError::Timeout) => continue,
            _ => return,
        }
        while let Ok(Some(Message::Uplink(transport))) = framer.next() {
            output.clear();
            Message::Downlink(transport).encode_into(&mut output).expect("it fits");
            channel.send(&output).expect("the peer is connected");
        }
    }
}

fn round(channel: &mut dyn Channel, transport: Transport<'_>) -> Duration {
    let (mut framer, mut input, mut output) = (Framer::new(), Vec::new(), Vec::new());
    let start = Instant::now();
    Message::Uplink(transport).encode_into(&mut output).expect("it fits");
    channel.send(&output).expect("the peer is connected");
    loop {
        if let Some(answer) = framer.next().expect("a message") {
            assert_eq!(answer, Message::Downlink(transport));
            return start.elapsed();
        }
        input.clear();
        assert!(channel.receive(&mut input).expect("the peer is connected"));
        framer.push(&input);
    }
}

fn median(mut sample: Vec<f64>) -> f64 {
    sample.sort_by(f64::total_cmp);
    sample[sample.len() / 2]
}

fn main() {
    let mut numbers = std::env::args().filter_map(|argument| argument.parse::<usize>().ok());
    let (rounds, spin) = (numbers.next().unwrap_or(500), numbers.next().unwrap_or(0));
    let options =
        Options { spin: Duration::from_micros(spin as u64), mtu: 65_535, ..Options::default() };
    let identity = Identity::self_signed(&["lmf.example"]).expect("a certificate");
    let mut channels: Vec<(Kind, Box<dyn Channel>)> = Vec::new();
    for &kind in Kind::ALL {
        let mut listener = listen(kind, SocketAddr::from(([127, 0, 0, 1], 0)), &identity, &options)
            .expect("a listener");
        let at = listener.local_addr();
        std::thread::spawn(move || echo(&mut *listener.accept().expect("a connection")));
        channels.push((
            kind,
            connect(kind, at, &identity.trust("lmf.example"), &options).expect("a connection"),
        ));
    }
    println!("{rounds} rounds, spin {spin} µs: median µs (times raw TCP)\n");
    print!("{:>6}", "n");
    channels.iter().for_each(|(kind, _)| print!(" {:>16}", kind.name()));
    println!();
    for n in [1, 64, 1024, 4096, 16_384, 32_768, 65_535] {
        let (payload, session) = (vec![7; n], [9; 255]);
        let transport =
            Transport { payload_type: PayloadType::Lpp, payload: &payload, session: &session };
        let mut samples: Vec<Vec<f64>> = channels.iter().map(|_| Vec::new()).collect();
        for _ in 0..rounds.div_ceil(BLOCK) {
            for ((_, channel), samples) in channels.iter_mut().zip(&mut samples) {
                (0..3).for_each(|_| {
                    round(&mut **channel, transport);
                });
                samples.extend(
                    (0..BLOCK).map(|_| round(&mut **channel, transport).as_secs_f64() * 1e6),
                );
            }
        }
        let medians: Vec<f64> = samples.into_iter().map(median).collect();
        print!("{n:>6}");
        medians.iter().for_each(|it| print!(" {it:>8.1} ({:>4.2}×)", it / medians[0]));
        println!();
    }
}
