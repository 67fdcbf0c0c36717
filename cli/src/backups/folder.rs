//! A folder that is held open. All operations are on this folder, even if a user renames it
//! meanwhile and creates another one, or a link, of the same name.
use super::BackupError;
use nix::errno::Errno;
use nix::fcntl::{AtFlags, FcntlArg, OFlag, fcntl, open, openat, renameat};
use nix::sys::stat::{FileStat, Mode, SFlag, fchmod, fstat, fstatat, mkdirat};
use nix::unistd::{Gid, Uid, UnlinkatFlags, fchown, fsync, geteuid, unlinkat};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

/// Maximum length of a file with JSON in bytes.
const MAX_JSON: u64 = 1 << 20;
/// Where SQLite locks a file: the pending, the reserved and the shared bytes. A connection to a
/// database with a write-ahead log holds a shared lock until it is closed.
const SQLITE_LOCKS: (i64, i64) = (0x4000_0000, 512);

/// An open folder.
pub struct Folder {
    opened: OwnedFd,
    path: PathBuf,
    /// Users whose files are trusted.
    owners: Vec<u32>,
}

impl Folder {
    /// Opens a folder that the configuration names. Files in it may be of any user.
    pub fn open(path: &Path, owners: &[u32]) -> Result<Self, BackupError> {
        let flags = OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
        let opened = open(path, flags, Mode::empty());
        let opened = opened.map_err(|error| BackupError::io(path, error))?;
        Ok(Folder { opened, path: path.into(), owners: owners.into() })
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The path of a file in it.
    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    fn failed(&self, name: &str) -> impl Fn(Errno) -> BackupError + use<> {
        let path = self.file(name);
        move |error| BackupError::io(&path, error)
    }

    fn untrusted(&self, name: &str, reason: &'static str) -> BackupError {
        BackupError::Untrusted { path: self.file(name), reason }
    }

    /// Opens a folder in this one that a trusted user owns, and that no other user can write.
    /// `None` if it does not exist.
    pub fn subfolder(&self, name: &str) -> Result<Option<Self>, BackupError> {
        let flags = OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        let opened = match openat(&self.opened, name, flags, Mode::empty()) {
            Ok(opened) => opened,
            Err(Errno::ENOENT) => return Ok(None),
            Err(Errno::ENOTDIR | Errno::ELOOP) => {
                return Err(self.untrusted(name, "it is no folder"));
            }
            Err(error) => return Err(self.failed(name)(error)),
        };
        let status = fstat(&opened).map_err(self.failed(name))?;
        if !self.owners.contains(&status.st_uid) {
            return Err(self.untrusted(name, "it belongs to another user"));
        }
        if status.st_mode & 0o022 != 0 {
            return Err(self.untrusted(name, "other users can write it"));
        }
        Ok(Some(Folder { opened, path: self.file(name), owners: self.owners.clone() }))
    }

    /// Opens a folder in this one, and creates it for its owner only.
    pub fn created(&self, name: &str) -> Result<Self, BackupError> {
        match mkdirat(&self.opened, name, Mode::from_bits_truncate(0o700)) {
            Ok(()) => {
                let flags = OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
                let opened = openat(&self.opened, name, flags, Mode::empty());
                self.give(&opened.map_err(self.failed(name))?, None).map_err(self.failed(name))?;
            }
            Err(Errno::EEXIST) => {}
            Err(error) => return Err(self.failed(name)(error)),
        }
        let folder = self.subfolder(name)?;
        folder.ok_or_else(|| self.failed(name)(Errno::ENOENT))
    }

    /// Gives what root has created to the owner of this folder, or to that of `like`.
    fn give(&self, opened: &OwnedFd, like: Option<&FileStat>) -> nix::Result<()> {
        if !geteuid().is_root() {
            return Ok(());
        }
        let own = fstat(&self.opened)?;
        let (uid, gid) = like.map_or((own.st_uid, own.st_gid), |like| (like.st_uid, like.st_gid));
        fchown(opened, Some(Uid::from_raw(uid)), Some(Gid::from_raw(gid)))?;
        let Some(like) = like else { return Ok(()) };
        fchmod(opened, Mode::from_bits_truncate(like.st_mode & 0o660))
    }

    /// Gives a file here the owner and the permissions that another one had, or the owner of this
    /// folder.
    pub fn give_like(&self, name: &str, like: Option<&FileStat>) -> Result<(), BackupError> {
        let opened = self.open_file(name)?;
        self.give(&opened, like).map_err(self.failed(name))
    }

    /// The status of a file, not of what a link names. `None` if it does not exist.
    pub fn status(&self, name: &str) -> Result<Option<FileStat>, BackupError> {
        match fstatat(&self.opened, name, AtFlags::AT_SYMLINK_NOFOLLOW) {
            Ok(status) => Ok(Some(status)),
            Err(Errno::ENOENT) => Ok(None),
            Err(error) => Err(self.failed(name)(error)),
        }
    }

    /// Opens a file for reading that is no link and has one name.
    fn open_file(&self, name: &str) -> Result<OwnedFd, BackupError> {
        let flags = OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC | OFlag::O_NONBLOCK;
        let opened = match openat(&self.opened, name, flags, Mode::empty()) {
            Ok(opened) => opened,
            Err(Errno::ELOOP) => return Err(self.untrusted(name, "it is a link")),
            Err(error) => return Err(self.failed(name)(error)),
        };
        let status = fstat(&opened).map_err(self.failed(name))?;
        let kind = SFlag::from_bits_truncate(status.st_mode) & SFlag::S_IFMT;
        if kind != SFlag::S_IFREG || status.st_nlink != 1 {
            return Err(self.untrusted(name, "it is no file, or has several names"));
        }
        Ok(opened)
    }

    /// Checks that a file is no link, has one name, and is of a trusted user. Returns its length.
    pub fn check(&self, name: &str) -> Result<u64, BackupError> {
        let status = fstat(&self.open_file(name)?).map_err(self.failed(name))?;
        if !self.owners.contains(&status.st_uid) {
            return Err(self.untrusted(name, "it belongs to another user"));
        }
        Ok(u64::try_from(status.st_size).unwrap_or(0))
    }

    /// Whether another process has locked a database of SQLite, as one does that uses it.
    pub fn is_in_use(&self, name: &str) -> Result<bool, BackupError> {
        if self.status(name)?.is_none() {
            return Ok(false);
        }
        let opened = self.open_file(name)?;
        let (start, length) = SQLITE_LOCKS;
        let mut lock = libc::flock {
            l_type: libc::F_WRLCK as libc::c_short,
            l_whence: libc::SEEK_SET as libc::c_short,
            l_start: start,
            l_len: length,
            l_pid: 0,
        };
        let asked = fcntl(&opened, FcntlArg::F_OFD_GETLK(&mut lock));
        asked.map_err(self.failed(name))?;
        Ok(lock.l_type != libc::F_UNLCK as libc::c_short)
    }

    /// The names in it that begin so.
    pub fn names(&self, beginning: &str) -> Result<Vec<String>, BackupError> {
        let entries = std::fs::read_dir(&self.path);
        let entries = entries.map_err(|error| BackupError::io(&self.path, error))?;
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        Ok(names.filter(|name| name.starts_with(beginning)).collect())
    }

    /// Reads JSON. `None` if there is no such file.
    pub fn read_json<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>, BackupError> {
        if self.status(name)?.is_none() {
            return Ok(None);
        }
        self.check(name)?;
        let mut text = String::new();
        let file = File::from(self.open_file(name)?);
        let read = file.take(MAX_JSON).read_to_string(&mut text);
        read.map_err(|error| BackupError::io(&self.file(name), error))?;
        let value = serde_json::from_str(&text);
        value.map(Some).map_err(|error| BackupError::Unreadable {
            path: self.file(name),
            reason: error.to_string(),
        })
    }

    /// Writes JSON that only the owner of the folder can read. The file has the old value or the
    /// new one at any time.
    pub fn write_json(&self, name: &str, value: &impl Serialize) -> Result<(), BackupError> {
        let failed = |error: std::io::Error| BackupError::io(&self.file(name), error);
        let text = serde_json::to_vec_pretty(value).map_err(|error| failed(error.into()))?;
        let draft = format!("{name}.draft");
        self.remove(&draft)?;
        let mut file = self.new_file(&draft)?;
        file.write_all(&text).and_then(|()| file.sync_all()).map_err(failed)?;
        self.rename(&draft, self, name)?;
        self.sync()
    }

    /// Creates a file that only the owner of the folder can read.
    pub fn new_file(&self, name: &str) -> Result<File, BackupError> {
        let flags =
            OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_WRONLY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        let opened = openat(&self.opened, name, flags, Mode::from_bits_truncate(0o600));
        let opened = opened.map_err(self.failed(name))?;
        self.give(&opened, None).map_err(self.failed(name))?;
        Ok(File::from(opened))
    }

    fn rename(&self, name: &str, to: &Folder, as_name: &str) -> Result<(), BackupError> {
        renameat(&self.opened, name, &to.opened, as_name).map_err(self.failed(name))
    }

    /// Moves a file into a folder, also of another file system. The destination has all of it or
    /// nothing at any time.
    pub fn move_to(&self, name: &str, to: &Folder, as_name: &str) -> Result<(), BackupError> {
        match renameat(&self.opened, name, &to.opened, as_name) {
            Err(Errno::EXDEV) => {}
            outcome => return outcome.map_err(self.failed(name)),
        }
        let part = format!("{as_name}.part");
        to.remove(&part)?;
        let mut source = File::from(self.open_file(name)?);
        let mut target = to.new_file(&part)?;
        let copied = std::io::copy(&mut source, &mut target).and_then(|_| target.sync_all());
        copied.map_err(|error| BackupError::io(&to.file(as_name), error))?;
        to.rename(&part, to, as_name)?;
        to.sync()?;
        self.remove(name)
    }

    /// Removes a file, if it exists.
    pub fn remove(&self, name: &str) -> Result<(), BackupError> {
        match unlinkat(&self.opened, name, UnlinkatFlags::NoRemoveDir) {
            Ok(()) | Err(Errno::ENOENT) => Ok(()),
            Err(error) => Err(self.failed(name)(error)),
        }
    }

    /// Removes a folder in this one with these files, if it exists. One with other files stays.
    pub fn remove_folder(&self, name: &str, files: &[&str]) -> Result<(), BackupError> {
        let Some(folder) = self.subfolder(name)? else { return Ok(()) };
        files.iter().try_for_each(|file| folder.remove(file))?;
        match unlinkat(&self.opened, name, UnlinkatFlags::RemoveDir) {
            Ok(()) | Err(Errno::ENOENT) => Ok(()),
            Err(error) => Err(self.failed(name)(error)),
        }
    }

    /// Writes the names of its files to the disk.
    pub fn sync(&self) -> Result<(), BackupError> {
        fsync(self.opened.as_fd()).map_err(self.failed(""))
    }
}
