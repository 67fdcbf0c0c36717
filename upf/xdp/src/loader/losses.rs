//! Frames that the kernel lost after a program had redirected or returned them, by tracepoints.
use crate::loader::XdpError;
use crate::loader::error::table_error;
use libbpf_rs::skel::{OpenSkel, SkelBuilder};
use libbpf_rs::{Link, MapCore, MapFlags, MapHandle};
use std::io;
use std::mem::MaybeUninit;
use std::net::UdpSocket;
use std::os::fd::AsRawFd;
use std::sync::{Arc, Mutex, PoisonError};

#[allow(missing_docs, clippy::all, clippy::undocumented_unsafe_blocks)]
mod skeleton {
    include!(concat!(env!("OUT_DIR"), "/losses.skel.rs"));
}

/// Lost frames of an interface, or of the queues of CPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Loss {
    /// The interface; 0 for the queues of CPUs.
    pub ifindex: u32,
    /// Why: its name in status and metrics.
    pub reason: &'static str,
    /// How many frames.
    pub packets: u64,
}

/// The programs at the tracepoints, one set for all datapaths of the process: the kernel's types,
/// which their loading reads, are megabytes.
struct Programs {
    watched: MapHandle,
    counted: MapHandle,
    _links: Vec<Link>,
}

static PROGRAMS: Mutex<Option<Arc<Programs>>> = Mutex::new(None);

impl Programs {
    fn get() -> Result<Arc<Programs>, XdpError> {
        let mut programs = PROGRAMS.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(programs) = &*programs {
            return Ok(programs.clone());
        }
        Ok(programs.insert(Arc::new(Self::load()?)).clone())
    }

    fn load() -> Result<Programs, XdpError> {
        let load_error = |error: libbpf_rs::Error| XdpError::Load(format!("{error:#}"));
        let mut place = MaybeUninit::uninit();
        let open = skeleton::LossesSkelBuilder::default().open(&mut place).map_err(load_error)?;
        let loaded = open.load().map_err(load_error)?;
        let progs = &loaded.progs;
        let programs = [
            &progs.after_redirect,
            &progs.after_return,
            &progs.redirect_failed,
            &progs.verdict_failed,
            &progs.queue_full,
        ];
        let links = programs.into_iter().map(|program| program.attach().map_err(load_error));
        Ok(Programs {
            _links: links.collect::<Result<_, _>>()?,
            watched: MapHandle::try_from(&loaded.maps.watched).map_err(load_error)?,
            counted: MapHandle::try_from(&loaded.maps.losses).map_err(load_error)?,
        })
    }
}

/// Counts frames of some interfaces while it lives.
pub struct Losses {
    programs: Arc<Programs>,
    ports: Vec<[u8; PORT]>,
}

/// Bytes of `struct port` of `bpf/losses.bpf.c`.
const PORT: usize = 16;

impl Drop for Losses {
    fn drop(&mut self) {
        let Programs { watched, counted, .. } = &*self.programs;
        for port in &self.ports {
            let _ = watched.delete(port);
        }
        let keys: Vec<Vec<u8>> = counted.keys().filter(|key| self.has(key)).collect();
        for key in keys {
            let _ = counted.delete(&key);
        }
    }
}

impl Losses {
    /// Counts for interfaces of the calling thread's network namespace.
    ///
    /// # Errors
    /// The kernel lacks the tracepoints, or the right to use them.
    pub fn count(ifindexes: impl IntoIterator<Item = u32>) -> Result<Losses, XdpError> {
        let netns = netns_cookie().map_err(|error| XdpError::Load(error.to_string()))?;
        let mut losses = Losses { programs: Programs::get()?, ports: Vec::new() };
        for ifindex in ifindexes {
            losses.watch(netns, ifindex)?;
        }
        Ok(losses)
    }

    /// Also counts frames that find the queue of a CPU full, in the map with this number.
    ///
    /// # Errors
    /// The kernel's table is full.
    pub fn count_queues(&mut self, map: u32) -> Result<(), XdpError> {
        self.watch(0, map)
    }

    fn watch(&mut self, netns: u64, ifindex: u32) -> Result<(), XdpError> {
        let mut port = [0; PORT];
        port[..8].copy_from_slice(&netns.to_ne_bytes());
        port[8..12].copy_from_slice(&ifindex.to_ne_bytes());
        let added = self.programs.watched.update(&port, &[1], MapFlags::ANY);
        added.map_err(|error| table_error("watched", error))?;
        self.ports.push(port);
        Ok(())
    }

