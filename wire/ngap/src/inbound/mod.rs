//! Decoding of a received message, and the answer to a faulty one (TS 38.413, 10).
//!
//! ```
//! use martlet_ngap::inbound::{self, Reaction};
//! use martlet_ngap::{build_ngap, ngap::*};
//!
//! // An NG SETUP REQUEST that ends early, and one without its mandatory Global RAN Node ID.
//! let fault = inbound::read(&[0x00, 0x15, 0x00, 0x20, 0x00]).unwrap_err();
//! assert_eq!(fault.reaction, Reaction::ErrorIndication);
//! assert_eq!(inbound::message_name(&fault.answer().unwrap()), "ErrorIndication");
//!
//! let request =
//!     build_ngap!(InitiatingMessage, NGSetup, NGSetupRequest, DefaultPagingDRX(PagingDRX::v128))
//!         .unwrap();
//! let request = request.encode().unwrap();
//! let fault = inbound::read(&request).unwrap_err();
//! assert_eq!(fault.reaction, Reaction::UnsuccessfulOutcome);
//! assert_eq!(inbound::message_name(&fault.answer().unwrap()), "NGSetupFailure");
//! ```
//!
//! [`read`] checks the structure of the message: procedure, information elements, order. A handler
//! decodes the values; [`Fault::of`] turns an error of `extract_ngap_ies!` into the answer:
//!
//! ```
//! use martlet_ngap::inbound::{self, Fault};
//! use martlet_ngap::ngap::*;
//! use martlet_ngap::{Error, extract_ngap_ies};
//!
//! fn released(pdu: &NGAPPDU<'_>) -> Result<(u64, u32), Error> {
//!     extract_ngap_ies!(pdu, UEContextReleaseRequest,
//!         req amf_id: u64 = AMF_UE_NGAP_ID(id),
//!         req ran_id: u32 = RAN_UE_NGAP_ID(id),
//!     );
//!     Ok((amf_id, ran_id))
//! }
//!
//! fn handle(bytes: &[u8]) -> Result<(u64, u32), Box<Fault>> {
//!     let received = inbound::read(bytes)?;
//!     released(&received.pdu).map_err(|error| Fault::of(&received.pdu, &error).into())
//! }
//!
//! let bytes = hex::decode("002a4015000003000a0002002a005500020007000f40020500").unwrap();
//! assert_eq!(handle(&bytes).unwrap(), (42, 7));
//! ```

use oxirush_ngap::ngap::{
    Cause, CauseProtocol, Criticality, CriticalityDiagnostics, NGAP_PDU, NGAPPDU,
};
use oxirush_ngap::{Deviation, Error, NgapPduKind, build_ngap};

use crate::error_indication::error_indication;
pub use crate::ue_ids::UeIds;

/// Procedure codes whose unsuccessful outcome needs only the identities and a cause.
mod procedure {
    pub(super) const AMF_CONFIGURATION_UPDATE: u8 = 0;
    pub(super) const ERROR_INDICATION: u8 = 9;
    pub(super) const HANDOVER_PREPARATION: u8 = 12;
    pub(super) const HANDOVER_RESOURCE_ALLOCATION: u8 = 13;
    pub(super) const INITIAL_CONTEXT_SETUP: u8 = 14;
    pub(super) const NG_SETUP: u8 = 21;
    pub(super) const RAN_CONFIGURATION_UPDATE: u8 = 35;
    pub(super) const UE_CONTEXT_MODIFICATION: u8 = 40;
}

/// The name of a message, for logs and metrics: `NGSetupRequest`, or `procedure 250` for an unknown
/// procedure.
pub fn message_name(pdu: &NGAPPDU<'_>) -> String {
    if let NgapPduKind::Other { procedure_code, .. } = pdu.kind() {
        return format!("procedure {procedure_code}");
    }
    let text = pdu.to_string();
    text.split(' ').next().unwrap_or_default().into()
}

/// A message to process.
#[derive(Debug)]
pub struct Received<'a> {
    /// The message, which borrows the bytes.
    pub pdu: NGAPPDU<'a>,
    /// Information elements of the criticality "notify" that were not comprehended, to be reported
    /// in the answer. Empty for nearly every message.
    pub notify: Vec<Deviation>,
    /// Information elements were in another order than in TS 38.413, 9.2; [`read_any_order`]
    /// accepts them.
    pub out_of_order: bool,
}

impl Received<'_> {
    /// The Criticality Diagnostics for the response of the procedure, if there is something to
    /// report.
    pub fn diagnostics(&self) -> Option<CriticalityDiagnostics> {
        (!self.notify.is_empty())
            .then(|| self.pdu.criticality_diagnostics_for_response(&self.notify))
    }
}

/// How a faulty message is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reaction {
    /// No answer: to an ERROR INDICATION (10.5), and to an unknown procedure of the criticality
    /// "ignore" (10.3.4.1).
    Nothing,
    /// Answer with an ERROR INDICATION.
    ErrorIndication,
    /// Answer with the unsuccessful outcome of the procedure.
    UnsuccessfulOutcome,
    /// The message is a response: its procedure has failed, which its initiator handles locally
    /// (10.3.4.2, 10.3.5).
    Local,
}

