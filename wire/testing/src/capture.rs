//! A capture file, and the verdict of tshark on it.

use std::io::Write;
use std::path::PathBuf;
use std::process::Command;

/// Packets as raw IPv4 (link type 101), each in a datagram or an SCTP chunk of its own.
#[derive(Debug, Default)]
pub struct Capture {
    bytes: Vec<u8>,
    packets: u32,
}

/// IP protocol numbers.
const UDP: u8 = 17;
const SCTP: u8 = 132;

fn length(bytes: usize) -> u16 {
    u16::try_from(bytes).unwrap_or_else(|_| panic!("{bytes} bytes do not fit one packet"))
}

impl Capture {
    /// No packets.
    pub fn new() -> Self {
        let mut bytes = Vec::new();
        bytes.extend(0xa1b2_c3d4_u32.to_be_bytes());
        bytes.extend([0, 2, 0, 4]);
        bytes.extend([0; 8]);
        bytes.extend(65_535_u32.to_be_bytes());
        bytes.extend(101_u32.to_be_bytes());
        Self { bytes, packets: 0 }
    }

    /// How many packets there are.
    pub fn packets(&self) -> u32 {
        self.packets
    }

    /// Adds a message in one SCTP DATA chunk with a payload protocol identifier (60 for NGAP), from
    /// or to port 38412.
    ///
    /// # Panics
    /// If it does not fit one packet.
    pub fn sctp(&mut self, to_amf: bool, payload_protocol: u32, message: &[u8]) {
        let ports: [u16; 2] = if to_amf { [50_000, 38_412] } else { [38_412, 50_000] };
        let mut payload: Vec<u8> = ports.iter().flat_map(|port| port.to_be_bytes()).collect();
        // Verification tag; no checksum, which tshark verifies only on request.
        payload.extend([0, 0, 0, 1, 0, 0, 0, 0]);
        // DATA, a whole message: TSN, stream 0, sequence number, payload protocol.
        payload.extend([0, 3]);
        payload.extend(length(16 + message.len()).to_be_bytes());
        payload.extend(self.packets.to_be_bytes());
        payload.extend([0, 0]);
        payload.extend(length(usize::try_from(self.packets & 0xffff).unwrap_or(0)).to_be_bytes());
        payload.extend(payload_protocol.to_be_bytes());
        payload.extend(message);
        payload.resize(payload.len().next_multiple_of(4), 0);
        self.packet(SCTP, &payload);
    }

    /// Adds a message in one UDP datagram from and to a port (8805 for PFCP, 2152 for GTP-U).
    ///
    /// # Panics
    /// If it does not fit one packet.
    pub fn udp(&mut self, port: u16, message: &[u8]) {
        let mut payload: Vec<u8> =
            [port, port].iter().flat_map(|port| port.to_be_bytes()).collect();
        payload.extend(length(8 + message.len()).to_be_bytes());
        payload.extend([0, 0]);
        payload.extend(message);
        self.packet(UDP, &payload);
    }

    fn packet(&mut self, protocol: u8, payload: &[u8]) {
        let mut packet = vec![0x45, 0];
        packet.extend(length(20 + payload.len()).to_be_bytes());
        packet.extend([0, 0, 0x40, 0, 64, protocol, 0, 0, 127, 0, 0, 1, 127, 0, 0, 2]);
        let sum = packet
            .chunks_exact(2)
            .map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]])))
            .sum::<u32>();
        let folded = (sum & 0xffff) + (sum >> 16);
        let checksum = !u16::try_from((folded & 0xffff) + (folded >> 16)).unwrap_or(0);
        packet[10..12].copy_from_slice(&checksum.to_be_bytes());
        packet.extend(payload);
        self.bytes.extend(self.packets.to_be_bytes());
        self.bytes.extend([0; 4]);
        let captured = u32::from(length(packet.len())).to_be_bytes();
        self.bytes.extend(captured);
        self.bytes.extend(captured);
        self.bytes.extend(packet);
        self.packets += 1;
    }

    /// Writes the file into the folder for the tests' temporary files.
    ///
    /// # Panics
    /// If it cannot be written.
    pub fn write(&self, name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("martlet-{name}-{}.pcap", std::process::id()));
        let mut file = std::fs::File::create(&path)
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        file.write_all(&self.bytes).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        path
    }

    /// The output of tshark for the capture: one line for each packet, with the frame number, its
    /// protocols, whether it is malformed, and its expert messages of the severity "error". `None`
    /// if tshark is not installed, with a note in the test's output.
    ///
    /// # Panics
    /// If tshark fails.
    pub fn dissect(&self, name: &str, preferences: &[&str]) -> Option<Vec<Dissected>> {
        let path = self.write(name);
        let run = |filter: &str, fields: &[&str]| {
            let mut command = Command::new("tshark");
            command.arg("-r").arg(&path).args(["-T", "fields", "-E", "occurrence=a", "-Y", filter]);
            fields.iter().for_each(|field| {
                command.args(["-e", field]);
            });
            preferences.iter().for_each(|preference| {
                command.args(["-o", preference]);
            });
            command.output()
        };
        let all = run("frame", &["frame.number", "frame.protocols", "_ws.col.Info"]);
        let wrong = run(
            "_ws.malformed or _ws.expert.severity == 8388608",
            &["frame.number", "_ws.malformed", "_ws.expert.message"],
        );
        let (all, wrong) = match (all, wrong) {
            (Ok(all), Ok(wrong)) => (all, wrong),
            (Err(error), _) | (_, Err(error)) => {
                eprintln!("SKIPPED: tshark does not start: {error}");
                let _ = std::fs::remove_file(&path);
                return None;
            }
        };
        let text = |output: &std::process::Output| {
            assert!(
                output.status.success(),
                "tshark fails: {}",
                String::from_utf8_lossy(&output.stderr)
            );
            String::from_utf8_lossy(&output.stdout).into_owned()
        };
        let (all, wrong) = (text(&all), text(&wrong));
        let _ = std::fs::remove_file(&path);
        let problem = |number: &str| {
            let line = wrong.lines().find(|line| line.split('\t').next() == Some(number));
            line.map(|line| line.split('\t').skip(1).collect::<Vec<_>>().join(" "))
        };
        let packet = |line: &str| {
            let mut fields = line.split('\t');
            let number = fields.next().unwrap_or_default();
            Dissected {
                protocols: fields.next().unwrap_or_default().into(),
                info: fields.next().unwrap_or_default().into(),
                problem: problem(number),
            }
        };
        Some(all.lines().map(packet).collect())
    }
}

/// What tshark makes of a packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dissected {
    /// The protocols in it, as `raw:ip:sctp:ngap:nas-5gs`.
    pub protocols: String,
    /// The line of the packet list.
    pub info: String,
    /// What is malformed, or an error.
    pub problem: Option<String>,
}
