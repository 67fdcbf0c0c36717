//! Attachment of programs to interfaces. Programs detach with the process, unless pinned: then the
//! next process takes them over.
use crate::loader::XdpError;
use crate::loader::pin::{self, Pins};
use crate::loader::{Program, Programs};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::PathBuf;

/// How a program is attached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// In the driver, before the kernel allocates an skb.
    Native,
    /// In the network stack, with any driver.
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
    /// Where it is pinned.
    pin: Option<PathBuf>,
    /// The program still belongs to an earlier process; see [`Programs::replace`].
    pub of_before: bool,
}

impl Drop for Attachment {
    fn drop(&mut self) {
        if let Some(path) = &self.pin
            && let Err(error) = std::fs::remove_file(path)
        {
            tracing::warn!(path = %path.display(), %error, "XDP program not detached");
        }
    }
}

impl Programs {
    /// Attaches a program in the given mode; without one in native mode if the driver supports it,
    /// else in generic mode.
    ///
    /// # Errors
    /// The kernel refuses it.
    pub fn attach(
        &self,
        program: Program,
        ifindex: u32,
        mode: Option<Mode>,
    ) -> Result<Attachment, XdpError> {
        match mode {
            Some(mode) => self.attach_as(program, ifindex, mode),
            None => self.attach_as(program, ifindex, Mode::Native).or_else(|error| {
                let attachment = self.attach_as(program, ifindex, Mode::Generic)?;
                tracing::warn!(ifindex, %error, "XDP attached in generic mode, which is slower");
                Ok(attachment)
            }),
        }
    }

    /// As [`attach`](Self::attach), but pinned, so that the program survives the process. A program
    /// of an earlier process remains until [`replace`](Self::replace), which replaces it
    /// atomically.
    ///
    /// # Errors
    /// The kernel refuses it.
    pub fn attach_pinned(
        &self,
        program: Program,
        (name, ifindex): (&str, u32),
        mode: Option<Mode>,
        pins: &Pins,
    ) -> Result<Attachment, XdpError> {
        if let Some(link) = pins.left(name, ifindex) {
            let is = if pin::is_generic(ifindex) { Mode::Generic } else { Mode::Native };
            if mode.is_none_or(|mode| mode == is) {
                tracing::info!(
                    interface = name,
                    mode = is.name(),
                    "XDP program of an earlier process taken over"
                );
                return Ok(Attachment {
                    link,
                    ifindex,
                    mode: is,
                    pin: Some(pins.path(name)),
                    of_before: true,
                });
            }
            // Another mode is requested: the kernel allows one program at a time.
            let _ = std::fs::remove_file(pins.path(name));
        }
        let mut attachment = self.attach(program, ifindex, mode)?;
        attachment.pin = Some(pins.keep(name, &attachment.link)?);
        Ok(attachment)
    }

    fn attach_as(
        &self,
        program: Program,
        ifindex: u32,
        mode: Mode,
    ) -> Result<Attachment, XdpError> {
        let options = libbpf_rs::libbpf_sys::bpf_link_create_opts {
            sz: size_of::<libbpf_rs::libbpf_sys::bpf_link_create_opts>() as _,
            flags: mode.flags(),
            ..Default::default()
        };
        let program = self.fd(program)?;
        // SAFETY: the program's descriptor is open, and the options have their stated length and
        // outlive the call.
        let link = unsafe {
            libbpf_rs::libbpf_sys::bpf_link_create(
                program.as_raw_fd(),
                ifindex as i32,
                libbpf_rs::libbpf_sys::BPF_XDP,
                &options,
            )
        };
        if link < 0 {
            let error = io::Error::from_raw_os_error(-link);
            return Err(XdpError::Attach {
                interface: format!("interface {ifindex}"),
                mode: mode.name(),
                error,
            });
        }
        // SAFETY: the kernel has just returned this descriptor, which has no other owner.
        let link = unsafe { OwnedFd::from_raw_fd(link) };
        Ok(Attachment { link, ifindex, mode, pin: None, of_before: false })
    }

    /// Atomically replaces the attached program by one of these.
    ///
    /// # Errors
    /// If the kernel rejects it, the previous one remains.
    pub fn replace(&self, attachment: &Attachment, program: Program) -> Result<(), XdpError> {
        let program = self.fd(program)?;
        // SAFETY: both descriptors are open; no options are given.
        let outcome = unsafe {
            libbpf_rs::libbpf_sys::bpf_link_update(
                attachment.link.as_raw_fd(),
                program.as_raw_fd(),
                std::ptr::null(),
            )
        };
        if outcome < 0 {
            let error = io::Error::from_raw_os_error(-outcome);
            let interface = format!("interface {}", attachment.ifindex);
            return Err(XdpError::Attach { interface, mode: attachment.mode.name(), error });
        }
        Ok(())
    }
}
