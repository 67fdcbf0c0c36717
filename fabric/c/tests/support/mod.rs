//! An installed library and a manager, for tests of other languages.
#![allow(dead_code)]

use martlet_fabric::{Manager, ManagerConfig};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The root folder of the workspace.
pub fn root_folder() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().find(|folder| folder.join("Cargo.lock").exists()).unwrap().to_path_buf()
}

/// The Go toolchain, if it is installed.
pub fn go() -> Option<PathBuf> {
    let candidates = ["go", "/usr/local/go/bin/go"];
    let found = candidates.into_iter().find(|go| Command::new(go).arg("version").output().is_ok());
    if found.is_none() {
        eprintln!(
            "SKIPPED: there is no Go toolchain; deploy/install/packages.sh test installs one"
        );
    }
    found.map(PathBuf::from)
}

/// A file that cargo built next to this test.
pub fn built(name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let folder = test.parent().unwrap().to_path_buf();
    let file = folder.join(name);
    assert!(file.exists(), "{} was not built", file.display());
    file
}

/// The installed library, and a temporary folder that is removed on drop.
pub struct Installed {
    /// The temporary folder.
    pub folder: PathBuf,
    prefix: PathBuf,
}

impl Installed {
    /// Installs the library into the temporary folder, as `make install` does.
    pub fn new(name: &str) -> Installed {
        let folder = folder(name);
        let prefix = folder.join("usr");
        install(&prefix, &folder);
        Installed { folder, prefix }
    }

    /// Installs the library into a folder that all test runs share: Go's build cache contains its
    /// path.
    pub fn for_go(name: &str) -> Installed {
        let (folder, prefix) =
            (folder(name), built("libmartlet_fabric_c.so").with_file_name("go-usr"));
        // Once: other tests of this process may use it already.
        static ONCE: std::sync::Once = std::sync::Once::new();
        ONCE.call_once(|| install(&prefix, &folder));
        Installed { folder, prefix }
    }

    /// The folder of the libraries.
    pub fn libraries(&self) -> PathBuf {
        self.prefix.join("lib")
    }

    /// Lets a command find the library.
    pub fn for_command<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        let library = self.libraries();
        command.env("PKG_CONFIG_PATH", library.join("pkgconfig")).env("LD_LIBRARY_PATH", library)
    }

    /// A Go command in the folder of the package.
    pub fn go(&self, go: &Path) -> Command {
        let mut command = Command::new(go);
        self.for_command(&mut command).current_dir(root_folder().join("fabric/go"));
        command.env("GOTOOLCHAIN", "local").env("GOFLAGS", "-buildvcs=false");
        command.env("GOCACHE", self.prefix.with_file_name("go-build"));
        command
    }

    /// Starts a manager in a thread and returns the path of its socket.
    pub fn manager(&self) -> PathBuf {
        let socket = self.folder.join("fabric.sock");
        let config = ManagerConfig { socket: socket.clone(), ..ManagerConfig::default() };
        let (started, is_started) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let runtime =
                tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let manager = Manager::bind(config).unwrap();
                started.send(()).unwrap();
                manager.run().await;
            });
        });
        is_started.recv().unwrap();
        socket
    }
}

impl Drop for Installed {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("martlet-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

fn install(prefix: &Path, folder: &Path) {
    let from = folder.join("built");
    std::fs::create_dir(&from).unwrap();
    let shared = built("libmartlet_fabric_c.so");
    std::os::unix::fs::symlink(&shared, from.join("libmartlet_fabric_c.so")).unwrap();
    if let Some(archive) = static_library(shared.parent().unwrap()) {
        std::os::unix::fs::symlink(archive, from.join("libmartlet_fabric_c.a")).unwrap();
    }
    let mut install = Command::new("bash");
    checked(
        install.arg(root_folder().join("fabric/c/install.sh")).arg(&from).arg(prefix),
        "install.sh",
    );
}

/// The newest static library: older builds leave theirs.
fn static_library(folder: &Path) -> Option<PathBuf> {
    let files = std::fs::read_dir(folder).ok()?.flatten().filter(|file| {
        let name = file.file_name().into_string().unwrap_or_default();
        name.starts_with("libmartlet_fabric_c") && name.ends_with(".a")
    });
    files.max_by_key(|file| file.metadata().and_then(|m| m.modified()).ok()).map(|file| file.path())
}

/// Runs a command that must succeed.
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
