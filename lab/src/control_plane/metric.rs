//! The latencies that are measured.
use clap::ValueEnum;
use martlet_ran::Procedure;

/// A measured latency, in the order of figures and plots.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Metric {
    /// Initial registration
    Registration,
    /// PDU session establishment
    PduSession,
    /// N2 handover: HANDOVER REQUIRED sent until the source's context is released
    Handover,
    /// Xn handover: PATH SWITCH REQUEST sent to its ACKNOWLEDGE received
    PathSwitch,
    /// PAGING received to SERVICE ACCEPT received
    Paging,
    /// Arrival of a packet for an idle UE at the UPF to its delivery to the UE
    FirstPacket,
}

impl Metric {
    pub(super) const ALL: [Metric; 6] = [
        Metric::Registration,
        Metric::PduSession,
        Metric::Handover,
        Metric::PathSwitch,
        Metric::Paging,
        Metric::FirstPacket,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Metric::Registration => "registration",
            Metric::PduSession => "pdu_session",
            Metric::Handover => "handover",
            Metric::PathSwitch => "path_switch",
            Metric::Paging => "paging",
            Metric::FirstPacket => "first_packet",
        }
    }

    pub(super) fn title(self) -> &'static str {
        match self {
            Metric::Registration => "registration",
            Metric::PduSession => "PDU session establishment",
            Metric::Handover => "N2 handover",
            Metric::PathSwitch => "path switch after an Xn handover",
            Metric::Paging => "service request after paging",
            Metric::FirstPacket => "first packet to an idle UE",
        }
    }

    pub(super) fn of(procedure: Procedure) -> Option<Metric> {
        match procedure {
            Procedure::Registration => Some(Metric::Registration),
            Procedure::PduSessionEstablishment => Some(Metric::PduSession),
            Procedure::Handover => Some(Metric::Handover),
            Procedure::PathSwitch => Some(Metric::PathSwitch),
            Procedure::PagingResponse => Some(Metric::Paging),
            _ => None,
        }
    }
}
