//! Files of root that a process of another user will write.
use crate::User;
use nix::fcntl::{OFlag, open};
use nix::sys::stat::{Mode, SFlag, fchmod, fstat};
use nix::unistd::{Gid, Uid, fchown};
use std::fs::Metadata;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

/// A file or folder that a process of another user cannot write.
#[derive(Debug, thiserror::Error)]
pub enum HandoverError {
    /// The folder is another user's, or has other files than Martlet's, so its owner is not
    /// changed.
    #[error(
        "{} belongs to {} and is not writable for the core's user{}: run `chown {} {}`, or name a \
         folder of its own",
        .folder.display(), name_of(*.owner), others(.other.as_deref()), .user, .folder.display()
    )]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// Number of its user.
        owner: u32,
        /// Number of the core's user.
        user: u32,
        /// A file there that is not Martlet's.
        other: Option<PathBuf>,
    },
    /// The folder is in one that the core's user may not enter, such as the home of root.
    #[error(
        "{} is in {}, which the core's user may not enter: name another folder in state_dir, such \
         as /var/lib/martlet",
        .folder.display(), .closed.display()
    )]
    Closed {
        /// The folder.
        folder: PathBuf,
        /// The one around it.
        closed: PathBuf,
    },
    /// A file is another user's.
    #[error(
        "{} belongs to {}, and this process, which runs as user {}, may not write it: run `chown \
         {} {}`",
        .file.display(), name_of(*.owner), .user, .chown, .file.display()
    )]
    File {
        /// The file.
        file: PathBuf,
        /// Number of its user.
        owner: u32,
        /// Number of the user of the process.
        user: u32,
        /// Number of the user that it has to be given: the core's, which gives it to its functions.
        chown: u32,
    },
    /// The owner cannot be changed.
    #[error("the owner of {0} cannot be changed: {1}")]
    Owner(PathBuf, nix::Error),
}

/// A user by name and number.
fn name_of(uid: u32) -> String {
    match User::name_of(uid) {
        Some(name) => format!("user {name} ({uid})"),
        None => format!("user {uid}"),
    }
}

fn others(file: Option<&Path>) -> String {
    let named = |file: &Path| format!(", and has files of others, such as {}", file.display());
    file.map(named).unwrap_or_default()
}

/// What SQLite appends to the name of a database for the files beside it: the write-ahead log, its
/// index, and the rollback journal.
pub const JOURNALS: [&str; 3] = ["-wal", "-shm", "-journal"];

/// Gives the user the files of a database or log: `file`, and those beside it whose names begin
/// like its name up to the first dot. The folder is given, too, if it has no other files. Files of
/// the users `former` are given like those of root.
///
/// # Errors
/// The folder stays unwritable for the user, or is in one that the user may not enter.
pub fn hand_over(file: &Path, user: &User, former: &[u32]) -> Result<(), HandoverError> {
    let folder = folder_of(file);
    check_around(&folder, user)?;
    let (own, other) = beside(file);
    if !is_writable(&folder, user) {
        if other.is_some() {
            return Err(folder_error(folder, user, other));
        }
        give(&folder, user, SFlag::S_IFDIR, former, None)?;
        // That of another user is not given.
        if !is_writable(&folder, user) {
            return Err(folder_error(folder, user, None));
        }
    }
    own.iter().try_for_each(|file| give(file, user, SFlag::S_IFREG, former, None))
}

/// Gives a function that has a user of its own a file, and creates an empty one. `mode` is what the
/// user and its group may do. The group of the same number has no other members than those who may
/// read the file.
///
/// # Errors
/// The file cannot be created, or its owner cannot be changed.
pub fn own_file(file: &Path, user: &User, former: &[u32], mode: u32) -> Result<(), HandoverError> {
    let flags = OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_WRONLY | OFlag::O_CLOEXEC;
    match open(file, flags, Mode::from_bits_truncate(0o600)) {
        Ok(_) | Err(nix::Error::EEXIST) => {}
        Err(error) => return Err(HandoverError::Owner(file.into(), error)),
    }
    give(file, user, SFlag::S_IFREG, former, Some(Mode::from_bits_truncate(mode)))
}

