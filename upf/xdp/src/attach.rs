//! Programs on interfaces, for as long as the [`Attachment`] lives: the kernel takes them off when the process ends,
//! however it ends.
use crate::XdpError;
use crate::load::{Program, Programs};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// How a program is attached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// In the driver, before the kernel makes a packet of its own.
    Native,
    /// Behind the driver, with any.
    Generic,
}

impl Mode {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Mode::Native => "native",
            Mode::Generic => "generic",
        }
    }

    fn flags(self) -> u32 {
        match self {
            Mode::Native => libbpf_rs::libbpf_sys::XDP_FLAGS_DRV_MODE,
            Mode::Generic => libbpf_rs::libbpf_sys::XDP_FLAGS_SKB_MODE,
        }
    }
}

/// A program on an interface.
#[derive(Debug)]
pub struct Attachment {
    link: OwnedFd,
    /// The interface.
    pub ifindex: u32,
    /// How.
    pub mode: Mode,
}

impl Programs {
    /// Attaches a program: as `mode` says, or without one in native mode where the driver has it, else in generic mode.
    ///
    /// # Errors
    /// The kernel refuses it.
    pub fn attach(&self, program: Program, ifindex: u32, mode: Option<Mode>) -> Result<Attachment, XdpError> {
        match mode {
            Some(mode) => self.attach_as(program, ifindex, mode),
            None => self.attach_as(program, ifindex, Mode::Native).or_else(|error| {
                let attachment = self.attach_as(program, ifindex, Mode::Generic)?;
                tracing::warn!(ifindex, %error, "XDP in generic mode, which is slower");
                Ok(attachment)
            }),
        }
    }

    fn attach_as(&self, program: Program, ifindex: u32, mode: Mode) -> Result<Attachment, XdpError> {
        let options = libbpf_rs::libbpf_sys::bpf_link_create_opts {
            sz: size_of::<libbpf_rs::libbpf_sys::bpf_link_create_opts>() as _,
            flags: mode.flags(),
            ..Default::default()
        };
        let program = self.fd(program).as_raw_fd();
        // SAFETY: the program's descriptor is open, and the options are as long as they say and outlive the call.
        let link = unsafe {
            libbpf_rs::libbpf_sys::bpf_link_create(program, ifindex as i32, libbpf_rs::libbpf_sys::BPF_XDP, &options)
        };
        if link < 0 {
            let error = io::Error::from_raw_os_error(-link);
            return Err(XdpError::Attach { interface: format!("interface {ifindex}"), mode: mode.name(), error });
        }
        // SAFETY: the kernel has just given this descriptor to us, and to nobody else.
        let link = unsafe { OwnedFd::from_raw_fd(link) };
        Ok(Attachment { link, ifindex, mode })
    }

    /// Puts a program of these in the place of the one that is attached, without a packet between them.
    ///
    /// # Errors
    /// The kernel refuses it; the one before stays.
    pub fn replace(&self, attachment: &Attachment, program: Program) -> Result<(), XdpError> {
        let fd = self.fd(program).as_raw_fd();
        // SAFETY: both descriptors are open; no options are given.
        let outcome =
            unsafe { libbpf_rs::libbpf_sys::bpf_link_update(attachment.link.as_raw_fd(), fd, std::ptr::null()) };
        if outcome < 0 {
            let error = io::Error::from_raw_os_error(-outcome);
            let interface = format!("interface {}", attachment.ifindex);
            return Err(XdpError::Attach { interface, mode: attachment.mode.name(), error });
        }
        Ok(())
    }
}
