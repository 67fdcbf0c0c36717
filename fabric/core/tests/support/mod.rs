//! A temporary folder with the socket of a manager.
#![allow(dead_code)]

use martlet_fabric::{FabricConfig, Manager, ManagerConfig};
use std::path::PathBuf;

/// A temporary folder, removed on drop.
pub struct TestDir {
    folder: PathBuf,
}

impl TestDir {
    pub fn new(name: &str) -> Self {
        let folder =
            std::env::temp_dir().join(format!("martlet-fabric-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        TestDir { folder }
    }

    pub fn socket(&self) -> PathBuf {
        self.folder.join("fabric.sock")
    }

    pub fn manager_config(&self) -> ManagerConfig {
        ManagerConfig { socket: self.socket(), ..ManagerConfig::default() }
    }

    pub fn manager(&self) -> tokio::task::JoinHandle<()> {
        tokio::spawn(Manager::bind(self.manager_config()).unwrap().run())
    }

    pub fn config(&self, name: &str) -> FabricConfig {
        FabricConfig { socket: self.socket(), name: name.into(), ..FabricConfig::default() }
    }
}

impl Drop for TestDir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