/// Gives a function that has a user of its own its SQLite database with the journals. SQLite writes
/// the content of a journal into the database, so a journal of another function is removed. A
/// missing journal is created empty, so that no other function can create it.
///
/// # Errors
/// A file cannot be created, or its owner cannot be changed.
pub fn own_database(
    file: &Path,
    user: &User,
    core: &User,
    former: &[u32],
) -> Result<(), HandoverError> {
    const SHARED: u32 = 0o660;
    let owner = |path: &Path| std::fs::symlink_metadata(path).ok().map(|status| status.uid());
    let trusted = [Some(0), Some(user.uid), Some(core.uid), owner(file)];
    own_file(file, user, former, SHARED)?;
    for end in JOURNALS {
        let mut name = file.as_os_str().to_owned();
        name.push(end);
        let journal = Path::new(&name);
        let has_one = owner(journal);
        if has_one.is_some() && !trusted.contains(&has_one) {
            tracing::warn!(file = %journal.display(), user = has_one,
                "journal of another function removed");
            let _ = std::fs::remove_file(journal);
        }
        if end == "-journal" || journal.exists() {
            own_file(journal, user, former, SHARED)?;
        }
    }
    Ok(())
}

/// The user to whom root gives what it creates in a folder of another user: the folder's owner,
/// whose core could not open it otherwise. `None` for another user than root, in a folder of root,
/// and in one that the core's user can write: a core that starts as root takes root's files there.
pub fn owner_of_new_files(folder: &Path, core: Option<&User>) -> Option<User> {
    let status = std::fs::metadata(folder).ok()?;
    let owner = User { uid: status.uid(), gid: status.gid(), groups: Vec::new() };
    let is_taken = core.is_some_and(|core| core.uid != owner.uid && may(&status, core, 0o3));
    (crate::user::is_root() && owner.uid != 0 && !is_taken).then_some(owner)
}

/// Lets functions that have a user each create files in the folder of `file`. It becomes the
/// folder of the core's user, whose group all of them are in. As in `/tmp`, only the owner of a
/// file can remove it.
///
/// # Errors
/// The folder is of another user, or is root's and has files of others, and is not writable for
/// the core's user. Or it is in one that the core's group may not enter.
pub fn share_with_group(file: &Path, core: &User) -> Result<(), HandoverError> {
    let folder = folder_of(file);
    let member = User { uid: u32::MAX, ..core.clone() };
    check_around(&folder, &member)?;
    let failed = |error| HandoverError::Owner(folder.clone(), error);
    let flags = OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    let opened = open(&folder, flags, Mode::empty()).map_err(failed)?;
    let status = fstat(&opened).map_err(failed)?;
    if status.st_uid != core.uid {
        if is_writable(&folder, &member) {
            return Ok(());
        }
        let other = beside(file).1;
        if status.st_uid != 0 || other.is_some() {
            return Err(folder_error(folder, core, other));
        }
    }
    let (uid, gid) = (Uid::from_raw(core.uid), Gid::from_raw(core.gid));
    fchown(&opened, Some(uid), Some(gid)).map_err(failed)?;
    fchmod(&opened, Mode::from_bits_truncate(status.st_mode & 0o777 | 0o1070)).map_err(failed)
}

/// Checks that a user may enter the folders around one. A relative path begins at the working
/// folder, whatever is around that.
fn check_around(folder: &Path, user: &User) -> Result<(), HandoverError> {
    if folder.is_relative() {
        return Ok(());
    }
    let real = std::fs::canonicalize(folder).unwrap_or_else(|_| folder.to_path_buf());
    let is_closed =
        |around: &&Path| std::fs::metadata(around).is_ok_and(|status| !may(&status, user, 0o1));
    match real.ancestors().skip(1).find(is_closed) {
        Some(closed) => Err(HandoverError::Closed { folder: folder.into(), closed: closed.into() }),
        None => Ok(()),
    }
}

fn folder_error(folder: PathBuf, user: &User, other: Option<PathBuf>) -> HandoverError {
    let owner = std::fs::metadata(&folder).map_or(0, |status| status.uid());
    HandoverError::Folder { folder, owner, user: user.uid, other }
}

/// Whether a process of `user` can write a database or history and the journals beside it, once
/// files of root and of the users `former` are given. `core` is the core's user.
///
/// # Errors
/// A file is another user's.
pub fn check_files(
    file: &Path,
    user: &User,
    core: &User,
    former: &[u32],
) -> Result<(), HandoverError> {
    let mut all = vec![file.to_path_buf()];
    for end in JOURNALS {
        let mut name = file.as_os_str().to_owned();
        name.push(end);
        all.push(name.into());
    }
    for file in all {
        let Ok(status) = std::fs::metadata(&file) else { continue };
        let owner = status.uid();
        let is_given = [0, user.uid].contains(&owner) || former.contains(&owner);
        if !is_given && !may(&status, user, 0o6) {
            return Err(HandoverError::File { file, owner, user: user.uid, chown: core.uid });
        }
    }
    Ok(())
}

