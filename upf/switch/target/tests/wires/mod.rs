//! The wires of a switch, and their far ends.
#![allow(dead_code)] // each test program uses a part
use nix::sched::{CloneFlags, unshare};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::process::Command;
use std::time::{Duration, Instant};

/// Runs a test in its own network namespace, which is removed with it.
pub fn in_namespace(test: impl FnOnce() + Send + 'static) {
    let thread = std::thread::spawn(|| {
        if let Err(error) = unshare(CloneFlags::CLONE_NEWNET) {
            eprintln!(
                "SKIPPED: cannot create a network namespace ({error}); run the tests as root"
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

/// Runs `ip` with space-separated arguments.
pub fn ip(arguments: &str) {
    assert!(
        Command::new("ip").args(arguments.split(' ')).status().expect("ip runs").success(),
        "ip {arguments}"
    );
}

/// The far end of a wire, for complete frames.
pub struct End(OwnedFd);

impl End {
    /// For IPv4 packets.
    pub fn open(interface: &str) -> End {
        End::open_for(interface, libc::ETH_P_IP as u16)
    }

    /// For frames of an EtherType.
    pub fn open_for(interface: &str, kind: u16) -> End {
        let index = nix::net::if_::if_nametoindex(interface).expect("the interface");
        // SAFETY: a new socket that nothing else owns; an address of the given length.
        unsafe {
            let fd = libc::socket(
                libc::AF_PACKET,
                libc::SOCK_RAW | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC,
                kind.to_be().into(),
            );
            assert!(fd >= 0, "a packet socket");
            // Space for all frames that are sent before they are read.
            let size: i32 = 64 << 20;
            libc::setsockopt(
                fd,
                libc::SOL_SOCKET,
                libc::SO_RCVBUFFORCE,
                (&raw const size).cast(),
                size_of_val(&size) as u32,
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
        // SAFETY: a frame of the given length.
        let sent = unsafe { libc::send(self.0.as_raw_fd(), frame.as_ptr().cast(), frame.len(), 0) };
        assert_eq!(sent, frame.len() as isize, "{}", std::io::Error::last_os_error());
    }

    /// The numbers of received frames.
    pub fn received(&self) -> Vec<u32> {
        self.frames().iter().filter_map(|frame| number(frame)).collect()
    }

    /// A second handle of the socket, for another thread.
    pub fn duplicate(&self) -> End {
        End(self.0.try_clone().expect("a descriptor"))
    }

    /// Received frames.
    pub fn frames(&self) -> Vec<Vec<u8>> {
        let mut frames = Vec::new();
        let mut frame = [0u8; 2048];
        loop {
            // SAFETY: a buffer of the given length.
            let length = unsafe {
                libc::recv(self.0.as_raw_fd(), frame.as_mut_ptr().cast(), frame.len(), 0)
            };
            if length < 8 {
                return frames;
            }
            frames.push(frame[..length as usize].to_vec());
        }
    }

    /// The numbers of frames that arrive until there are `n`, or none arrives for ten seconds.
    pub fn wait(&self, n: usize) -> Vec<u32> {
        let mut last = Instant::now();
        let mut all = Vec::new();
        while all.len() < n && last.elapsed() < Duration::from_secs(10) {
            let received = self.received();
            if !received.is_empty() {
                last = Instant::now();
            }
            all.extend(received);
            std::thread::sleep(Duration::from_millis(2));
        }
        // Unexpected frames as well.
        std::thread::sleep(Duration::from_millis(20));
        all.extend(self.received());
        all
    }
}

/// The number at the end of a test frame.
pub fn number(frame: &[u8]) -> Option<u32> {
    match frame {
        [.., b'n', b'r', a, b, c, d] => Some(u32::from_be_bytes([*a, *b, *c, *d])),
        _ => None,
    }
}
