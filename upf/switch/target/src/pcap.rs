//! Ports on capture files: received frames are read from one, transmitted frames are written to
//! another, in the format of tcpdump and Wireshark (draft-ietf-opsawg-pcap).
use crate::error::ProcessError;
use crate::switch::Switch;
use pcap_file::pcap::{PcapHeader, PcapPacket, PcapReader, PcapWriter};
use pcap_file::{DataLink, Endianness, PcapError, TsResolution};
use std::fs::File;
use std::io::{BufWriter, Error, ErrorKind, Read, Result, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Maximum length of a captured frame.
const LONGEST: u32 = 262_144;
/// Frames injected at a port between two polls of the output.
const AT_A_TIME: usize = 256;

fn wrong(why: impl std::fmt::Display) -> Error {
    Error::new(ErrorKind::InvalidData, why.to_string())
}

fn failed(error: PcapError) -> Error {
    match error {
        PcapError::IoError(error) => error,
        other => wrong(other),
    }
}

/// The frames of a capture in order, as far as they were captured. The iterator ends after an
/// error.
pub struct Reader<R: Read>(Option<PcapReader<R>>);

impl Reader<File> {
    /// Opens a file.
    pub fn open(path: &Path) -> Result<Self> {
        Self::new(File::open(path)?)
    }
}

impl<R: Read> Reader<R> {
    /// Reads the file header of a capture.
    ///
    /// # Errors
    /// It is not a pcap file, or not one of Ethernet frames.
    pub fn new(file: R) -> Result<Self> {
        let reader = PcapReader::new(file).map_err(|error| match error {
            PcapError::IoError(error) => error,
            other => wrong(format!(
                "not a pcap file (for pcapng, convert it with editcap -F pcap): {other}"
            )),
        })?;
        match reader.header().datalink {
            DataLink::ETHERNET => Ok(Reader(Some(reader))),
            other => Err(wrong(format!(
                "link type {} is not supported: capture Ethernet frames",
                u32::from(other)
            ))),
        }
    }
}

impl<R: Read> Iterator for Reader<R> {
    type Item = Result<Vec<u8>>;

    fn next(&mut self) -> Option<Self::Item> {
        let frame =
            self.0.as_mut()?.next_packet()?.map(|packet| packet.data.into_owned()).map_err(failed);
        if frame.is_err() {
            self.0 = None;
        }
        Some(frame)
    }
}

/// The writer's sink, and the buffer to flush.
struct Shared<W>(Arc<Mutex<W>>);

impl<W: Write> Write for Shared<W> {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).write(bytes)
    }

    fn flush(&mut self) -> Result<()> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).flush()
    }
}

/// A capture being written.
pub struct Writer<W: Write> {
    capture: PcapWriter<Shared<W>>,
    file: Shared<W>,
}

impl Writer<BufWriter<File>> {
    /// Creates a file, or overwrites it.
    pub fn create(path: &Path) -> Result<Self> {
        Self::new(BufWriter::new(File::create(path)?))
    }
}

impl<W: Write> Writer<W> {
    /// Writes the file header.
    pub fn new(file: W) -> Result<Self> {
        let header = PcapHeader {
            endianness: Endianness::native(),
            snaplen: LONGEST,
            datalink: DataLink::ETHERNET,
            ts_resolution: TsResolution::NanoSecond,
            ..PcapHeader::default()
        };
        let file = Arc::new(Mutex::new(file));
        let capture = PcapWriter::with_header(Shared(file.clone()), header).map_err(failed)?;
        Ok(Writer { capture, file: Shared(file) })
    }

    /// Appends a frame.
    pub fn write(&mut self, at: SystemTime, frame: &[u8]) -> Result<()> {
        let since = at.duration_since(UNIX_EPOCH).unwrap_or_default();
        let packet = PcapPacket::new(since, frame.len() as u32, frame);
        self.capture.write_packet(&packet).map(drop).map_err(failed)
    }

    /// Flushes all frames to the file.
    pub fn flush(&mut self) -> Result<()> {
        self.file.flush()
    }
}

/// The files of a port; either may be absent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Files {
    /// Source of received frames.
    pub read: Option<PathBuf>,
    /// Destination of transmitted frames.
    pub write: Option<PathBuf>,
}

struct Bound {
    port: u32,
    name: String,
    reader: Option<Reader<File>>,
    writer: Option<Writer<BufWriter<File>>>,
    next: Option<Vec<u8>>,
}

