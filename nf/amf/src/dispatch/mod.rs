//! Dispatch: NGAP messages to procedures and UE tasks, and the events of a UE's task to procedures.
//!
//! This module is on top. Procedures wait with the methods of [`Ue`] and do not name it; what a
//! wait needs of it, it does as the [`ProcedureLayer`] of `ue`.
mod association;
mod ngap;
mod ue_task;
mod unsolicited;

pub(crate) use association::accept;
#[cfg(test)]
pub(crate) use association::serve;

use crate::n2::uplink::Uplink;
use crate::procedures::connection::n1_n2_message_transfer;
use crate::ue::{Event, Interleaved, ProcedureLayer, Stop, Ue};
use std::future::Future;

impl ProcedureLayer for Ue {
    fn run(self: Box<Self>) -> impl Future<Output = ()> + Send {
        self.take_events()
    }

    fn handle_unsolicited(&mut self, event: Event) -> Result<Option<Interleaved<'_>>, Stop> {
        unsolicited::event(self, event)
    }

    fn handle_unsolicited_ngap(&mut self, message: Uplink) -> Result<(), Stop> {
        unsolicited::ngap(self, message)
    }

    fn deliver_transfers(&mut self) -> Interleaved<'_> {
        Box::pin(n1_n2_message_transfer::deliver_deferred(self))
    }

    fn withdraw_offer(&self) {
        self.amf.rebalancing.withdraw(self.handle.number);
    }
}
