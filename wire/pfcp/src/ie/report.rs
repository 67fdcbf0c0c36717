//! Elements of session reports.
use super::address::Reader;
use super::{
    ApplicationId, DurationMeasurement, EndTime, EventTimeStamp, FTeid, PdrId, Qfi, RemoteGtpuPeer,
    StartTime, TimeOfFirstPacket, TimeOfLastPacket, UrSeqn, UrrId, UsageInformation,
    UsageReportTrigger, VolumeMeasurement,
};
use crate::grouped::group;
use crate::{DecodeError, IeValue};

/// The report type of a session report: a bit mask (8.2.21).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ReportType(pub u8);

impl ReportType {
    /// Downlink data arrived.
    pub const DLDR: ReportType = ReportType(1);
    /// Usage.
    pub const USAR: ReportType = ReportType(2);
    /// The peer of a tunnel sent an Error Indication.
    pub const ERIR: ReportType = ReportType(4);
    /// No traffic for a while.
    pub const UPIR: ReportType = ReportType(8);

    /// Whether these bits are set.
    pub fn has(self, other: ReportType) -> bool {
        self.0 & other.0 == other.0
    }
}

impl IeValue for ReportType {
    const TYPE: u16 = 39;
    fn decode(value: &[u8], _: usize) -> Result<Self, DecodeError> {
        Ok(ReportType(Reader::new(value, Self::TYPE).u8()?))
    }
    fn encode(&self, out: &mut Vec<u8>) {
        out.push(self.0);
    }
}

/// Downlink data service information: about the packet that caused a notification (8.2.27).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct DownlinkDataServiceInformation {
    /// Paging policy indication: the DSCP, 6 bits.
    pub paging_policy: Option<u8>,
    /// QoS flow.
    pub qfi: Option<Qfi>,
}

impl IeValue for DownlinkDataServiceInformation {
    const TYPE: u16 = 45;
    fn decode(value: &[u8], _: usize) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(value, Self::TYPE);
        let flags = reader.u8()?;
        let paging_policy = (flags & 1 != 0).then(|| reader.u8()).transpose()?;
        let qfi = (flags & 2 != 0).then(|| reader.u8()).transpose()?.map(Qfi);
        Ok(DownlinkDataServiceInformation { paging_policy, qfi })
    }
    fn encode(&self, out: &mut Vec<u8>) {
        out.push(u8::from(self.paging_policy.is_some()) | u8::from(self.qfi.is_some()) << 1);
        out.extend(self.paging_policy);
        out.extend(self.qfi.map(|qfi| qfi.0));
    }
}

group! {
    /// Downlink data arrived for a session whose packets are buffered (7.5.8.2).
    DownlinkDataReport = 83 {
        /** The PDRs that the packets matched. */ list pdr_ids: PdrId,
        /** The packet that caused the report. */
        opt service_information: DownlinkDataServiceInformation,
    }
}

group! {
    /// Tunnels of which the peer sent an Error Indication (7.5.8.4).
    ErrorIndicationReport = 99 {
        /** Their F-TEIDs at the peers. */ list remote_fteids: FTeid,
    }
}

group! {
    /// Peers that do not answer (7.4.5.1.2).
    UserPlanePathFailureReport = 102 {
        /** The peers. */ list peers: RemoteGtpuPeer,
    }
}

group! {
    /// The application whose traffic started or stopped (7.5.8.3-2).
    ApplicationDetectionInformation = 68 {
        /** The application. */ req application_id: ApplicationId,
    }
}

macro_rules! usage_reports {
    ($($(#[$meta:meta])* $name:ident = $type:literal;)*) => {$(
        group! {
            $(#[$meta])*
            #[derive(Default)]
            $name = $type {
                /** The rule. */ req urr_id: UrrId,
                /** Number of the report. */ req ur_seqn: UrSeqn,
                /** Trigger of the report. */ req trigger: UsageReportTrigger,
                /** Start of the measurement. */ opt start: StartTime,
                /** End of the measurement. */ opt end: EndTime,
                /** Volume. */ opt volume: VolumeMeasurement,
                /** Duration. */ opt duration: DurationMeasurement,
                /** The application whose traffic started or stopped. */
                opt application: ApplicationDetectionInformation,
                /** The first packet. */ opt first_packet: TimeOfFirstPacket,
                /** The last packet. */ opt last_packet: TimeOfLastPacket,
                /** Before or after the Monitoring Time. */ opt information: UsageInformation,
                /** When events occurred. */ list events: EventTimeStamp,
            }
        }
    )*};
}

usage_reports! {
    /// Usage in the response to a session modification (7.5.5.2).
    UsageReportInModification = 78;
    /// Usage in the response to a session deletion (7.5.7.2).
    UsageReportInDeletion = 79;
    /// Usage in a session report (7.5.8.3).
    UsageReport = 80;
}