/// The folder of a file: `.` of a name alone.
pub fn folder_of(file: &Path) -> PathBuf {
    match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_path_buf(),
        _ => PathBuf::from("."),
    }
}

/// The files whose names begin like that of `file` up to the first dot, and one of the others in
/// the folder, if it has any.
fn beside(file: &Path) -> (Vec<PathBuf>, Option<PathBuf>) {
    let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let start = name.split('.').next().unwrap_or(name);
    let (mut own, mut other) = (Vec::new(), None);
    for entry in std::fs::read_dir(folder_of(file)).into_iter().flatten().flatten() {
        match entry.file_name().to_str() {
            Some(name) if name.starts_with(start) => own.push(entry.path()),
            _ => other = Some(entry.path()),
        }
    }
    (own, other)
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

/// Creates a folder that only root, and the group of the core's user if there is one, can enter
/// and write. Only the owner of a socket there can remove it.
///
/// # Errors
/// The folder cannot be created, or belongs to another user.
pub fn private_folder(folder: &Path, core: Option<&User>) -> Result<(), HandoverError> {
    let failed = |error| HandoverError::Owner(folder.into(), error);
    let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder);
    made.map_err(|error| failed(nix::Error::from_raw(error.raw_os_error().unwrap_or(0))))?;
    let flags = OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    let opened = open(folder, flags, Mode::empty()).map_err(failed)?;
    let owner = fstat(&opened).map_err(failed)?.st_uid;
    if owner != 0 && core.is_none_or(|core| core.uid != owner) {
        return Err(failed(nix::Error::EPERM));
    }
    let gid = core.map_or(0, |core| core.gid);
    fchown(&opened, None, Some(Gid::from_raw(gid))).map_err(failed)?;
    let mode = if core.is_some() { 0o1770 } else { 0o700 };
    fchmod(&opened, Mode::from_bits_truncate(mode)).map_err(failed)
}

/// Removes the socket of a process that was killed, which another user may have made.
pub fn remove_stale_socket(socket: &Path) {
    use std::io::ErrorKind::ConnectionRefused;
    let outcome = std::os::unix::net::UnixStream::connect(socket);
    if outcome.is_err_and(|error| error.kind() == ConnectionRefused) {
        let _ = std::fs::remove_file(socket);
    }
}

/// Gives the user one file of root or of the users `former`. With `mode`, its permissions are set,
/// too.
///
/// # Errors
/// Its owner cannot be changed.
pub fn give_file(
    file: &Path,
    user: &User,
    former: &[u32],
    mode: Option<u32>,
) -> Result<(), HandoverError> {
    give(file, user, SFlag::S_IFREG, former, mode.map(Mode::from_bits_truncate))
}

/// Changes the owner of a file or folder of root, or of one of the users `former`. A link is left
/// alone: a user who owns the folder may have put it there to get another file.
fn give(
    path: &Path,
    user: &User,
    kind: SFlag,
    former: &[u32],
    mode: Option<Mode>,
) -> Result<(), HandoverError> {
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
    let is_ours = [0, user.uid].contains(&status.st_uid) || former.contains(&status.st_uid);
    if !is_kind || !has_one_name || !is_ours {
        return Ok(());
    }
    let (uid, gid) = (Uid::from_raw(user.uid), Gid::from_raw(user.gid));
    fchown(&opened, Some(uid), Some(gid)).map_err(failed)?;
    mode.map_or(Ok(()), |mode| fchmod(&opened, mode).map_err(failed))
}

fn is_writable(folder: &Path, user: &User) -> bool {
    std::fs::metadata(folder).is_ok_and(|status| may(&status, user, 0o3))
}

