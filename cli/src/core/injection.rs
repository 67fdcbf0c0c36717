//! Injected faults, in builds with debug assertions only: for tests of the supervision.
use super::supervised::Supervised;
use martlet_nf::AskSource;
use martlet_tasks::Fault;
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;

/// Injects a fault into a function. `false` while it restarts.
pub(super) fn inject(functions: &[Arc<Supervised>], name: &str, fault: Fault) -> bool {
    let function = functions.iter().find(|function| function.name() == name);
    let tasks = function.and_then(|function| function.tasks());
    tasks.inspect(|tasks| tasks.inject(fault)).is_some()
}

/// Answers `inject/NF/panic/N`, with the number of an essential task, and `inject/NF/block/MS`.
pub(super) fn ask_source(functions: Arc<Vec<Arc<Supervised>>>) -> AskSource {
    Arc::new(move |question: &str| {
        let (name, fault) = question.strip_prefix("inject/")?.split_once('/')?;
        let fault = match fault.split_once('/')? {
            ("panic", n) => Fault::Essential(n.parse().ok()?),
            ("block", ms) => Fault::Block(Duration::from_millis(ms.parse().ok()?)),
            _ => return None,
        };
        let injected = inject(&functions, name, fault);
        Some(Box::pin(std::future::ready(Ok(json!({"injected": injected})))))
    })
}
