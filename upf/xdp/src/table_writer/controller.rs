//! Life cycle of the programs: attachment, pinning, takeover and replacement.
use crate::loader::{Attachment, Mode, Pins, Program, Programs, XdpError};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Sessions count as restored after this time without a new one.
const RESTORED_AFTER: Duration = Duration::from_millis(500);

/// Programs on interfaces.
pub(super) struct Controller {
    attached: Mutex<Vec<(Program, Attachment)>>,
    /// While an earlier process's programs are attached: the time limit, and when the last session
    /// was added.
    waiting: Mutex<Option<(Instant, Option<Instant>)>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Controller {
    /// Attaches programs to the link with the kernel and to interfaces. With a folder they are
    /// pinned, so that the next process takes them over if this one is killed. Programs of an
    /// earlier process remain for `restoration` at most; meanwhile they forward their sessions,
    /// while the SMF restores them here.
    pub fn attach(
        programs: &Programs,
        link: Vec<(Program, String, u32)>,
        ports: &[(String, u32, Option<Mode>)],
        pin: Option<&Path>,
        restoration: Duration,
    ) -> Result<Arc<Controller>, XdpError> {
        let mut attached = Vec::new();
        let pins = pin.map(Pins::open).transpose()?;
        if let Some(pins) = &pins {
            let names =
                ports.iter().map(|(name, ..)| name).chain(link.iter().map(|(_, name, _)| name));
            pins.keep_only(&names.map(String::as_str).collect::<Vec<_>>());
        }
        for (program, name, ifindex) in &link {
            let attachment = match &pins {
                Some(pins) => {
                    programs.attach_pinned(*program, (name, *ifindex), Some(Mode::Native), pins)?
                }
                None => programs.attach(*program, *ifindex, Some(Mode::Native))?,
            };
            attached.push((*program, attachment));
        }
        for (name, ifindex, mode) in ports {
            let attachment = match &pins {
                Some(pins) => {
                    programs.attach_pinned(Program::Port, (name, *ifindex), *mode, pins)?
                }
                None => programs.attach(Program::Port, *ifindex, *mode)?,
            };
            tracing::info!(
                interface = name,
                mode = attachment.mode.name(),
                pinned = pins.is_some(),
                kernel = crate::loader::kernel(),
                "XDP is attached"
            );
            attached.push((Program::Port, attachment));
        }
        let before = attached.iter().any(|(_, attachment)| attachment.of_before);
        let waiting = before.then(|| (Instant::now() + restoration, None));
        Ok(Arc::new(Controller { attached: Mutex::new(attached), waiting: Mutex::new(waiting) }))
    }

    /// How the programs on interfaces are attached.
    pub fn modes(&self) -> Vec<(u32, Mode)> {
        let attached = lock(&self.attached);
        attached
            .iter()
            .filter(|(p, _)| *p == Program::Port)
            .map(|(_, a)| (a.ifindex, a.mode))
            .collect()
    }

    /// Records that a session was added.
    pub fn session_added(&self) {
        if let Some((_, last)) = &mut *lock(&self.waiting) {
            *last = Some(Instant::now());
        }
    }

    /// Whether no programs of an earlier process are attached.
    pub fn is_alone(&self) -> bool {
        lock(&self.waiting).is_none()
    }

    /// Replaces the programs of an earlier process once the sessions are restored; call it
    /// periodically. Retries after errors.
    pub fn take_over(&self, programs: &Programs) {
        let waiting = *lock(&self.waiting);
        let Some((end, last)) = waiting else { return };
        if last.is_some_and(|last| last.elapsed() >= RESTORED_AFTER) || end <= Instant::now() {
            match self.replace(programs) {
                Ok(()) => {
                    *lock(&self.waiting) = None;
                    tracing::info!("XDP programs of an earlier process replaced");
                }
                Err(error) => {
                    tracing::error!(%error, "XDP programs of an earlier process not replaced")
                }
            }
        }
    }

    /// Replaces the attached programs by the loaded ones, atomically.
    pub fn replace(&self, programs: &Programs) -> Result<(), XdpError> {
        for (program, attachment) in lock(&self.attached).iter_mut() {
            programs.replace(attachment, *program)?;
            attachment.of_before = false;
        }
        Ok(())
    }
}