/// A thread that moves frames between files and ports. When it is dropped, all frames are in the
/// files.
pub struct Carrier {
    stop: Arc<AtomicBool>,
    read: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Carrier {
    /// Binds ports of a switch to files. The thread reads the frames of all files in order.
    ///
    /// # Errors
    /// A file cannot be opened or created.
    pub fn start(
        switch: &Arc<Switch>,
        ports: &[(u32, Files)],
    ) -> std::result::Result<Carrier, ProcessError> {
        let mut all = Vec::new();
        for (port, files) in ports {
            let reader = files
                .read
                .as_deref()
                .map(|path| Reader::open(path).map_err(|error| ProcessError::file(path, error)));
            let writer = files
                .write
                .as_deref()
                .map(|path| Writer::create(path).map_err(|error| ProcessError::file(path, error)));
            let (reader, writer) = (reader.transpose()?, writer.transpose()?);
            let name = files.read.as_ref().map_or(String::new(), |path| path.display().to_string());
            all.push(Bound { port: *port, name, reader, writer, next: None });
        }
        let (stop, read) = (Arc::<AtomicBool>::default(), Arc::<AtomicBool>::default());
        if all.is_empty() {
            return Ok(Carrier { stop, read, thread: None });
        }
        let (switch, its_stop, its_read) = (switch.clone(), stop.clone(), read.clone());
        let work = move || carry(&switch, all, &its_stop, &its_read);
        let thread = std::thread::Builder::new().name("captures".into()).spawn(work);
        let thread = thread.map_err(ProcessError::system("create the thread of capture files"))?;
        Ok(Carrier { stop, read, thread: Some(thread) })
    }

    /// Whether all frames were read and have passed the pipeline.
    pub fn at_end(&self) -> bool {
        self.read.load(Ordering::Relaxed)
    }
}

impl Drop for Carrier {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Bound {
    /// Injects frames into the port while it has space.
    fn feed(&mut self, switch: &Switch) {
        // Queued frames are processed first: few enough are in flight that the output rings have
        // space for all.
        if switch.waiting(self.port) > 0 {
            return;
        }
        for _ in 0..AT_A_TIME {
            let frame = match self.next.take() {
                Some(frame) => frame,
                None => match self.reader.as_mut().and_then(Iterator::next) {
                    Some(Ok(frame)) => frame,
                    Some(Err(error)) => {
                        tracing::error!(file = self.name, %error, "capture file unreadable");
                        self.reader = None;
                        return;
                    }
                    None => {
                        self.reader = None;
                        return;
                    }
                },
            };
            match switch.inject(self.port, &frame) {
                Ok(()) => {}
                Err(error) if error.is_full() => {
                    self.next = Some(frame);
                    return;
                }
                Err(error) => {
                    tracing::warn!(
                        file = self.name, bytes = frame.len(), %error,
                        "frame of invalid length skipped"
                    )
                }
            }
        }
    }

    /// Collects transmitted frames; returns whether there were any.
    fn drain(&mut self, switch: &Switch) -> bool {
        let mut any = false;
        while let Some(frame) = switch.collect(self.port) {
            any = true;
            if let Some(writer) = &mut self.writer
                && let Err(error) = writer.write(SystemTime::now(), &frame)
            {
                tracing::error!(%error, "writing transmitted frames stopped");
                self.writer = None;
            }
        }
        any
    }
}

fn carry(switch: &Switch, mut ports: Vec<Bound>, stop: &AtomicBool, read: &AtomicBool) {
    loop {
        // The last iteration collects the frames of a switch that was stopped.
        let last = stop.load(Ordering::Relaxed);
        let mut busy = false;
        for port in &mut ports {
            busy |= port.drain(switch);
            if !last {
                port.feed(switch);
            }
        }
        if busy {
            continue;
        }
        let ended = |port: &Bound| {
            port.reader.is_none() && port.next.is_none() && switch.waiting(port.port) == 0
        };
        read.store(ports.iter().all(ended), Ordering::Relaxed);
        for writer in ports.iter_mut().filter_map(|port| port.writer.as_mut()) {
            let _ = writer.flush();
        }
        if last {
            return;
        }
        std::thread::sleep(Duration::from_micros(200));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let frames = [vec![1u8; 60], vec![], vec![3; 1514]];
        let mut bytes = Vec::new();
        let mut writer = Writer::new(&mut bytes).unwrap();
        frames.iter().for_each(|frame| writer.write(SystemTime::now(), frame).unwrap());
        let read: Vec<Vec<u8>> =
            Reader::new(&bytes[..]).unwrap().map(|frame| frame.unwrap()).collect();
        assert_eq!(read, frames);
        // A file in the other byte order.
        let mut swapped = bytes.clone();
        swapped[..24].as_chunks_mut::<4>().0.iter_mut().for_each(|word| word.reverse());
        let mut at = 24;
        for frame in &frames {
            swapped[at..at + 16].as_chunks_mut::<4>().0.iter_mut().for_each(|word| word.reverse());
            at += 16 + frame.len();
        }
        let read: Vec<Vec<u8>> =
            Reader::new(&swapped[..]).unwrap().map(|frame| frame.unwrap()).collect();
        assert_eq!(read, frames);
        // A truncated file is reported; other files are rejected.
        for length in 24..bytes.len() {
            let mut all = Reader::new(&bytes[..length]).unwrap();
            assert!(all.by_ref().take_while(Result::is_ok).count() <= frames.len());
        }
        assert!(Reader::new(&bytes[..bytes.len() - 1]).unwrap().last().unwrap().is_err());
        assert!(Reader::new(&[0u8; 24][..]).is_err());
        assert!(Reader::new(&bytes[..23]).is_err());
        bytes[20] = 101;
        assert!(Reader::new(&bytes[..]).is_err());
        bytes[20] = 1;
        bytes[24 + 8..24 + 12].fill(0xff);
        assert!(Reader::new(&bytes[..]).unwrap().next().unwrap().is_err());
    }
}
