//! Injected faults, in builds with debug assertions only: for tests of the supervision.
use super::supervised::Supervised;
use martlet_nf::AskSource;
use martlet_nf::oam::Paths;
use martlet_tasks::Fault;
use serde_json::json;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

/// Injects a fault into a function. `false` while it restarts.
pub(super) fn inject(functions: &[Arc<Supervised>], name: &str, fault: Fault) -> bool {
    let function = functions.iter().find(|function| function.name() == name);
    let tasks = function.and_then(|function| function.tasks());
    tasks.inspect(|tasks| tasks.inject(fault)).is_some()
}

/// The fault that a number makes.
type NewFault = fn(u64) -> Fault;

static FAULTS: LazyLock<Paths<NewFault>> = LazyLock::new(|| {
    Paths::new([
        ("inject/{nf}/panic/{task}", |task| Fault::Essential(task as usize)),
        ("inject/{nf}/block/{ms}", |ms| Fault::Block(Duration::from_millis(ms))),
    ])
});

/// Answers `inject/NF/panic/N`, with the number of an essential task, and `inject/NF/block/MS`.
pub(super) fn ask_source(functions: Arc<Vec<Arc<Supervised>>>) -> AskSource {
    Arc::new(move |question: &str| {
        let (fault, segments) = FAULTS.find(question)?;
        let [name, number] = segments.as_slice() else { return None };
        let fault = fault(number.parse().ok()?);
        let injected = inject(&functions, name, fault);
        Some(Box::pin(std::future::ready(Ok(json!({"injected": injected})))))
    })
}
