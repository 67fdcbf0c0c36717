//! Files of root that a process of another user will write.
use crate::User;
use nix::fcntl::{OFlag, open};
use nix::sys::stat::{Mode, SFlag, fchmod, fstat};
use nix::unistd::{Gid, Uid, fchown};
use std::os::fd::OwnedFd;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// A folder that the user of the core cannot write.
#[derive(Debug, thiserror::Error)]
pub enum HandoverError {
    /// The folder has other files than Martlet's, so its owner is not changed.
    #[error(
        "{0} is not writable for the core's user, and has files of others: give it to the user \
         with chown, or name a folder of its own"
    )]
    Folder(PathBuf),
    /// The owner cannot be changed.
    #[error("the owner of {0} cannot be changed: {1}")]
    Owner(PathBuf, nix::Error),
}

/// Gives the user the files of a database or log: `file`, and those beside it whose names begin
/// with its name without extension. The folder is given, too, if it has no other files.
///
/// # Errors
/// The folder stays unwritable for the user.
pub fn hand_over(file: &Path, user: &User) -> Result<(), HandoverError> {
    let folder = match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_path_buf(),
        _ => PathBuf::from("."),
    };
    let Some(stem) = file.file_stem().and_then(|stem| stem.to_str()) else { return Ok(()) };
    let (mut own, mut has_others) = (Vec::new(), false);
    for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
        match entry.file_name().to_str() {
            Some(name) if name.starts_with(stem) => own.push(entry.path()),
            _ => has_others = true,
        }
    }
    if !is_writable(&folder, user) {
        if has_others {
            return Err(HandoverError::Folder(folder));
        }
        give(&folder, user, SFlag::S_IFDIR)?;
    }
    own.iter().try_for_each(|file| give(file, user, SFlag::S_IFREG))
}

/// Lets the user create files in a folder of root, and creates the folder. As in `/tmp`, only
/// the owner of a file can remove it, so that the user cannot replace root's.
///
/// # Errors
/// The folder cannot be created or changed.
pub fn share_folder(folder: &Path, user: &User) -> Result<(), HandoverError> {
    let failed = |error| HandoverError::Owner(folder.into(), error);
    if !folder.exists() {
        let made = std::fs::create_dir_all(folder);
        made.map_err(|error| failed(nix::Error::from_raw(error.raw_os_error().unwrap_or(0))))?;
    }
    let flags = OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    let opened = open(folder, flags, Mode::empty()).map_err(failed)?;
    if fstat(&opened).map_err(failed)?.st_uid != 0 {
        return Ok(());
    }
    fchown(&opened, None, Some(Gid::from_raw(user.gid))).map_err(failed)?;
    fchmod(&opened, Mode::from_bits_truncate(0o1775)).map_err(failed)
}

/// Creates a folder that only root, and the user if there is one, can enter and write.
///
/// # Errors
/// The folder cannot be created, or belongs to another user.
pub fn private_folder(folder: &Path, user: Option<&User>) -> Result<(), HandoverError> {
    let failed = |error| HandoverError::Owner(folder.into(), error);
    let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder);
    made.map_err(|error| failed(nix::Error::from_raw(error.raw_os_error().unwrap_or(0))))?;
    let flags = OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    let opened = open(folder, flags, Mode::empty()).map_err(failed)?;
    match fstat(&opened).map_err(failed)?.st_uid {
        0 => {}
        owner if user.is_some_and(|user| user.uid == owner) => return Ok(()),
        _ => return Err(failed(nix::Error::EPERM)),
    }
    let gid = user.map_or(0, |user| user.gid);
    fchown(&opened, None, Some(Gid::from_raw(gid))).map_err(failed)?;
    let mode = if user.is_some() { 0o770 } else { 0o700 };
    fchmod(&opened, Mode::from_bits_truncate(mode)).map_err(failed)
}