    /// Whether a key of the kernel's counters is that of an interface of ours.
    fn has(&self, key: &[u8]) -> bool {
        self.ports.iter().any(|port| key.starts_with(port))
    }

    /// All losses so far.
    pub fn read(&self) -> Vec<Loss> {
        let mut all: Vec<Loss> = Vec::new();
        let counted = &self.programs.counted;
        for key in counted.keys().filter(|key| self.has(key)) {
            let value = counted.lookup(&key, MapFlags::ANY).ok().flatten();
            let Some(loss) = value.and_then(|value| loss(&key, &value)) else { continue };
            // Several errors have the same reason.
            let is_same =
                |other: &&mut Loss| (other.ifindex, other.reason) == (loss.ifindex, loss.reason);
            match all.iter_mut().find(is_same) {
                Some(known) => known.packets += loss.packets,
                None => all.push(loss),
            }
        }
        all.sort_by_key(|loss| (loss.ifindex, loss.reason));
        all
    }
}

/// An entry of the map `losses` of `bpf/losses.bpf.c`.
fn loss(key: &[u8], value: &[u8]) -> Option<Loss> {
    let (words, []) = key.as_chunks::<4>() else { return None };
    let [_, _, ifindex, _, stage, error] = words else { return None };
    let (stage, error) = (u32::from_ne_bytes(*stage), i32::from_ne_bytes(*error));
    Some(Loss {
        ifindex: if stage == QUEUE { 0 } else { u32::from_ne_bytes(*ifindex) },
        reason: reason(stage, error),
        packets: u64::from_ne_bytes(value.try_into().ok()?),
    })
}

/// As `enum loss_stage` has it.
const EXCEPTION: u32 = 2;
const QUEUE: u32 = 3;

fn reason(stage: u32, error: i32) -> &'static str {
    match error.checked_neg() {
        _ if stage == EXCEPTION => "exception",
        _ if stage == QUEUE => "cpu_queue_full",
        // The other end of a veth has neither GRO nor a program, or the driver cannot do it.
        Some(libc::ENXIO | libc::EOPNOTSUPP | libc::EINVAL) => "not_accepted",
        Some(0 | libc::ENOSPC | libc::EBUSY | libc::ENOBUFS) => "queue_full",
        Some(libc::ENETDOWN | libc::ENODEV) => "interface_down",
        Some(libc::EMSGSIZE) => "too_long",
        _ => "other",
    }
}

/// The number that the kernel gives the calling thread's network namespace (socket(7)).
fn netns_cookie() -> io::Result<u64> {
    let socket = UdpSocket::bind("127.0.0.1:0").or_else(|_| UdpSocket::bind("[::]:0"))?;
    let mut cookie = 0u64;
    let mut length = size_of::<u64>() as libc::socklen_t;
    // SAFETY: the socket is open, and the kernel writes at most `length` bytes to the number, which
    // outlives the call.
    let outcome = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_NETNS_COOKIE,
            (&raw mut cookie).cast(),
            &mut length,
        )
    };
    if outcome == 0 { Ok(cookie) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_of_the_kernel_are_read_with_a_reason_each() {
        let of = |words: [u32; 6]| {
            loss(&words.map(u32::to_ne_bytes).concat(), &5u64.to_ne_bytes()).unwrap()
        };
        let entry = |stage: u32, error: i32| {
            let loss = of([9, 9, 7, 0, stage, error.cast_unsigned()]);
            assert_eq!((loss.ifindex, loss.packets), (7, 5));
            loss.reason
        };
        assert_eq!(entry(1, -libc::ENXIO), "not_accepted");
        assert_eq!(entry(0, -libc::EOPNOTSUPP), "not_accepted");
        assert_eq!(entry(1, 0), "queue_full");
        assert_eq!(entry(0, -libc::ENETDOWN), "interface_down");
        assert_eq!(entry(0, i32::MIN), "other");
        assert_eq!(entry(2, 0), "exception");
        let queue = of([0, 0, 7, 0, 3, 0]);
        assert_eq!((queue.ifindex, queue.reason), (0, "cpu_queue_full"));
        assert_eq!(loss(&[0; 23], &[0; 8]), None);
        assert_eq!(loss(&[0; 24], &[0; 4]), None);
    }
}
