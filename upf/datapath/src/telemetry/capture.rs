//! Captures of N6 packets to a file for Wireshark and tcpdump (draft-ietf-opsawg-pcap). Packets are
//! captured as they are on N6: from UEs after decapsulation and translation, to UEs before either.
use pcap_file::pcap::{PcapHeader, PcapPacket, PcapWriter};
use pcap_file::{DataLink, Endianness, PcapError, TsResolution};
use serde::Serialize;
use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Maximum captured bytes of a packet; equal to `bpf/telemetry.h`.
pub const LONGEST: u32 = 2048;
/// Sizes of the file header and of a packet header in bytes.
const FILE_HEADER: u64 = 24;
const PACKET_HEADER: u64 = 16;
/// Size of the write buffer in bytes.
const AT_ONCE: usize = 1 << 18;

/// Limits of a capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CaptureRequest {
    /// Bytes of each packet, at most [`LONGEST`].
    pub snap: u32,
    /// Packets.
    pub packets: u64,
    /// Bytes of the file.
    pub bytes: u64,
    /// Time.
    pub time: Duration,
}

impl CaptureRequest {
    /// Reads `SNAP/PACKETS/BYTES/SECONDS`.
    pub fn parse(text: &str) -> Option<Self> {
        let mut numbers = text.split('/').map(|number| number.parse::<u64>().ok());
        let mut next = || numbers.next()?.filter(|number| *number > 0);
        let request = CaptureRequest {
            snap: u32::try_from(next()?).ok()?.min(LONGEST),
            packets: next()?,
            bytes: next()?,
            time: Duration::from_secs(next()?.min(86_400)),
        };
        numbers.next().is_none().then_some(request)
    }
}

/// Progress of a capture.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CaptureStatus {
    /// The file.
    pub path: PathBuf,
    /// Packets in it.
    pub packets: u64,
    /// Bytes of it.
    pub bytes: u64,
    /// Packets lost between the programs and the file.
    pub dropped: u64,
    /// Why it ended; `None` while it is active.
    pub ended: Option<String>,
}

/// An open capture file.
pub struct CaptureFile {
    file: PcapWriter<BufWriter<File>>,
    request: CaptureRequest,
    packets: u64,
    bytes: u64,
    /// Offset from the monotonic clock to the wall clock.
    clock: Duration,
}

impl CaptureFile {
    /// Creates a file that only its owner can read.
    pub fn create(folder: &Path, request: CaptureRequest) -> io::Result<(Self, PathBuf)> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path =
            folder.join(format!("n6-{}-{}-{number}.pcap", since.as_secs(), std::process::id()));
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
        let header = PcapHeader {
            snaplen: request.snap,
            // IPv4 or IPv6 packets without a link header.
            datalink: DataLink::RAW,
            ts_resolution: TsResolution::NanoSecond,
            endianness: Endianness::Little,
            ..PcapHeader::default()
        };
        let file = PcapWriter::with_header(BufWriter::with_capacity(AT_ONCE, file), header)
            .map_err(failed)?;
        let clock = since.saturating_sub(since_start());
        Ok((CaptureFile { file, request, packets: 0, bytes: FILE_HEADER, clock }, path))
    }

    /// Writes a packet received at a monotonic time; `length` is its original length. False: a
    /// limit is reached.
    pub fn write(&mut self, time: Duration, packet: &[u8], length: u32) -> io::Result<bool> {
        let packet = packet.get(..self.request.snap as usize).unwrap_or(packet);
        let bytes = PACKET_HEADER + packet.len() as u64;
        if self.packets >= self.request.packets || self.bytes + bytes > self.request.bytes {
            return Ok(false);
        }
        self.file
            .write_packet(&PcapPacket::new(self.clock + time, length, packet))
            .map_err(failed)?;
        (self.packets, self.bytes) = (self.packets + 1, self.bytes + bytes);
        Ok(true)
    }

    /// Packets and bytes so far.
    pub fn written(&self) -> (u64, u64) {
        (self.packets, self.bytes)
    }

    /// Flushes the file.
    pub fn finish(self) -> io::Result<()> {
        self.file.into_writer().flush()
    }
}