/// A fault of a message, and the receiver's answer.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{message}: {what}")]
pub struct Fault {
    /// The name of the message, or "not a message".
    pub message: String,
    /// What is wrong, for logs.
    pub what: String,
    /// The cause for the answer.
    pub cause: Cause,
    /// The kind of answer.
    pub reaction: Reaction,
    /// The identities of the connection that the message is about.
    pub ue: UeIds,
    procedure: Option<u8>,
    diagnostics: Option<CriticalityDiagnostics>,
}

/// Decodes a message and checks its structure, with information elements in any order. TS 38.413,
/// 10.3.6, calls another order than that of 9.2 a falsely constructed message, but some gNBs send
/// it, and no element gets another meaning by it.
pub fn read_any_order(bytes: &[u8]) -> Result<Received<'_>, Box<Fault>> {
    read_with(bytes, false)
}

/// Decodes a message and checks its structure.
pub fn read(bytes: &[u8]) -> Result<Received<'_>, Box<Fault>> {
    read_with(bytes, true)
}

fn read_with(bytes: &[u8], in_order: bool) -> Result<Received<'_>, Box<Fault>> {
    let pdu = NGAPPDU::decode_borrowed(bytes)
        .map_err(|error| Box::new(Fault::transfer_syntax(&error)))?;
    let deviations = pdu.check_structure().map_err(|error| Fault::of(&pdu, &error))?;
    let (mut notify, mut cause, mut out_of_order) = (Vec::new(), None, false);
    for deviation in deviations {
        match deviation.cause() {
            _ if !in_order && matches!(deviation, Deviation::OutOfOrder { .. }) => {
                out_of_order = true;
            }
            None => {}
            Some(CauseProtocol::abstract_syntax_error_ignore_and_notify)
                if !matches!(deviation, Deviation::UnknownProcedure { .. }) =>
            {
                notify.push(deviation);
            }
            Some(fatal) => {
                cause.get_or_insert(fatal);
                notify.push(deviation);
            }
        }
    }
    // Not comprehended, criticality "ignore": not reported.
    let unknown = matches!(pdu.kind(), NgapPduKind::Other { .. });
    match cause {
        Some(cause) => Err(Box::new(Fault::new(&pdu, cause, &notify))),
        None if unknown => Err(Box::new(Fault {
            reaction: Reaction::Nothing,
            what: "a procedure that this release does not have, to be ignored".into(),
            ..Fault::new(&pdu, CauseProtocol::unspecified, &[])
        })),
        None => Ok(Received { pdu, notify, out_of_order }),
    }
}

impl Fault {
    /// Bytes that are not a message (10.2).
    fn transfer_syntax(error: &Error) -> Self {
        Self {
            message: "no NGAP message".into(),
            what: error.to_string(),
            cause: Cause::protocol(CauseProtocol::transfer_syntax_error),
            reaction: Reaction::ErrorIndication,
            ue: UeIds::default(),
            procedure: None,
            diagnostics: None,
        }
    }

    /// A message whose structure is wrong (10.3).
    fn new(pdu: &NGAPPDU<'_>, cause: CauseProtocol, deviations: &[Deviation]) -> Self {
        let reaction = Self::reaction_to(pdu);
        Self {
            message: message_name(pdu),
            what: deviations.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "),
            cause: Cause::protocol(cause),
            reaction,
            ue: UeIds::of(pdu),
            procedure: Some(pdu.procedure_code()),
            diagnostics: match reaction {
                Reaction::UnsuccessfulOutcome => {
                    Some(pdu.criticality_diagnostics_for_response(deviations))
                }
                _ => Some(pdu.criticality_diagnostics(deviations)),
            },
        }
    }

    /// The fault for an error in the information elements of `pdu`, from `extract_ngap_ies!`,
    /// `ie::<T>()` or `decode_value()`. A value that does not decode is a transfer syntax error
    /// (10.2), a missing element an abstract syntax error (10.3.5).
    pub fn of(pdu: &NGAPPDU<'_>, error: &Error) -> Self {
        let deviation = Deviation::of(error);
        let cause = deviation.as_ref().and_then(Deviation::cause).unwrap_or(match deviation {
            // Criticality "ignore", but the handler requires it, so it cannot continue.
            Some(_) => CauseProtocol::abstract_syntax_error_reject,
            None => CauseProtocol::transfer_syntax_error,
        });
        let mut fault = Self::new(pdu, cause, &Vec::from_iter(deviation));
        fault.what = error.to_string();
        fault
    }

    /// A well-formed message that cannot be processed (10.4): it does not fit the receiver's state,
    /// or names an unknown UE. `what` is for logs.
    pub fn logical(pdu: &NGAPPDU<'_>, cause: Cause, what: impl Into<String>) -> Self {
        let mut fault = Self::new(pdu, CauseProtocol::unspecified, &[]);
        fault.cause = cause;
        fault.what = what.into();
        fault
    }

