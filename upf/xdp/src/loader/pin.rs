//! Pinned programs: their links are in a directory of the BPF file system, named after the
//! interfaces.
use crate::loader::XdpError;
use libbpf_rs::libbpf_sys as sys;
use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// `f_type` of a BPF file system.
const BPF_FS: i64 = 0xcafe_4a11;

/// A folder of the BPF file system.
#[derive(Debug, Clone)]
pub struct Pins {
    folder: PathBuf,
}

fn c_path(path: &Path) -> Result<CString, io::Error> {
    CString::new(path.as_os_str().as_bytes()).map_err(io::Error::other)
}

fn outcome(code: i32) -> Result<i32, io::Error> {
    if code < 0 { Err(io::Error::from_raw_os_error(-code)) } else { Ok(code) }
}

impl Pins {
    /// A folder, which is created if missing. It must be on a BPF file system, such as the one
    /// mounted at `/sys/fs/bpf`.
    ///
    /// # Errors
    /// It cannot be created, or is on another file system.
    pub fn open(folder: &Path) -> Result<Pins, XdpError> {
        let failed = |error| XdpError::Pin { path: folder.display().to_string(), error };
        std::fs::create_dir_all(folder).map_err(failed)?;
        let path = c_path(folder).map_err(failed)?;
        // SAFETY: the struct is plain data for which all zeroes is a value.
        let mut stat: libc::statfs = unsafe { std::mem::zeroed() };
        // SAFETY: the path ends with a 0, and the struct outlives the call.
        if unsafe { libc::statfs(path.as_ptr(), &mut stat) } != 0 {
            return Err(failed(io::Error::last_os_error()));
        }
        if stat.f_type as i64 & 0xffff_ffff != BPF_FS {
            return Err(failed(io::Error::other("it is not on a BPF file system")));
        }
        Ok(Pins { folder: folder.to_path_buf() })
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// The names of all pinned links.
    pub fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.folder).into_iter().flatten().flatten();
        entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
    }

    /// Detaches programs from interfaces that are not among these.
    pub fn keep_only(&self, names: &[&str]) {
        for name in self.names().iter().filter(|name| !names.contains(&name.as_str())) {
            match std::fs::remove_file(self.path(name)) {
                Ok(()) => tracing::info!(
                    interface = name,
                    "pinned program of an earlier process detached"
                ),
                Err(error) => {
                    tracing::warn!(
                        interface = name, %error,
                        "pinned program of an earlier process not detached"
                    )
                }
            }
        }
    }

    /// The link that an earlier process left on an interface. A link to another interface is
    /// removed.
    pub(crate) fn left(&self, name: &str, ifindex: u32) -> Option<OwnedFd> {
        let path = self.path(name);
        let text = c_path(&path).ok()?;
        // SAFETY: the path ends with a 0.
        let fd = unsafe { sys::bpf_obj_get(text.as_ptr()) };
        if fd < 0 {
            return None;
        }
        // SAFETY: the kernel has just returned this descriptor, which has no other owner.
        let link = unsafe { OwnedFd::from_raw_fd(fd) };
        if link_ifindex(&link) == Some(ifindex) {
            return Some(link);
        }
        let _ = std::fs::remove_file(path);
        None
    }

    pub(crate) fn keep(&self, name: &str, link: &OwnedFd) -> Result<PathBuf, XdpError> {
        let path = self.path(name);
        let _ = std::fs::remove_file(&path);
        let failed = |error| XdpError::Pin { path: path.display().to_string(), error };
        let text = c_path(&path).map_err(failed)?;
        // SAFETY: the path ends with a 0, and the descriptor is open.
        outcome(unsafe { sys::bpf_obj_pin(link.as_raw_fd(), text.as_ptr()) }).map_err(failed)?;
        Ok(path)
    }
}

/// The interface of a link for XDP.
fn link_ifindex(link: &OwnedFd) -> Option<u32> {
    let mut info = sys::bpf_link_info::default();
    let mut length = size_of::<sys::bpf_link_info>() as u32;
    // SAFETY: the descriptor is open, and the struct has its stated length and outlives the call.
    let result = unsafe {
        sys::bpf_obj_get_info_by_fd(link.as_raw_fd(), (&raw mut info).cast(), &mut length)
    };
    if result != 0 || info.type_ != sys::BPF_LINK_TYPE_XDP {
        return None;
    }
    // SAFETY: links of this type have this member of the union.
    Some(unsafe { info.__bindgen_anon_1.xdp.ifindex })
}

/// Whether the program on an interface is a generic one.
pub(crate) fn is_generic(ifindex: u32) -> bool {
    let mut options = sys::bpf_xdp_query_opts {
        sz: size_of::<sys::bpf_xdp_query_opts>() as _,
        ..Default::default()
    };
    // SAFETY: the options have their stated length and outlive the call.
    let result = unsafe { sys::bpf_xdp_query(ifindex as i32, 0, &mut options) };
    result == 0 && u32::from(options.attach_mode) == sys::XDP_ATTACHED_SKB
}
