//! Arbitration: the controller with the highest election ID is primary and may write.
use super::messages::{self as m, stream_response};
use std::collections::BTreeMap;
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

    #[allow(clippy::result_large_err)]
    pub(super) fn check_primary(
        &self,
        election: Option<m::Uint128>,
        role: &str,
    ) -> Result<(), Status> {
        if !role.is_empty() {
            return Err(Status::unimplemented("only the default role is supported"));
        }
        let is_primary = election.is_some()
            && self.primary().is_some_and(|primary| primary.election == election);
        match is_primary {
            true => Ok(()),
            false => Err(Status::permission_denied(
                "only the primary controller may write: use a higher election ID",
            )),
        }
    }

    /// Notifies all controllers of the primary.
    pub(super) fn announce(&self, device: u64) {
        let has_primary = self.primary().is_some();
        for controller in self.controllers.values().filter(|of| of.election.is_some()) {
            let (code, message) = match (has_primary, controller.election == self.highest) {
                (true, true) => (0, "you are primary"),
                (true, false) => (6, "you are backup"),
                (false, _) => (5, "there is no primary"),
            };
            let update = stream_response::Update::Arbitration(m::MasterArbitrationUpdate {
                device_id: device,
                role: None,
                election_id: self.highest,
                status: Some(m::Status { code, message: message.into(), details: vec![] }),
            });
            let _ =
                controller.sender.try_send(Ok(m::StreamMessageResponse { update: Some(update) }));
        }
    }

    /// Registers the election ID of a controller, and notifies all.
    #[allow(clippy::result_large_err)]
    pub(super) fn arbitrate(
        &mut self,
        id: u64,
        update: &m::MasterArbitrationUpdate,
    ) -> Result<(), Status> {
        if update.role.as_ref().is_some_and(|role| !role.name.is_empty()) {
            return Err(Status::unimplemented("only the default role is supported"));
        }
        let election = Some(update.election_id.unwrap_or_default());
        if self
            .controllers
            .iter()
            .any(|(other, controller)| *other != id && controller.election == election)
        {
            return Err(Status::invalid_argument("another controller has this election ID"));
        }
        if let Some(controller) = self.controllers.get_mut(&id) {
            controller.election = election;
        }
        // A controller with election ID 0 is never primary.
        if election > self.highest && election != Some(m::Uint128::default()) {
            self.highest = election;
        }
        self.announce(update.device_id);
        Ok(())
    }
}
