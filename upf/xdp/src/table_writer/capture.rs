//! Capture of N6 to a file by a thread. Frames sent to AF_XDP sockets are consumed, so programs
//! copy captured packets into a ring.
use super::{Forwarder, lock};
use crate::loader::Programs;
use martlet_upf_datapath::CommandError;
use martlet_upf_datapath::telemetry::{CaptureFile, CaptureRequest, CaptureShared, CaptureStatus};
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Maximum wait of the thread for packets.
const WAIT: Duration = Duration::from_millis(50);

/// The active capture, or the last one.
#[derive(Default)]
pub(super) struct Captures {
    last: Option<(Arc<CaptureShared>, JoinHandle<()>)>,
}

impl Drop for Captures {
    fn drop(&mut self) {
        if let Some((shared, thread)) = self.last.take() {
            shared.end();
            let _ = thread.join();
        }
    }
}

/// Packets read but not written yet, and errors.
struct Writer {
    file: CaptureFile,
    ended: Option<String>,
}

impl Writer {
    fn take(&mut self, time: u64, packet: &[u8], length: u32) {
        if self.ended.is_some() {
            return;
        }
        match self.file.write(Duration::from_nanos(time), packet, length) {
            Ok(true) => {}
            Ok(false) => self.ended = Some("it has the requested packets or bytes".into()),
            Err(error) => self.ended = Some(format!("the file cannot be written: {error}")),
        }
    }
}

fn write(
    programs: &Programs,
    writer: Arc<Mutex<Writer>>,
    ring: libbpf_rs::RingBuffer<'static>,
    shared: &CaptureShared,
    (end, before): (Instant, u64),
) {
    let dropped = || programs.lanes().map_or(0, |lane| lane.capture_missed.saturating_sub(before));
    loop {
        let _ = ring.poll(WAIT);
        let writer = &mut *lock(&writer);
        if shared.is_to_end() {
            writer.ended.get_or_insert_with(|| "it was stopped".into());
        } else if end <= Instant::now() {
            writer.ended.get_or_insert_with(|| "its time limit expired".into());
        }
        if writer.ended.is_some() {
            break;
        }
        shared.update(writer.file.written(), dropped(), None);
    }
    programs.capture(None);
    // Packets that the programs captured before they noticed the end.
    let _ = programs.grace_period();
    let ended = lock(&writer).ended.take();
    let _ = ring.consume();
    drop(ring);
    let Some(writer) = Arc::into_inner(writer) else { return };
    let Writer { file, ended: full } =
        writer.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    let written = file.written();
    let ended = match file.finish() {
        Ok(()) => ended.or(full),
        Err(error) => Some(format!("the file cannot be written: {error}")),
    };
    shared.update(written, dropped(), ended);
}

impl Captures {
    /// Starts a capture into a new file of a folder.
    pub fn begin(
        &mut self,
        forwarder: &Arc<Forwarder>,
        folder: &Path,
        request: CaptureRequest,
    ) -> Result<CaptureStatus, CommandError> {
        if self.last.as_ref().is_some_and(|(shared, _)| shared.status().ended.is_none()) {
            return Err(CommandError::CaptureActive);
        }
        *self = Captures::default();
        let failed =
            |source: io::Error| CommandError::CaptureFile { folder: folder.into(), source };
        let (file, path) = CaptureFile::create(folder, request).map_err(failed)?;
        let shared = Arc::new(CaptureShared::new(path));
        let writer = Arc::new(Mutex::new(Writer { file, ended: None }));
        let into = writer.clone();
        let take = move |time, packet: &[u8], length| lock(&into).take(time, packet, length);
        let ring = forwarder
            .programs
            .captured(take)
            .map_err(|error| CommandError::Programs(error.into()))?;
        // Drops packets of a previous capture: a program may see its end with a delay.
        let _ = ring.consume();
        let before = forwarder.programs.lanes().map_or(0, |lane| lane.capture_missed);
        let (status, of) = (shared.clone(), forwarder.clone());
        let end = Instant::now() + request.time;
        forwarder.programs.capture(Some(request.snap));
        let work = move || write(&of.programs, writer, ring, &status, (end, before));
        let thread =
            std::thread::Builder::new().name("upf-capture".into()).spawn(work).map_err(failed)?;
        let status = shared.status();
        self.last = Some((shared, thread));
        tracing::info!(path = %status.path.display(), ?request, "capture started");
        Ok(status)
    }

    /// The status of the active or last capture; with `end`, it is ended.
    pub fn status(&self, end: bool) -> Option<CaptureStatus> {
        let (shared, _) = self.last.as_ref()?;
        if end {
            shared.end();
        }
        Some(shared.status())
    }
}