/// Whether the permissions of a file have these bits for the user.
fn may(status: &Metadata, user: &User, wanted: u32) -> bool {
    let is_in_group = status.gid() == user.gid || user.groups.contains(&status.gid());
    let bits = match (status.uid() == user.uid, is_in_group) {
        (true, _) => status.mode() >> 6,
        (false, true) => status.mode() >> 3,
        (false, false) => status.mode(),
    };
    bits & wanted == wanted
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    /// A new folder of root, or none with a note if the user of the test is not root.
    fn folder_of_root(name: &str) -> Option<PathBuf> {
        if !crate::user::is_root() {
            eprintln!("SKIPPED: files are given to others by root only");
            return None;
        }
        let folder = std::env::temp_dir().join(format!("martlet-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        Some(folder)
    }

    #[test]
    fn files_of_the_database_are_given_and_links_and_others_are_not() {
        let Some(folder) = folder_of_root("handover") else { return };
        let user = User { uid: 54321, gid: 54321, groups: vec![] };
        let database = folder.join("martlet.db");
        for name in ["martlet.db", "martlet.db-wal", "martlet.amf.history"] {
            std::fs::write(folder.join(name), "x").unwrap();
        }
        let owner = |name: &str| std::fs::symlink_metadata(folder.join(name)).unwrap().uid();
        hand_over(&database, &user, &[]).unwrap();
        assert_eq!(
            ["martlet.db", "martlet.db-wal", "martlet.amf.history", "."].map(owner),
            [54321; 4]
        );

        // A user who owns the folder creates links to files of root.
        let secret = std::env::temp_dir().join(format!("martlet-secret-{}", std::process::id()));
        std::fs::write(&secret, "root's").unwrap();
        symlink(&secret, folder.join("martlet.link")).unwrap();
        std::fs::hard_link(&secret, folder.join("martlet.hard")).unwrap();
        hand_over(&database, &user, &[]).unwrap();
        assert_eq!(std::fs::metadata(&secret).unwrap().uid(), 0);
        std::fs::remove_dir_all(&folder).unwrap();
        std::fs::remove_file(&secret).unwrap();

        // A folder of sockets is root's, and open to the user.
        let sockets = folder.join("sbi");
        private_folder(&sockets, Some(&user)).unwrap();
        let status = std::fs::metadata(&sockets).unwrap();
        let ids = (status.uid(), status.gid());
        assert_eq!((ids, status.mode() & 0o7777), ((0, user.gid), 0o1770));
        private_folder(&sockets, None).unwrap();
        assert_eq!(std::fs::metadata(&sockets).unwrap().mode() & 0o7777, 0o700);

        // A folder with files of others keeps its owner.
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("other"), "x").unwrap();
        let error = hand_over(&database, &user, &[]).unwrap_err().to_string();
        for part in [
            &format!("{} belongs to user root (0)", folder.display()),
            &format!("such as {}", folder.join("other").display()),
            &format!("run `chown 54321 {}`", folder.display()),
        ] {
            assert!(error.contains(part), "{part}: {error}");
        }
        assert_eq!(owner("."), 0);
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_folder_that_the_user_cannot_use_is_reported_and_stays_as_it_is() {
        let Some(folder) = folder_of_root("closed") else { return };
        let user = User { uid: 54321, gid: 54321, groups: vec![] };
        let owner = |path: &Path| std::fs::metadata(path).unwrap().uid();
        let set = |path: &Path, mode| {
            let mode = std::os::unix::fs::PermissionsExt::from_mode(mode);
            std::fs::set_permissions(path, mode).unwrap();
        };
        set(&folder, 0o755);
        // That of a user who starts the core as root, with files of Martlet alone.
        let own = folder.join("own");
        std::fs::create_dir(&own).unwrap();
        std::fs::write(own.join("martlet.yaml"), "").unwrap();
        std::os::unix::fs::chown(&own, Some(54323), Some(54323)).unwrap();
        let error = hand_over(&own.join("martlet.db"), &user, &[]).unwrap_err();
        assert!(matches!(error, HandoverError::Folder { owner: 54323, .. }), "{error}");
        assert_eq!(owner(&own), 54323);

        // One in the home of root.
        let home = folder.join("home");
        let inside = home.join("core");
        std::fs::create_dir_all(&inside).unwrap();
        set(&home, 0o700);
        let database = inside.join("martlet.db");
        for error in [hand_over(&database, &user, &[]), share_with_group(&database, &user)] {
            let error = error.unwrap_err().to_string();
            let part = format!("{} is in {}", inside.display(), home.display());
            assert!(error.contains(&part) && error.contains("state_dir"), "{error}");
        }
        assert_eq!(owner(&inside), 0);
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn new_files_are_for_the_owner_of_the_folder_unless_the_core_takes_them() {
        let Some(folder) = folder_of_root("new-files") else { return };
        let core = User { uid: 54321, gid: 54321, groups: vec![] };
        let owner = |core| owner_of_new_files(&folder, core).map(|user| (user.uid, user.gid));
        let set = |mode, user| {
            let mode = std::os::unix::fs::PermissionsExt::from_mode(mode);
            std::fs::set_permissions(&folder, mode).unwrap();
            std::os::unix::fs::chown(&folder, Some(user), Some(user)).unwrap();
        };
        set(0o755, 0);
        assert_eq!((owner(None), owner(Some(&core))), (None, None));
        set(0o700, 54321);
        assert_eq!(owner(Some(&core)), Some((54321, 54321)));
        set(0o755, 54322);
        assert_eq!((owner(None), owner(Some(&core))), (Some((54322, 54322)), Some((54322, 54322))));
        // The start of the core takes root's files here, and no others.
        set(0o777, 54322);
        assert_eq!((owner(None), owner(Some(&core))), (Some((54322, 54322)), None));
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_file_of_another_user_is_reported_with_its_owner_and_the_command() {
        let Some(folder) = folder_of_root("foreign") else { return };
        let user = |id| User { uid: id, gid: id, groups: vec![54321] };
        let (core, amf, former) = (user(54321), user(54322), [54321, 54322]);
        let database = folder.join("martlet.amf.db");
        let journal = folder.join("martlet.amf.db-wal");
        let check = || check_files(&database, &amf, &core, &former);
        check().unwrap();
        for file in [&database, &journal] {
            std::fs::write(file, "x").unwrap();
            check().unwrap();
            std::os::unix::fs::chown(file, Some(54323), Some(54323)).unwrap();
            let error = check().unwrap_err().to_string();
            let expected = format!(
                "{0} belongs to user 54323, and this process, which runs as user 54322, may not \
                 write it: run `chown 54321 {0}`",
                file.display()
            );
            assert_eq!(error, expected);
            // The group of the core may write it.
            std::os::unix::fs::chown(file, None, Some(54321)).unwrap();
            let shared = std::os::unix::fs::PermissionsExt::from_mode(0o660);
            std::fs::set_permissions(file, shared).unwrap();
            check().unwrap();
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn functions_with_a_user_each_share_the_folder_and_not_their_files() {
        let Some(folder) = folder_of_root("own") else { return };
        let user = |id| User { uid: id, gid: id, groups: vec![] };
        let (core, amf) = (user(54321), user(54322));
        let of = |name: &str| {
            let status = std::fs::symlink_metadata(folder.join(name)).unwrap();
            (status.uid(), status.gid(), status.mode() & 0o7777)
        };
        let database = folder.join("martlet.amf.db");
        std::fs::write(folder.join("martlet.db"), "x").unwrap();
        std::fs::write(folder.join("martlet.amf.db-wal"), "x").unwrap();
        share_with_group(&database, &core).unwrap();
        // Another function has put a journal there, which SQLite would write into the database.
        std::fs::write(folder.join("martlet.amf.db-journal"), "x").unwrap();
        std::os::unix::fs::chown(folder.join("martlet.amf.db-journal"), Some(54323), None).unwrap();
        own_database(&database, &amf, &core, &[54323]).unwrap();
        assert_eq!(of("martlet.amf.db-journal"), (54322, 54322, 0o660));
        assert_eq!(std::fs::metadata(folder.join("martlet.amf.db-journal")).unwrap().len(), 0);
        assert_eq!(std::fs::metadata(folder.join("martlet.amf.db-wal")).unwrap().len(), 1);
        let group = std::fs::metadata(&folder).unwrap().mode() & 0o7;
        assert_eq!(of("."), (54321, 54321, 0o1770 | group));
        assert_eq!(of("martlet.amf.db"), (54322, 54322, 0o660));
        assert_eq!(of("martlet.amf.db-wal"), (54322, 54322, 0o660));
        assert_eq!(of("martlet.db").0, 0, "the file of another function");

        // Back to one user for all: files of the former users are given, and no others.
        std::fs::write(folder.join("martlet.other"), "x").unwrap();
        std::os::unix::fs::chown(folder.join("martlet.other"), Some(54323), None).unwrap();
        hand_over(&folder.join("martlet.db"), &core, &[54322]).unwrap();
        let owners = ["martlet.db", "martlet.amf.db", "martlet.other"].map(|name| of(name).0);
        assert_eq!(owners, [54321, 54321, 54323]);

        // A folder of root with files of others belongs to root afterwards, too.
        std::os::unix::fs::chown(&folder, Some(0), Some(0)).unwrap();
        std::fs::set_permissions(&folder, std::os::unix::fs::PermissionsExt::from_mode(0o755))
            .unwrap();
        std::fs::write(folder.join("other"), "x").unwrap();
        let error = share_with_group(&database, &core).unwrap_err();
        assert!(matches!(error, HandoverError::Folder { .. }), "{error}");
        assert_eq!(of("."), (0, 0, 0o755));
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
