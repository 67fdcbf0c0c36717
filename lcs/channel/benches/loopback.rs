//! Round trips of a message on the loopback interface, by kind of channel and size: median and
//! 90th percentile in µs, and the multiple of the median of plain TCP.
//!
//! ```sh
//! cargo bench -p martlet-lcs-channel --bench loopback
//! ```
use martlet_lcs_channel::{Channel, Identity, Kind, Options, connect, listen};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Instant;

const SIZES: [usize; 4] = [1024, 4096, 16_384, 65_535];
/// Blocks of rounds, which alternate between the kinds.
const BLOCKS: usize = 20;
const ROUNDS: usize = 100;

/// Sends a message and waits for its echo.
type Exchange = Box<dyn FnMut(&[u8], &mut Vec<u8>)>;

/// The first 8 bytes of a message are its size.
fn is_whole(bytes: &[u8]) -> bool {
    bytes.first_chunk().is_some_and(|size| bytes.len() == usize::from_be_bytes(*size))
}

fn plain_tcp() -> Exchange {
    fn receive(stream: &mut TcpStream, buffer: &mut [u8], into: &mut Vec<u8>) -> bool {
        let count = stream.read(buffer).unwrap_or(0);
        into.extend_from_slice(&buffer[..count]);
        count > 0
    }
    let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
    let mut stream =
        TcpStream::connect(listener.local_addr().expect("an address")).expect("a connection");
    stream.set_nodelay(true).expect("TCP_NODELAY");
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a connection");
        stream.set_nodelay(true).expect("TCP_NODELAY");
        let (mut buffer, mut bytes) = (vec![0; 65_536], Vec::new());
        while receive(&mut stream, &mut buffer, &mut bytes) {
            if is_whole(&bytes) {
                stream.write_all(&bytes).expect("sent");
                bytes.clear();
            }
        }
    });
    let mut buffer = vec![0; 65_536];
    Box::new(move |message, answer| {
        stream.write_all(message).expect("sent");
        while answer.len() < message.len() {
            assert!(receive(&mut stream, &mut buffer, answer), "the peer closed");
        }
    })
}

fn channel(kind: Kind, identity: &Identity, options: &Options) -> Exchange {
    let mut listener =
        listen(kind, ([127, 0, 0, 1], 0).into(), identity, options).expect("a listener");
    let at = listener.local_addr();
    std::thread::spawn(move || {
        let mut channel = listener.accept().expect("a connection");
        let mut bytes = Vec::new();
        while channel.receive(&mut bytes).unwrap_or(false) {
            if is_whole(&bytes) {
                channel.send(&bytes).expect("sent");
                bytes.clear();
            }
        }
    });
    let mut channel: Box<dyn Channel> =
        connect(kind, at, &identity.trust("lmf.example"), options).expect("a channel");
    Box::new(move |message, answer| {
        channel.send(message).expect("sent");
        while answer.len() < message.len() {
            assert!(channel.receive(answer).expect("received"), "the peer closed");
        }
    })
}

fn main() {
    let identity = Identity::self_signed(&["lmf.example"]).expect("an identity");
    // The MTU of lo.
    let options = Options { mtu: 65_535, ..Options::default() };
    let mut kinds = vec![("plain TCP", plain_tcp())];
    for kind in Kind::available() {
        kinds.push((kind.name(), channel(kind, &identity, &options)));
    }
    for size in SIZES {
        let mut message = vec![0x5a; size];
        message[..8].copy_from_slice(&size.to_be_bytes());
        let mut times = vec![Vec::new(); kinds.len()];
        let mut answer = Vec::with_capacity(size);
        for block in 0..=BLOCKS {
            for ((_, exchange), times) in kinds.iter_mut().zip(&mut times) {
                for _ in 0..ROUNDS {
                    let start = Instant::now();
                    answer.clear();
                    exchange(&message, &mut answer);
                    // The first block warms up.
                    if block > 0 {
                        times.push(start.elapsed().as_secs_f64() * 1e6);
                    }
                }
            }
        }
        let mut first = None;
        for ((name, _), times) in kinds.iter().zip(&mut times) {
            times.sort_by(f64::total_cmp);
            let (median, p90) = (times[times.len() / 2], times[times.len() * 9 / 10]);
            let base = *first.get_or_insert(median);
            println!(
                "{size:6} bytes  {name:10} {median:8.1} µs  p90 {p90:8.1} µs  {:.2}",
                median / base
            );
        }
    }
}