fn failed(error: PcapError) -> io::Error {
    match error {
        PcapError::IoError(error) => error,
        other => io::Error::other(other),
    }
}

/// The machine's time since its start, as BPF programs read it.
fn since_start() -> Duration {
    use nix::time::{ClockId, clock_gettime};
    clock_gettime(ClockId::CLOCK_MONOTONIC).map_or(Duration::ZERO, Duration::from)
}

/// State shared between a capture and its observers.
#[derive(Debug)]
pub struct Shared {
    status: Mutex<CaptureStatus>,
    end: AtomicBool,
}

impl Shared {
    /// A new capture without packets.
    pub fn new(path: PathBuf) -> Self {
        let status =
            CaptureStatus { path, packets: 0, bytes: FILE_HEADER, dropped: 0, ended: None };
        Shared { status: Mutex::new(status), end: AtomicBool::new(false) }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, CaptureStatus> {
        self.status.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// The capture's progress.
    pub fn status(&self) -> CaptureStatus {
        self.lock().clone()
    }

    /// Requests its end.
    pub fn end(&self) {
        self.end.store(true, Ordering::Relaxed);
    }

    /// Whether its end is requested.
    pub fn is_to_end(&self) -> bool {
        self.end.load(Ordering::Relaxed)
    }

    /// Updates the progress.
    pub fn update(&self, (packets, bytes): (u64, u64), dropped: u64, ended: Option<String>) {
        let status = &mut *self.lock();
        (status.packets, status.bytes, status.dropped) = (packets, bytes, dropped);
        status.ended = ended;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(packets: u64, bytes: u64) -> CaptureRequest {
        CaptureRequest { snap: 100, packets, bytes, time: Duration::from_secs(1) }
    }

    #[test]
    fn a_capture_request_is_four_numbers() {
        let due =
            CaptureRequest { snap: 96, packets: 5, bytes: 1000, time: Duration::from_secs(3) };
        assert_eq!(CaptureRequest::parse("96/5/1000/3"), Some(due));
        assert_eq!(
            CaptureRequest::parse("9000/5/1000/3").map(|request| request.snap),
            Some(LONGEST)
        );
        for wrong in [
            "",
            "96/5/1000",
            "96/5/1000/3/1",
            "0/5/1000/3",
            "96/-5/1000/3",
            "x/5/1000/3",
            "96/0/1000/3",
        ] {
            assert_eq!(CaptureRequest::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_capture_file_is_bounded_and_private() {
        use std::os::unix::fs::PermissionsExt;
        let folder = std::env::temp_dir();
        let (mut file, path) = CaptureFile::create(&folder, request(2, 10_000)).unwrap();
        assert!(file.write(Duration::from_millis(1500), &[0x45; 20], 20).unwrap());
        assert!(file.write(Duration::from_secs(2), &[0x45; 200], 200).unwrap());
        assert!(!file.write(Duration::from_secs(3), &[0x45; 20], 20).unwrap(), "two packets");
        assert_eq!(file.written(), (2, 24 + 36 + 116));
        file.finish().unwrap();
        let bytes = std::fs::read(&path).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(bytes.len(), 24 + 36 + 116);
        assert_eq!(bytes[..4], [0x4d, 0x3c, 0xb2, 0xa1]);
        assert_eq!((bytes[20], &bytes[32..40]), (101, &[20, 0, 0, 0, 20, 0, 0, 0][..]));
        assert_eq!(bytes[68..76], [100, 0, 0, 0, 200, 0, 0, 0]);
        std::fs::remove_file(path).unwrap();
        let (mut file, path) = CaptureFile::create(&folder, request(10, 24 + 36)).unwrap();
        assert!(file.write(Duration::ZERO, &[0x45; 20], 20).unwrap());
        assert!(!file.write(Duration::ZERO, &[0x45; 20], 20).unwrap(), "sixty bytes");
        std::fs::remove_file(path).unwrap();
    }
}
