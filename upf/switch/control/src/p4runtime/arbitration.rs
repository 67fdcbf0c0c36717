//! Arbitration: the controller with the highest election ID is primary and may write.
use super::messages::{self as m, stream_response};
use super::server::Server;
use std::collections::BTreeMap;
use std::sync::{MutexGuard, PoisonError};
use tokio::sync::mpsc;
use tonic::Status;

pub(super) type Sender = mpsc::Sender<Result<m::StreamMessageResponse, Status>>;

pub(super) struct Controller {
    pub(super) election: Option<m::Uint128>,
    pub(super) sender: Sender,
}

#[derive(Default)]
pub(super) struct Arbitration {
    pub(super) next: u64,
    pub(super) controllers: BTreeMap<u64, Controller>,
    /// The highest election ID so far: a lower one never becomes primary, even after that
    /// controller left.
    pub(super) highest: Option<m::Uint128>,
}

impl Arbitration {
    pub(super) fn primary(&self) -> Option<&Controller> {
        self.controllers
            .values()
            .find(|controller| controller.election.is_some() && controller.election == self.highest)
    }
}

impl Server {
    pub(super) fn arbitration(&self) -> MutexGuard<'_, Arbitration> {
        self.arbitration.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[allow(clippy::result_large_err)]
    pub(super) fn check_primary(
        &self,
        election: Option<m::Uint128>,
        role: &str,
    ) -> Result<(), Status> {
        if !role.is_empty() {
            return Err(Status::unimplemented("roles other than the default one are not served"));
        }
        let arbitration = self.arbitration();
        match election.is_some()
            && arbitration.primary().is_some_and(|primary| primary.election == election)
        {
            true => Ok(()),
            false => Err(Status::permission_denied(
                "only the primary controller writes: this election is not its",
            )),
        }
    }

    /// Notifies all controllers of the primary.
    pub(super) fn announce(&self, arbitration: &mut Arbitration) {
        let there = arbitration.primary().is_some();
        let highest = arbitration.highest;
        for controller in
            arbitration.controllers.values().filter(|controller| controller.election.is_some())
        {
            let (code, message) = match (there, controller.election == highest) {
                (true, true) => (0, "you are primary"),
                (true, false) => (6, "you are backup"),
                (false, _) => (5, "there is no primary"),
            };
            let update = stream_response::Update::Arbitration(m::MasterArbitrationUpdate {
                device_id: self.device,
                role: None,
                election_id: highest,
                status: Some(m::Status { code, message: message.into(), details: vec![] }),
            });
            let _ =
                controller.sender.try_send(Ok(m::StreamMessageResponse { update: Some(update) }));
        }
    }

    #[allow(clippy::result_large_err)]
    pub(super) fn arbitrate(
        &self,
        id: u64,
        update: &m::MasterArbitrationUpdate,
    ) -> Result<(), Status> {
        self.check_device(update.device_id)?;
        if update.role.as_ref().is_some_and(|role| !role.name.is_empty()) {
            return Err(Status::unimplemented("roles other than the default one are not served"));
        }
        let mut arbitration = self.arbitration();
        let election = Some(update.election_id.unwrap_or_default());
        if arbitration
            .controllers
            .iter()
            .any(|(other, controller)| *other != id && controller.election == election)
        {
            return Err(Status::invalid_argument("another controller has this election"));
        }
        if let Some(controller) = arbitration.controllers.get_mut(&id) {
            controller.election = election;
        }
        // A controller with election ID 0 is never primary.
        if election > arbitration.highest && election != Some(m::Uint128::default()) {
            arbitration.highest = election;
        }
        self.announce(&mut arbitration);
        Ok(())
    }
}
