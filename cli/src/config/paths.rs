//! Where the configuration is, and the folder that its relative paths start from.
use super::Config;
use martlet_context_store::ContextStoreConfig;
use martlet_store::DatabaseUrl;
use std::path::{Path, PathBuf};

/// The configuration of the service, which all commands use unless they are given another one.
pub const SERVICE_CONFIG: &str = "/etc/martlet/martlet.yaml";
/// The state directory of the service.
pub const SERVICE_STATE: &str = "/var/lib/martlet";
/// The folder of the service's sockets.
const SERVICE_SOCKETS: &str = "/run/martlet";
/// The environment variable that names the configuration.
pub const CONFIG_VARIABLE: &str = "MARTLET_CONFIG";
/// The operator's key of a PostgreSQL database, in the state directory.
const POSTGRES_KEY_FILE: &str = "martlet.key";
/// The registrations of the NRF of a core with a PostgreSQL database, in the state directory. Those
/// of a core with an SQLite database, `martlet.nrf.db`, are encrypted with another key.
const POSTGRES_NRF: &str = "nrf.db";
/// The UE history of a core with a PostgreSQL database, in the state directory.
const POSTGRES_HISTORY: &str = "martlet.history";

/// The configuration file of a command: the given one, else that of `MARTLET_CONFIG`, else
/// `/etc/martlet/martlet.yaml` if it exists. `None` stands for the built-in defaults.
pub fn find(file: Option<PathBuf>) -> Option<PathBuf> {
    let variable = || std::env::var_os(CONFIG_VARIABLE).filter(|value| !value.is_empty());
    let service = || Some(PathBuf::from(SERVICE_CONFIG)).filter(|file| file.exists());
    file.or_else(|| variable().map(PathBuf::from)).or_else(service)
}

/// The state directory of a configuration: `state_dir`, which is itself relative to the folder of
/// the file, else the service's, else the folder of the file. Empty, which stands for the working
/// directory, for the built-in defaults and for a file that is a pipe.
pub(super) fn state_directory(file: Option<&Path>, configured: &Path) -> PathBuf {
    let Some(file) = file.filter(|file| file.is_file()) else { return configured.to_path_buf() };
    let absolute = std::path::absolute(file).unwrap_or_else(|_| file.to_path_buf());
    state_directory_of(&absolute, configured)
}

fn state_directory_of(absolute: &Path, configured: &Path) -> PathBuf {
    let folder = absolute.parent().unwrap_or(Path::new("/"));
    match configured.as_os_str().is_empty() {
        false => folder.join(configured),
        true if absolute == Path::new(SERVICE_CONFIG) => PathBuf::from(SERVICE_STATE),
        true => folder.to_path_buf(),
    }
}

/// The fabric's socket of the service, beside which its others are. The users of `oam.users` have
/// runtime folders of their own, in which no core listens.
fn socket_of(file: &Path) -> Option<PathBuf> {
    let is_service = std::path::absolute(file).is_ok_and(|file| file == Path::new(SERVICE_CONFIG));
    is_service.then(|| Path::new(SERVICE_SOCKETS).join("fabric.sock"))
}

impl Config {
    /// Makes the relative paths of the configuration start from the state directory.
    pub(super) fn resolve_paths(&mut self, file: Option<&Path>) {
        if self.fabric.socket.is_none() {
            self.fabric.socket = file.and_then(socket_of);
        }
        self.state_dir = state_directory(file, &self.state_dir);
        let state = self.state_dir.clone();
        if state.as_os_str().is_empty() {
            return;
        }
        let path = |path: &mut PathBuf| *path = state.join(&*path);
        let text = |text: &mut String| {
            if !text.is_empty() {
                *text = state.join(&*text).display().to_string();
            }
        };
        let database = |database: &mut String, key_file: &mut String| {
            match DatabaseUrl::parse(database) {
                DatabaseUrl::File(_) => text(database),
                DatabaseUrl::Postgres(_) if key_file.is_empty() => {
                    *key_file = POSTGRES_KEY_FILE.into();
                }
                _ => {}
            }
            text(key_file);
        };
        database(&mut self.udr.path, &mut self.udr.key_file);
        // The NRF keeps its registrations on its machine, without a server that may be absent.
        let nrf = &mut self.nrf.context_store;
        let is_server = matches!(DatabaseUrl::parse(&self.udr.path), DatabaseUrl::Postgres(_));
        if is_server && nrf.database.is_empty() {
            nrf.database = POSTGRES_NRF.into();
        }
        let store = |store: &mut ContextStoreConfig| {
            if store.database.is_empty() {
                text(&mut store.key_file);
            } else {
                database(&mut store.database, &mut store.key_file);
            }
        };
        store(&mut self.amf.context_store);
        store(&mut self.smf.context_store);
        store(&mut self.chf.context_store);
        store(&mut self.nrf.context_store);
        if is_server && self.oam.history.path.is_empty() {
            self.oam.history.path = POSTGRES_HISTORY.into();
        }
        text(&mut self.oam.history.path);
        if self.sbi.is_secured() {
            text(&mut self.sbi.pki);
        }
        if !self.sbi.token_key.is_empty() {
            text(&mut self.sbi.token_key);
        }
        self.nrf.token_key.iter_mut().for_each(text);
        let user_plane = &mut self.lmf.user_plane;
        let files = [
            &mut user_plane.certificate,
            &mut user_plane.key,
            &mut user_plane.write_certificate,
            &mut self.fabric.socket,
            &mut self.oam.socket,
            &mut self.oam.token_file,
            &mut self.oam.api.socket,
            &mut self.oam.api.certificate,
            &mut self.oam.api.key,
            &mut self.oam.api.oidc.client_secret_file,
            &mut self.oam.api.oidc.ca,
            &mut self.oam.api.lab_reports,
            &mut self.oam.api.lab_socket,
            &mut self.upf.xdp.pin,
            &mut self.upf.telemetry.captures,
        ];
        files.into_iter().flatten().for_each(path);
        if let Some(run) = &mut self.upf.switch.run {
            run.state.iter_mut().for_each(path);
        }
    }

