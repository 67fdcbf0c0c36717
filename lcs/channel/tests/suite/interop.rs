//! Interoperability: `openssl s_client` as a UE, and `tshark` as an observer of the wire. Capturing
//! needs root.

use crate::channels::*;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;
use std::time::Duration;

const SUITE: &str = "TLS_AES_128_GCM_SHA256";
/// The plaintext that must not appear on the wire.
const SECRET: &[u8] = b"position of the UE: 54.0924 12.0991";

fn kinds() -> Vec<Kind> {
    Kind::available().into_iter().filter(|kind| kind.is_tls_over_tcp()).collect()
}

fn has(program: &str) -> bool {
    let there = Command::new("which")
        .arg(program)
        .stdout(Stdio::null())
        .status()
        .is_ok_and(|it| it.success());
    if !there {
        println!("SKIPPED: {program} is not installed");
    }
    there
}

fn folder(name: &str) -> PathBuf {
    let folder =
        std::env::temp_dir().join(format!("martlet-outside-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// Echoes on the first connection until its peer closes.
fn echo(kind: Kind, identity: &Identity) -> (SocketAddr, JoinHandle<()>) {
    let options = Options { timeout: Duration::from_secs(10), ..Options::default() };
    let mut listener = listen(kind, ([127, 0, 0, 1], 0).into(), identity, &options).unwrap();
    let at = listener.local_addr();
    let work = move || {
        let (mut channel, mut bytes) = (listener.accept().unwrap(), Vec::new());
        while channel.receive(&mut bytes).unwrap_or(false) {
            channel.send(&bytes).unwrap();
            bytes.clear();
        }
        let _ = channel.close();
    };
    (at, std::thread::spawn(work))
}

#[test]
fn s_client_negotiates_tls_1_3_and_verifies_the_certificate() {
    if !has("openssl") {
        return;
    }
    let folder = folder("s-client");
    for kind in kinds() {
        let identity = Identity::self_signed(&["lmf.example"]).unwrap();
        let roots = folder.join("roots.pem");
        std::fs::write(&roots, &identity.certificates).unwrap();
        let (at, work) = echo(kind, &identity);
        let arguments = [
            "-verify_return_error",
            "-verify_hostname",
            "lmf.example",
            "-servername",
            "lmf.example",
        ];
        let mut client = Command::new("openssl")
            .args(["s_client", "-connect", &at.to_string(), "-CAfile"])
            .arg(&roots)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut input = client.stdin.take().unwrap();
        input.write_all(b"hello from the client\n").unwrap();
        let mut seen = String::new();
        for line in BufReader::new(client.stdout.take().unwrap()).lines() {
            let line = line.unwrap();
            seen += &line;
            seen.push('\n');
            if line == "hello from the client" {
                break;
            }
        }
        // s_client closes the connection at the end of its input.
        drop(input);
        client.wait().unwrap();
        assert!(seen.contains(&format!("New, TLSv1.3, Cipher is {SUITE}")), "{kind:?}: {seen}");
        assert!(
            seen.contains("Verification: OK") && seen.contains("Verified peername: lmf.example"),
            "{kind:?}: {seen}"
        );
        assert!(seen.ends_with("hello from the client\n"), "{kind:?}: {seen}");
        work.join().unwrap();
        // A client that offers only TLS 1.2 or another cipher suite is rejected.
        for refused in
            [&["-tls1_2"][..], &["-tls1_3", "-ciphersuites", "TLS_CHACHA20_POLY1305_SHA256"]]
        {
            let mut listener =
                listen(kind, ([127, 0, 0, 1], 0).into(), &identity, &Options::default()).unwrap();
            let at = listener.local_addr();
            let work = std::thread::spawn(move || listener.accept().is_err());
            let client = Command::new("openssl")
                .args(["s_client", "-connect", &at.to_string()])
                .args(refused)
                .stdin(Stdio::null())
                .output()
                .unwrap();
            assert!(!client.status.success(), "{kind:?} accepted {refused:?}");
            assert!(work.join().unwrap(), "{kind:?} reported success for {refused:?}");
        }
    }
    std::fs::remove_dir_all(folder).unwrap();
}

/// `openssl s_client`, which sends lines. The line `K` makes it update its key and request ours;
/// `k` updates its own key only.
struct Openssl {
    child: Child,
    input: std::process::ChildStdin,
    reply: BufReader<std::process::ChildStdout>,
}

impl Openssl {
    fn start(arguments: &[&str]) -> Self {
        let mut child = Command::new("openssl")
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let (input, reply) =
            (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        Openssl { child, input, reply }
    }

    fn say(&mut self, line: &str) {
        writeln!(self.input, "{line}").unwrap();
        // s_client interprets a command only if it reads it alone, so wait before the next line.
        std::thread::sleep(Duration::from_millis(200));
    }

    fn wait_for(&mut self, wanted: &str) {
        let mut line = String::new();
        while line.trim() != wanted {
            line.clear();
            assert!(
                self.reply.read_line(&mut line).unwrap() > 0,
                "it ended before it wrote {wanted:?}"
            );
        }
    }
}

impl Drop for Openssl {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn key_updates_of_s_client_are_accepted_and_answered() {
    if !has("openssl") {
        return;
    }
    // The kernel supports no KeyUpdate before 6.14, and Mbed TLS 3.6 none: both end the connection.
    for kind in kinds().into_iter().filter(|kind| !["ktls", "mbedtls"].contains(&kind.name())) {
        let identity = Identity::self_signed(&["lmf.example"]).unwrap();
        let (at, work) = echo(kind, &identity);
        let mut client = Openssl::start(&[
            "s_client",
            "-connect",
            &at.to_string(),
            "-servername",
            "lmf.example",
        ]);
        for (n, command) in ["K", "k", "K"].into_iter().enumerate() {
            let line = format!("line {n}");
            client.say(&line);
            client.wait_for(&line);
            client.say(command);
        }
        client.say("after all key updates");
        client.wait_for("after all key updates");
        drop(client);
        work.join().unwrap();
    }
}

#[test]
fn small_and_padded_records_of_s_client_are_read() {
    if !has("openssl") {
        return;
    }
    for kind in kinds() {
        let identity = Identity::self_signed(&["lmf.example"]).unwrap();
        let (at, work) = echo(kind, &identity);
        let mut client = Openssl::start(&[
            "s_client",
            "-connect",
            &at.to_string(),
            "-servername",
            "lmf.example",
            "-record_padding",
            "1000",
            "-max_send_frag",
            "512",
        ]);
        for length in [1, 600, 3000] {
            let line: String = (0..length).map(|at| char::from(b'a' + (at % 26) as u8)).collect();
            client.say(&line);
            client.wait_for(&line);
        }
        drop(client);
        work.join().unwrap();
    }
}

/// Serves a client, receives its first line and closes. If `changed`, the line's record is modified
/// on the path, so the receive fails.
fn serve_s_client(kind: Kind, changed: bool) -> (Result<bool, ChannelError>, String, bool) {
    let identity = Identity::self_signed(&["lmf.example"]).unwrap();
    let options = Options { timeout: Duration::from_secs(10), ..Options::default() };
    let mut listener = listen(kind, ([127, 0, 0, 1], 0).into(), &identity, &options).unwrap();
    let to = listener.local_addr();
    let between = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let at = between.local_addr().unwrap();
    let passing = std::thread::spawn(move || {
        let (mut client, _) = between.accept().unwrap();
        let mut server = std::net::TcpStream::connect(to).unwrap();
        let (mut back, mut forth) = (server.try_clone().unwrap(), client.try_clone().unwrap());
        let answers = std::thread::spawn(move || {
            let _ = std::io::copy(&mut back, &mut forth);
            let _ = forth.shutdown(std::net::Shutdown::Write);
        });
        let mut bytes = vec![0; 65_536];
        while let Ok(count @ 1..) = client.read(&mut bytes) {
            // The record of the line: ten bytes, the content type, and the tag. Other records may
            // precede it.
            let line =
                count.checked_sub(5 + 27).filter(|at| bytes[*at..].starts_with(&[23, 3, 3, 0, 27]));
            if changed && line.is_some() {
                bytes[count - 1] ^= 1;
            }
            if server.write_all(&bytes[..count]).is_err() {
                break;
            }
        }
        let _ = server.shutdown(std::net::Shutdown::Write);
        answers.join().unwrap();
    });
    let served = std::thread::spawn(move || {
        let (mut channel, mut bytes) = (listener.accept().unwrap(), Vec::new());
        let received = channel.receive(&mut bytes);
        let _ = channel.close();
        received
    });
    let mut client = Command::new("openssl")
        .args(["s_client", "-connect", &at.to_string(), "-servername", "lmf.example", "-ign_eof"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // The handshake is complete by now.
    std::thread::sleep(Duration::from_millis(300));
    let mut input = client.stdin.take().unwrap();
    input.write_all(b"nine more\n").unwrap();
    let mut reply = String::new();
    client.stderr.take().unwrap().read_to_string(&mut reply).unwrap();
    let fine = client.wait().unwrap().success();
    drop(input);
    passing.join().unwrap();
    (served.join().unwrap(), reply, fine)
}

#[test]
fn s_client_receives_close_notify_or_the_alert() {
    if !has("openssl") {
        return;
    }
    for kind in kinds() {
        let (received, reply, fine) = serve_s_client(kind, false);
        assert!(matches!(received, Ok(true)), "{kind:?}: {received:?}");
        assert!(fine && !reply.contains("unexpected eof"), "{kind:?}: {reply}");
        let (received, reply, _) = serve_s_client(kind, true);
        assert!(matches!(received, Err(ChannelError::Tls(_))), "{kind:?}: {received:?}");
        // 20 is bad_record_mac. For kernel TLS, the application sends the alert.
        assert!(kind == Kind::Ktls || reply.contains("alert number 20"), "{kind:?}: {reply}");
    }
}

/// A capture of the loopback interface, ended on drop.
struct Capture(Child);

impl Capture {
    fn start(port: u16, file: &std::path::Path) -> Self {
        let mut child = Command::new("tcpdump")
            .args(["-i", "lo", "-U", "--immediate-mode", "-B", "16384", "-w"])
            .arg(file)
            .args(["tcp", "port", &port.to_string()])
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // tcpdump reports when it listens.
        let mut reply = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        while !line.contains("listening on") {
            line.clear();
            assert!(reply.read_line(&mut line).unwrap() > 0, "tcpdump ended: captures need root");
        }
        std::thread::spawn(move || reply.read_to_string(&mut String::new()));
        Capture(child)
    }

    /// Ends the capture when the file has `bytes` bytes, or after a timeout.
    fn end(mut self, file: &std::path::Path, bytes: u64) {
        for _ in 0..300 {
            std::thread::sleep(Duration::from_millis(100));
            if std::fs::metadata(file).is_ok_and(|it| it.len() >= bytes) {
                break;
            }
        }
        let id = nix::unistd::Pid::from_raw(self.0.id() as i32);
        nix::sys::signal::kill(id, nix::sys::signal::Signal::SIGTERM).unwrap();
        self.0.wait().unwrap();
    }
}

#[test]
fn tshark_sees_a_tls_1_3_handshake_and_no_plaintext() {
    if !has("tshark") || !has("tcpdump") || !nix::unistd::Uid::effective().is_root() {
        return;
    }
    let folder = folder("tshark");
    for kind in kinds() {
        let identity = Identity::self_signed(&["lmf.example"]).unwrap();
        let (at, work) = echo(kind, &identity);
        let file = folder.join(format!("{}.pcap", kind.name()));
        let capture = Capture::start(at.port(), &file);
        let mut channel =
            connect(kind, at, &identity.trust("lmf.example"), &Options::default()).unwrap();
        let message: Vec<u8> = SECRET.iter().copied().cycle().take(40_000).collect();
        channel.send(&message).unwrap();
        let mut back = Vec::new();
        while back.len() < message.len() {
            assert!(channel.receive(&mut back).unwrap());
        }
        channel.close().unwrap();
        work.join().unwrap();
        capture.end(&file, 80_000);
        let fields = |filter: &str, names: &[&str]| -> Vec<String> {
            let mut tshark = Command::new("tshark");
            tshark.arg("-r").arg(&file).args([
                "-d",
                &format!("tcp.port=={},tls", at.port()),
                "-Y",
                filter,
                "-T",
                "fields",
            ]);
            names.iter().for_each(|name| _ = tshark.args(["-e", name]));
            let output = tshark.stderr(Stdio::null()).output().unwrap();
            String::from_utf8_lossy(&output.stdout).lines().map(str::to_string).collect()
        };
        // 1 is the ClientHello, 2 the ServerHello; 0x1301 is the cipher suite, 0x0304 TLS 1.3.
        let offered = fields(
            "tls.handshake.type == 1",
            &["tls.handshake.ciphersuite", "tls.handshake.extensions.supported_version"],
        );
        let offered = offered.first().unwrap_or_else(|| panic!("{kind:?}: no ClientHello"));
        let suites = offered.split('\t').next().unwrap().to_string();
        // 0x00ff signals secure renegotiation, which TLS 1.3 does not have.
        let suites: Vec<_> = suites.split(',').filter(|suite| *suite != "0x00ff").collect();
        assert_eq!(suites, ["0x1301"], "{kind:?}: {offered}");
        let chosen = fields(
            "tls.handshake.type == 2",
            &["tls.handshake.ciphersuite", "tls.handshake.extensions.supported_version"],
        );
        assert_eq!(chosen.first().map(String::as_str), Some("0x1301\t0x0304"), "{kind:?}");
        // 23 is application data, the type of all encrypted records.
        let lengths = fields(
            "tls.record.opaque_type == 23 || tls.record.content_type == 23",
            &["tls.record.length"],
        );
        let lengths: Vec<usize> = lengths
            .iter()
            .flat_map(|line| line.split(','))
            .filter_map(|it| it.parse().ok())
            .collect();
        assert!(lengths.iter().all(|length| *length <= 16_384 + 256), "{kind:?}: {lengths:?}");
        // On a busy machine the capture may miss some.
        assert!(lengths.iter().sum::<usize>() >= 40_000, "{kind:?}: {lengths:?}");
        let captured = std::fs::read(&file).unwrap();
        assert!(
            !captured.windows(12).any(|it| it == &SECRET[..12]),
            "{kind:?}: the plaintext is on the wire"
        );
    }
    std::fs::remove_dir_all(folder).unwrap();
}
