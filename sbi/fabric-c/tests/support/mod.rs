//! What tests of other languages share: the library as it is installed, and a manager.
#![allow(dead_code)]

use martlet_sbi_fabric::{Manager, ManagerConfig};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A file that cargo built beside this test.
pub fn built(name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let folder = test.parent().unwrap().to_path_buf();
    let file = folder.join(name);
    assert!(file.exists(), "{} was not built", file.display());
    file
}

/// The library, installed into a folder of this test's own, which goes with the value.
pub struct Installed(pub PathBuf);

impl Installed {
    /// Installs it as `make install` does.
    pub fn new(name: &str) -> Installed {
        let root = std::env::temp_dir().join(format!("martlet-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&root);
        let from = root.join("built");
        std::fs::create_dir_all(&from).unwrap();
        let shared = built("libmartlet_fabric.so");
        std::os::unix::fs::symlink(&shared, from.join("libmartlet_fabric.so")).unwrap();
        if let Some(archive) = static_library(shared.parent().unwrap()) {
            std::os::unix::fs::symlink(archive, from.join("libmartlet_fabric.a")).unwrap();
        }
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../sbi/fabric-c/install.sh");
        let mut install = Command::new("bash");
        checked(install.arg(script).arg(&from).arg(root.join("usr")), "install.sh");
        Installed(root)
    }

    /// Lets a command find the library.
    pub fn for_command<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        let library = self.0.join("usr/lib");
        command.env("PKG_CONFIG_PATH", library.join("pkgconfig")).env("LD_LIBRARY_PATH", library)
    }

    /// Starts a manager, which ends with the test's process, and gives its socket.
    pub fn manager(&self) -> PathBuf {
        let socket = self.0.join("sbi.sock");
        let config = ManagerConfig { socket: socket.clone(), ..ManagerConfig::default() };
        let (told, up) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let manager = Manager::bind(config).unwrap();
                told.send(()).unwrap();
                manager.run().await;
            });
        });
        up.recv().unwrap();
        socket
    }
}

impl Drop for Installed {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The newest archive: older builds leave theirs.
fn static_library(folder: &Path) -> Option<PathBuf> {
    let files = std::fs::read_dir(folder).ok()?.flatten().filter(|file| {
        let name = file.file_name().into_string().unwrap_or_default();
        name.starts_with("libmartlet_fabric") && name.ends_with(".a")
    });
    files.max_by_key(|file| file.metadata().and_then(|m| m.modified()).ok()).map(|file| file.path())
}

/// Runs a command that has to succeed.
pub fn checked(command: &mut Command, what: &str) -> Output {
    let output = command.output().unwrap_or_else(|error| panic!("{what}: {error}"));
    assert!(
        output.status.success(),
        "{what}: {}\n{}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    output
}