    /// "Message not compatible with receiver state" (10.4).
    pub fn state(pdu: &NGAPPDU<'_>, what: impl Into<String>) -> Self {
        Self::logical(
            pdu,
            Cause::protocol(CauseProtocol::message_not_compatible_with_receiver_state),
            what,
        )
    }

    fn reaction_to(pdu: &NGAPPDU<'_>) -> Reaction {
        let ue = UeIds::of(pdu);
        let both = ue.amf.is_some() && ue.ran.is_some();
        let is_known = !matches!(pdu.kind(), NgapPduKind::Other { .. });
        match pdu.procedure_code() {
            procedure::ERROR_INDICATION => Reaction::Nothing,
            _ if !pdu.is_initiating() => Reaction::Local,
            procedure::NG_SETUP
            | procedure::RAN_CONFIGURATION_UPDATE
            | procedure::AMF_CONFIGURATION_UPDATE
                if is_known =>
            {
                Reaction::UnsuccessfulOutcome
            }
            // Without the identities, the answer could not name the UE (10.3.5).
            procedure::INITIAL_CONTEXT_SETUP
            | procedure::HANDOVER_PREPARATION
            | procedure::UE_CONTEXT_MODIFICATION
                if both =>
            {
                Reaction::UnsuccessfulOutcome
            }
            procedure::HANDOVER_RESOURCE_ALLOCATION if ue.amf.is_some() => {
                Reaction::UnsuccessfulOutcome
            }
            _ => Reaction::ErrorIndication,
        }
    }

    /// The message to send, if any. Also `None` where the answer does not encode, which no received
    /// message causes.
    pub fn answer(&self) -> Option<NGAP_PDU> {
        match self.reaction {
            Reaction::Nothing | Reaction::Local => None,
            Reaction::ErrorIndication => {
                error_indication(self.ue, Some(self.cause.clone()), self.diagnostics.clone()).ok()
            }
            Reaction::UnsuccessfulOutcome => self.unsuccessful_outcome().and_then(Result::ok),
        }
    }

    /// The unsuccessful outcome of the procedure.
    fn unsuccessful_outcome(&self) -> Option<Result<NGAP_PDU, Error>> {
        let cause = self.cause.clone();
        // An empty list of elements adds nothing to the cause.
        let diagnostics =
            self.diagnostics.clone().filter(|it| it.ies_criticality_diagnostics.is_some());
        macro_rules! failure {
            ($procedure:ident, $message:ident $(, $id:ident($value:expr))*) => {
                match diagnostics {
                    Some(diagnostics) => build_ngap!(UnsuccessfulOutcome, $procedure, $message,
                        $($id($value),)* Cause(cause), CriticalityDiagnostics(diagnostics)),
                    None => build_ngap!(UnsuccessfulOutcome, $procedure, $message,
                        $($id($value),)* Cause(cause)),
                }
            };
        }
        Some(match self.procedure? {
            procedure::NG_SETUP => failure!(NGSetup, NGSetupFailure),
            procedure::RAN_CONFIGURATION_UPDATE => {
                failure!(RANConfigurationUpdate, RANConfigurationUpdateFailure)
            }
            procedure::AMF_CONFIGURATION_UPDATE => {
                failure!(AMFConfigurationUpdate, AMFConfigurationUpdateFailure)
            }
            procedure::INITIAL_CONTEXT_SETUP => {
                let (amf, ran) = self.ue.amf.zip(self.ue.ran)?;
                failure!(
                    InitialContextSetup,
                    InitialContextSetupFailure,
                    AMF_UE_NGAP_ID(amf),
                    RAN_UE_NGAP_ID(ran)
                )
            }
            procedure::UE_CONTEXT_MODIFICATION => {
                let (amf, ran) = self.ue.amf.zip(self.ue.ran)?;
                failure!(
                    UEContextModification,
                    UEContextModificationFailure,
                    AMF_UE_NGAP_ID(amf),
                    RAN_UE_NGAP_ID(ran)
                )
            }
            procedure::HANDOVER_PREPARATION => {
                let (amf, ran) = self.ue.amf.zip(self.ue.ran)?;
                failure!(
                    HandoverPreparation,
                    HandoverPreparationFailure,
                    AMF_UE_NGAP_ID(amf),
                    RAN_UE_NGAP_ID(ran)
                )
            }
            procedure::HANDOVER_RESOURCE_ALLOCATION => {
                failure!(HandoverResourceAllocation, HandoverFailure, AMF_UE_NGAP_ID(self.ue.amf?))
            }
            _ => return None,
        })
    }

    /// The criticality of the faulty message.
    pub fn criticality(&self) -> Option<Criticality> {
        self.diagnostics.as_ref().and_then(|diagnostics| diagnostics.procedure_criticality)
    }
}

#[cfg(test)]
mod tests;
