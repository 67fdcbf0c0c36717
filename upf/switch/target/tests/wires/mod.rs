//! Wires of a switch, and their far ends.
#![allow(dead_code)] // each test program uses its part
use nix::sched::{CloneFlags, unshare};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::process::Command;
use std::time::{Duration, Instant};

/// Runs a test in a network namespace of its own, which goes with it.
pub fn in_namespace(test: impl FnOnce() + Send + 'static) {
    let thread = std::thread::spawn(|| {
        if let Err(error) = unshare(CloneFlags::CLONE_NEWNET) {
            eprintln!(
                "SKIPPED: a network namespace cannot be made ({error}); run the tests as root"
            );
            return;
        }
        ip("link set lo up");
        test();
    });
    if let Err(panic) = thread.join() {
        std::panic::resume_unwind(panic);
    }
}

/// Runs `ip`, with words between blanks.
pub fn ip(arguments: &str) {
    assert!(
        Command::new("ip").args(arguments.split(' ')).status().expect("ip runs").success(),
        "ip {arguments}"
    );
}

/// The far end of a wire: whole frames out and in.
pub struct End(OwnedFd);

impl End {
    /// Of IPv4 packets.
    pub fn open(interface: &str) -> End {
        End::open_for(interface, libc::ETH_P_IP as u16)
    }

    /// Of frames of a type.
    pub fn open_for(interface: &str, kind: u16) -> End {
        let index = nix::net::if_::if_nametoindex(interface).expect("the interface");
        // SAFETY: a new socket, whose descriptor is ours alone; an address of the length said.
        unsafe {
            let fd = libc::socket(
                libc::AF_PACKET,
                libc::SOCK_RAW | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC,
                kind.to_be().into(),
            );
            assert!(fd >= 0, "a packet socket");
            // Room for all that is sent before it is looked at.
            let room: i32 = 64 << 20;
            libc::setsockopt(
                fd,
                libc::SOL_SOCKET,
                libc::SO_RCVBUFFORCE,
                (&raw const room).cast(),
                size_of_val(&room) as u32,
            );
            let mut address: libc::sockaddr_ll = std::mem::zeroed();
            address.sll_family = libc::AF_PACKET as u16;
            address.sll_protocol = kind.to_be();
            address.sll_ifindex = index as i32;
            assert_eq!(
                libc::bind(fd, (&raw const address).cast(), size_of_val(&address) as u32),
                0
            );
            End(OwnedFd::from_raw_fd(fd))
        }
    }

    pub fn send(&self, frame: &[u8]) {
        // SAFETY: a frame of the length said.
        let sent = unsafe { libc::send(self.0.as_raw_fd(), frame.as_ptr().cast(), frame.len(), 0) };
        assert_eq!(sent, frame.len() as isize, "{}", std::io::Error::last_os_error());
    }

    /// Frames that have come, with what each carries as its number.
    pub fn received(&self) -> Vec<u32> {
        self.frames().iter().filter_map(|frame| number(frame)).collect()
    }

    /// The same socket once more, for another thread.
    pub fn again(&self) -> End {
        End(self.0.try_clone().expect("a descriptor"))
    }

    /// Frames that have come.
    pub fn frames(&self) -> Vec<Vec<u8>> {
        let mut frames = Vec::new();
        let mut frame = [0u8; 2048];
        loop {
            // SAFETY: room of the length said.
            let length = unsafe {
                libc::recv(self.0.as_raw_fd(), frame.as_mut_ptr().cast(), frame.len(), 0)
            };
            if length < 8 {
                return frames;
            }
            frames.push(frame[..length as usize].to_vec());
        }
    }

    /// The numbers of what comes within a moment.
    pub fn wait(&self, n: usize) -> Vec<u32> {
        let end = Instant::now() + Duration::from_secs(5);
        let mut all = Vec::new();
        while all.len() < n && Instant::now() < end {
            all.extend(self.received());
            std::thread::sleep(Duration::from_millis(2));
        }
        // And what should not come.
        std::thread::sleep(Duration::from_millis(20));
        all.extend(self.received());
        all
    }
}

/// The number that a frame of a test carries at its end.
pub fn number(frame: &[u8]) -> Option<u32> {
    match frame {
        [.., b'n', b'r', a, b, c, d] => Some(u32::from_be_bytes([*a, *b, *c, *d])),
        _ => None,
    }
}