/// Gives the user one file of root.
///
/// # Errors
/// Its owner cannot be changed.
pub fn give_file(file: &Path, user: &User) -> Result<(), HandoverError> {
    give(file, user, SFlag::S_IFREG)
}

/// Changes the owner of a file or folder of root. A link is left alone: a user who owns the folder
/// may have put it there to get another file.
fn give(path: &Path, user: &User, kind: SFlag) -> Result<(), HandoverError> {
    let failed = |error| HandoverError::Owner(path.into(), error);
    let flags = OFlag::O_RDONLY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC | OFlag::O_NONBLOCK;
    let opened: OwnedFd = match open(path, flags, Mode::empty()) {
        Ok(opened) => opened,
        Err(nix::Error::ELOOP | nix::Error::ENOENT) => return Ok(()),
        Err(error) => return Err(failed(error)),
    };
    let status = fstat(&opened).map_err(failed)?;
    let is_kind = SFlag::from_bits_truncate(status.st_mode) & SFlag::S_IFMT == kind;
    let has_one_name = kind == SFlag::S_IFDIR || status.st_nlink == 1;
    if !is_kind || !has_one_name || status.st_uid != 0 {
        return Ok(());
    }
    let (uid, gid) = (Uid::from_raw(user.uid), Gid::from_raw(user.gid));
    fchown(&opened, Some(uid), Some(gid)).map_err(failed)
}

fn is_writable(folder: &Path, user: &User) -> bool {
    use std::os::unix::fs::MetadataExt;
    let Ok(status) = std::fs::metadata(folder) else { return false };
    let bits = match (status.uid() == user.uid, status.gid() == user.gid) {
        (true, _) => status.mode() >> 6,
        (false, true) => status.mode() >> 3,
        (false, false) => status.mode(),
    };
    bits & 0o3 == 0o3
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{MetadataExt, symlink};

    #[test]
    fn files_of_the_database_are_given_and_links_and_others_are_not() {
        if !crate::user::is_root() {
            return eprintln!("SKIPPED: files are given to others by root only");
        }
        let folder = std::env::temp_dir().join(format!("martlet-handover-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let user = User { uid: 54321, gid: 54321 };
        let database = folder.join("martlet.db");
        for name in ["martlet.db", "martlet.db-wal", "martlet.amf.history"] {
            std::fs::write(folder.join(name), "x").unwrap();
        }
        let owner = |name: &str| std::fs::symlink_metadata(folder.join(name)).unwrap().uid();
        hand_over(&database, &user).unwrap();
        assert_eq!(
            ["martlet.db", "martlet.db-wal", "martlet.amf.history", "."].map(owner),
            [54321; 4]
        );

        // A user who owns the folder plants links to files of root.
        let secret = std::env::temp_dir().join(format!("martlet-secret-{}", std::process::id()));
        std::fs::write(&secret, "root's").unwrap();
        symlink(&secret, folder.join("martlet.link")).unwrap();
        std::fs::hard_link(&secret, folder.join("martlet.hard")).unwrap();
        hand_over(&database, &user).unwrap();
        assert_eq!(std::fs::metadata(&secret).unwrap().uid(), 0);
        std::fs::remove_dir_all(&folder).unwrap();
        std::fs::remove_file(&secret).unwrap();

        // A folder of sockets is root's, and open to the user.
        let sockets = folder.join("sbi");
        private_folder(&sockets, Some(&user)).unwrap();
        let status = std::fs::metadata(&sockets).unwrap();
        let ids = (status.uid(), status.gid());
        assert_eq!((ids, status.mode() & 0o7777), ((0, user.gid), 0o770));
        private_folder(&sockets, None).unwrap();
        assert_eq!(std::fs::metadata(&sockets).unwrap().mode() & 0o7777, 0o700);

        // A folder with files of others keeps its owner.
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("other"), "x").unwrap();
        let error = hand_over(&database, &user).unwrap_err();
        assert!(matches!(error, HandoverError::Folder(_)), "{error}");
        assert_eq!(owner("."), 0);
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
