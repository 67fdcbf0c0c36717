//! The binding `local`: producers of this process are called directly, with typed bodies.
use crate::Router;
use std::collections::HashMap;
use std::sync::{Arc, RwLock};

/// The producers of this process, by the authority of their API root.
#[derive(Clone, Default)]
pub struct LocalBinding {
    producers: Arc<RwLock<HashMap<String, Arc<Router>>>>,
}

impl LocalBinding {
    /// A binding without producers.
    pub fn new() -> Self {
        LocalBinding::default()
    }

    /// Adds a producer.
    pub fn add(&self, authority: &str, router: Arc<Router>) {
        self.producers
            .write()
            .unwrap_or_else(|e| e.into_inner())
            .insert(authority.to_string(), router);
    }

    /// Removes a producer.
    pub fn remove(&self, authority: &str) {
        self.producers.write().unwrap_or_else(|e| e.into_inner()).remove(authority);
    }

    pub(crate) fn find(&self, authority: &str) -> Option<Arc<Router>> {
        self.producers.read().unwrap_or_else(|e| e.into_inner()).get(authority).cloned()
    }
}
