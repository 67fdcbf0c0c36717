//! What a UE needs of the layer above it, which runs procedures.
use super::{Event, Stop};
use crate::n2::uplink::Uplink;
use martlet_sbi::BoxFuture;
use std::future::Future;

/// A procedure that runs inside the one that waits.
pub(crate) type Interleaved<'a> = BoxFuture<'a, Result<(), Stop>>;

/// The procedures, from the point of view of a UE. A UE names none of them: `dispatch` implements
/// this trait.
pub(crate) trait ProcedureLayer {
    /// The task of the UE: runs until the context is no longer needed.
    fn run(self: Box<Self>) -> impl Future<Output = ()> + Send;

    /// Handles an event that the running procedure does not wait for. The event is queued, or it is
    /// handled at once, or a procedure is returned that handles it before the wait continues.
    ///
    /// # Errors
    ///
    /// The `Stop` that ends the running procedure.
    fn handle_unsolicited(&mut self, event: Event) -> Result<Option<Interleaved<'_>>, Stop>;

    /// Handles a message that a gNB may send at any time. What needs a procedure of its own is
    /// queued.
    ///
    /// # Errors
    ///
    /// The `Stop` that ends the running procedure.
    fn handle_unsolicited_ngap(&mut self, message: Uplink) -> Result<(), Stop>;

    /// Delivers the transfers that wait for the end of the running procedure.
    ///
    /// # Errors
    ///
    /// The `Stop` that ends the running procedure.
    fn deliver_transfers(&mut self) -> Interleaved<'_>;

    /// Ends what other AMFs can still ask for, since the context ends.
    fn withdraw_offer(&self);
}