    /// The subscriber database.
    pub fn database(&self) -> DatabaseUrl {
        DatabaseUrl::parse(&self.udr.path)
    }

    /// The file of the operator's key that a core with this configuration would use for a database.
    /// Empty for the file beside it.
    pub fn key_file_of(&self, database: &DatabaseUrl) -> String {
        let is_own = database_name(database) == database_name(&self.database());
        match database {
            DatabaseUrl::Postgres(_) if self.udr.key_file.is_empty() => {
                self.state_dir.join(POSTGRES_KEY_FILE).display().to_string()
            }
            DatabaseUrl::Postgres(_) => self.udr.key_file.clone(),
            _ if is_own => self.udr.key_file.clone(),
            _ => String::new(),
        }
    }
}

/// The name of a database by which a command and a core can tell whether they use the same one: the
/// absolute path of a file, else the URL without its password.
pub fn database_name(database: &DatabaseUrl) -> String {
    match database {
        DatabaseUrl::File(file) => {
            let absolute = real_path(file).or_else(|_| std::path::absolute(file));
            // A mistyped URL is a file, and its password is not printed.
            DatabaseUrl::File(absolute.unwrap_or_else(|_| file.clone())).to_string()
        }
        other => other.to_string(),
    }
}

/// The absolute path of a file without links; of one that does not exist, or is in a folder that
/// this user may not enter, its name in the real folder.
fn real_path(file: &Path) -> std::io::Result<PathBuf> {
    std::fs::canonicalize(file).or_else(|error| {
        let name = file.file_name().ok_or(error)?;
        Ok(std::fs::canonicalize(martlet_sandbox::folder_of(file))?.join(name))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_has_the_same_name_before_and_after_its_creation() {
        let folder = std::env::temp_dir().join(format!("martlet-named-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("real")).unwrap();
        std::os::unix::fs::symlink("real", folder.join("link")).unwrap();
        let name = || database_name(&DatabaseUrl::File(folder.join("link/martlet.db")));
        let before = name();
        assert!(before.ends_with("/real/martlet.db"), "{before}");
        std::fs::write(folder.join("real/martlet.db"), "").unwrap();
        assert_eq!(name(), before);
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn paths_start_from_the_state_directory() {
        let folder = std::env::temp_dir().join(format!("martlet-paths-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let file = folder.join("martlet.yaml");
        let load = |text: &str| {
            std::fs::write(&file, text).unwrap();
            Config::load(Some(&file)).unwrap()
        };
        let beside = load("sbi: { pki: keys }\n");
        assert_eq!(beside.udr.path, folder.join("martlet.db").display().to_string());
        assert_eq!(beside.sbi.pki, folder.join("keys").display().to_string());
        assert_eq!(load("sbi: { pki: none }\n").sbi.pki, "none");
        let other = load(
            "state_dir: state\nudr: { path: s.db, key_file: /k }\nupf: { xdp: { pin: bpf } }\n",
        );
        let state = folder.join("state");
        assert_eq!(other.udr.path, state.join("s.db").display().to_string());
        assert_eq!(other.udr.key_file, "/k");
        assert_eq!(other.upf.xdp.pin, Some(state.join("bpf")));
        let server = load("udr: { path: \"postgresql://u@db/m\" }\n");
        assert_eq!(server.udr.path, "postgresql://u@db/m");
        assert_eq!(server.udr.key_file, folder.join("martlet.key").display().to_string());
        // A command that names another database has the key of the core that will use it.
        let postgres = DatabaseUrl::parse("postgresql://db/martlet");
        assert_eq!(beside.key_file_of(&postgres), folder.join("martlet.key").display().to_string());
        assert_eq!(other.key_file_of(&postgres), "/k");
        assert_eq!(other.key_file_of(&other.database()), "/k");
        assert_eq!(other.key_file_of(&DatabaseUrl::parse("/elsewhere.db")), "");
        // The registrations of an SQLite database in the same folder have another key.
        let nrf = folder.join("nrf.db").display().to_string();
        assert_eq!(server.nrf.context_store.database, nrf);
        assert_ne!(Some(DatabaseUrl::parse(&nrf)), beside.database().for_function("nrf"));
        assert_eq!(load("udr: { path: \":memory:\" }\n").udr.path, ":memory:");
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn the_service_has_a_state_directory_of_its_own() {
        let (service, none) = (Path::new(SERVICE_CONFIG), Path::new(""));
        assert_eq!(state_directory_of(service, none), Path::new(SERVICE_STATE));
        assert_eq!(state_directory_of(service, Path::new("/s")), Path::new("/s"));
        assert_eq!(
            state_directory_of(Path::new("/etc/martlet/b.yaml"), none),
            service.parent().unwrap()
        );
        assert_eq!(state_directory(None, Path::new("s")), Path::new("s"));
        // Also for a user with a runtime folder.
        let mut config = Config::default();
        config.fabric.socket = socket_of(service);
        assert_eq!(config.api_socket(), Path::new("/run/martlet/api.sock"));
        assert_eq!(config.oam_endpoint(None).socket, Path::new("/run/martlet/oam.sock"));
        assert_eq!(socket_of(Path::new("martlet.yaml")), None);
    }
}
