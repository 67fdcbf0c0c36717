//! Messages (TS 29.244, 7.4 and 7.5).
use crate::grouped::group;
use crate::ie::*;
use crate::{DecodeError, Header};

group! {
    /// PFCP Heartbeat Request (7.4.2.1).
    HeartbeatRequest { /** Recovery time stamp of the sender. */ req recovery: RecoveryTimeStamp, }
}
group! {
    /// PFCP Heartbeat Response (7.4.2.2).
    HeartbeatResponse { /** Recovery time stamp of the sender. */ req recovery: RecoveryTimeStamp, }
}
group! {
    /// PFCP Association Setup Request (7.4.4.1).
    AssociationSetupRequest {
        /** Node ID of the sender. */ req node_id: NodeId,
        /** Recovery time stamp of the sender. */ req recovery: RecoveryTimeStamp,
        /** UP function features. */ opt up_features: UpFunctionFeatures,
        /** CP function features. */ opt cp_features: CpFunctionFeatures,
        /** Requests to retain sessions of the previous association. */
        opt retention: SessionRetention,
    }
}
group! {
    /// Requests to retain sessions of the previous association; without addresses, all of them
    /// (7.4.4.1.2).
    SessionRetention = 183 { }
}
group! {
    /// PFCP Association Setup Response (7.4.4.2).
    AssociationSetupResponse {
        /** Node ID of the sender. */ req node_id: NodeId,
        /** Cause. */ req cause: Cause,
        /** Recovery time stamp of the sender. */ req recovery: RecoveryTimeStamp,
        /** UP function features. */ opt up_features: UpFunctionFeatures,
        /** CP function features. */ opt cp_features: CpFunctionFeatures,
        /** Addresses for F-TEIDs that the CP function allocates. */
        list ip_resources: UserPlaneIpResource,
        /** Flags. */ opt flags: PfcpAsRspFlags,
    }
}
group! {
    /// PFCP Association Update Request (7.4.4.3).
    AssociationUpdateRequest {
        /** Node ID of the sender. */ req node_id: NodeId,
        /** UP function features. */ opt up_features: UpFunctionFeatures,
        /** CP function features. */ opt cp_features: CpFunctionFeatures,
        /** The UP function requests the association's release. */
        opt release_request: AssociationReleaseRequest,
        /** Graceful release period. */ opt release_period: GracefulReleasePeriod,
        /** Flags. */ opt flags: PfcpAuReqFlags,
    }
}
group! {
    /// PFCP Association Update Response (7.4.4.4).
    AssociationUpdateResponse {
        /** Node ID of the sender. */ req node_id: NodeId,
        /** Cause. */ req cause: Cause,
    }
}
group! {
    /// PFCP Association Release Request (7.4.4.5).
    AssociationReleaseRequestMessage { /** Node ID of the sender. */ req node_id: NodeId, }
}
group! {
    /// PFCP Association Release Response (7.4.4.6).
    AssociationReleaseResponse {
        /** Node ID of the sender. */ req node_id: NodeId,
        /** Cause. */ req cause: Cause,
    }
}
group! {
    /// PFCP Node Report Request (7.4.5.1).
    NodeReportRequest {
        /** Node ID of the sender. */ req node_id: NodeId,
        /** Report type. */ req report_type: NodeReportType,
        /** GTP-U peers that do not answer. */ opt path_failure: UserPlanePathFailureReport,
    }
}
group! {
    /// PFCP Node Report Response (7.4.5.2).
    NodeReportResponse {
        /** Node ID of the sender. */ req node_id: NodeId,
        /** Cause. */ req cause: Cause,
        /** Offending IE. */ opt offending_ie: OffendingIe,
    }
}
group! {
    /// PFCP Session Set Deletion Request (7.4.6.1).
    SessionSetDeletionRequest {
        /** Node ID of the sender. */ req node_id: NodeId,
        /** The PDN connection sets. */ list fq_csids: FqCsid,
    }
}
group! {
    /// PFCP Session Set Deletion Response (7.4.6.2).
    SessionSetDeletionResponse {
        /** Node ID of the sender. */ req node_id: NodeId,
        /** Cause. */ req cause: Cause,
        /** Offending IE. */ opt offending_ie: OffendingIe,
    }
}
group! {
    /// PFCP PFD Management Request (7.4.3.1). Without applications, it removes all PFDs.
    PfdManagementRequest {
        /** Applications and their PFDs. */ list applications: ApplicationIdsPfds,
    }
}
group! {
    /// PFCP PFD Management Response (7.4.3.2).
    PfdManagementResponse {
        /** Cause. */ req cause: Cause,
        /** Offending IE. */ opt offending_ie: OffendingIe,
    }
}
group! {
    /// PFCP Session Establishment Request (7.5.2).
    SessionEstablishmentRequest {
        /** Node ID of the sender. */ req node_id: NodeId,
        /** F-SEID of the CP function. */ req cp_fseid: FSeid,
        /** Rules to create. */ list create_pdrs: CreatePdr,
        /** Rules to create. */ list create_fars: CreateFar,
        /** Rules to create. */ list create_urrs: CreateUrr,
        /** Rules to create. */ list create_qers: CreateQer,
        /** Rule to create. */ opt create_bar: CreateBar,
        /** PDN type. */ opt pdn_type: PdnType,
        /** User plane inactivity timer. */ opt inactivity_timer: UserPlaneInactivityTimer,
        /** Flags. */ opt flags: PfcpSeReqFlags,
        /** Traffic endpoints to create. */
        list create_traffic_endpoints: CreateTrafficEndpoint,
        /** Its PDN connection sets. */ list fq_csids: FqCsid,
    }
}
group! {
    /// PFCP Session Establishment Response (7.5.3).
    SessionEstablishmentResponse {
        /** Node ID of the sender. */ req node_id: NodeId,
        /** Cause. */ req cause: Cause,
        /** Offending IE. */ opt offending_ie: OffendingIe,
        /** F-SEID of the UP function. */ opt up_fseid: FSeid,
        /** PDRs, with what the UP function allocated. */ list created_pdrs: CreatedPdr,
        /** Load control information. */ opt load: LoadControlInformation,
        /** Overload control information. */ opt overload: OverloadControlInformation,
        /** Failed rule ID. */ opt failed_rule: FailedRuleId,
        /** Traffic endpoints, with what the UP function allocated. */
        list created_traffic_endpoints: CreatedTrafficEndpoint,
    }
}
group! {
    /// PFCP Session Modification Request (7.5.4). The default changes nothing.
    #[derive(Default)]
    SessionModificationRequest {
        /** New F-SEID of the CP function. */ opt cp_fseid: FSeid,
        /** Rules to remove. */ list remove_pdrs: RemovePdr,
        /** Rules to remove. */ list remove_fars: RemoveFar,
        /** Rules to remove. */ list remove_urrs: RemoveUrr,
        /** Rules to remove. */ list remove_qers: RemoveQer,
        /** Rule to remove. */ opt remove_bar: RemoveBar,
        /** Rules to create. */ list create_pdrs: CreatePdr,
        /** Rules to create. */ list create_fars: CreateFar,
        /** Rules to create. */ list create_urrs: CreateUrr,
        /** Rules to create. */ list create_qers: CreateQer,
        /** Rule to create. */ opt create_bar: CreateBar,
        /** Rules to update. */ list update_pdrs: UpdatePdr,
        /** Rules to update. */ list update_fars: UpdateFar,
        /** Rules to update. */ list update_urrs: UpdateUrr,
        /** Rules to update. */ list update_qers: UpdateQer,
        /** Rule to update. */ opt update_bar: UpdateBar,
        /** Flags. */ opt flags: PfcpSmReqFlags,
        /** URRs to report at once. */ list query_urrs: QueryUrr,
        /** User plane inactivity timer. */ opt inactivity_timer: UserPlaneInactivityTimer,
        /** Traffic endpoints to remove. */ list remove_traffic_endpoints: RemoveTrafficEndpoint,
        /** Traffic endpoints to create. */ list create_traffic_endpoints: CreateTrafficEndpoint,
        /** Traffic endpoints to update. */ list update_traffic_endpoints: UpdateTrafficEndpoint,
        /** Its PDN connection sets. */ list fq_csids: FqCsid,
    }
}
group! {
    /// PFCP Session Modification Response (7.5.5).
    SessionModificationResponse {
        /** Cause. */ req cause: Cause,
        /** Offending IE. */ opt offending_ie: OffendingIe,
        /** PDRs, with what the UP function allocated. */ list created_pdrs: CreatedPdr,
        /** Load control information. */ opt load: LoadControlInformation,
        /** Overload control information. */ opt overload: OverloadControlInformation,
        /** Usage reports. */ list usage_reports: UsageReportInModification,
        /** Failed rule ID. */ opt failed_rule: FailedRuleId,
        /** Traffic endpoints, with what the UP function allocated. */
        list created_traffic_endpoints: CreatedTrafficEndpoint,
    }
}
group! {
    /// PFCP Session Deletion Request (7.5.6).
    SessionDeletionRequest { }
}
group! {
    /// PFCP Session Deletion Response (7.5.7).
    SessionDeletionResponse {
        /** Cause. */ req cause: Cause,
        /** Offending IE. */ opt offending_ie: OffendingIe,
        /** Load control information. */ opt load: LoadControlInformation,
        /** Overload control information. */ opt overload: OverloadControlInformation,
        /** Usage reports. */ list usage_reports: UsageReportInDeletion,
    }
}
group! {
    /// PFCP Session Report Request (7.5.8).
    SessionReportRequest {
        /** Report type. */ req report_type: ReportType,
        /** Downlink data report. */ opt downlink_data: DownlinkDataReport,
        /** Usage reports. */ list usage_reports: UsageReport,
        /** Error indication report. */ opt error_indication: ErrorIndicationReport,
        /** Load control information. */ opt load: LoadControlInformation,
        /** Overload control information. */ opt overload: OverloadControlInformation,
    }
}
group! {
    /// PFCP Session Report Response (7.5.9).
    SessionReportResponse {
        /** Cause. */ req cause: Cause,
        /** Offending IE. */ opt offending_ie: OffendingIe,
        /** Flags. */ opt flags: PfcpSrRspFlags,
    }
}
group! {
    /// PFCP Version Not Supported (7.4.4.7).
    VersionNotSupported { }
}

macro_rules! messages {
    ($($number:literal $name:ident($body:ty)),* $(,)?) => {
        /// A message.
        #[derive(Debug, Clone, PartialEq)]
        #[allow(missing_docs, clippy::large_enum_variant)]
        pub enum Message { $($name($body),)* }

        impl Message {
            /// Its type (table 7.3-1).
            pub fn message_type(&self) -> u8 {
                match self { $(Message::$name(_) => $number,)* }
            }
            /// Its name.
            pub fn name(&self) -> &'static str {
                match self { $(Message::$name(_) => stringify!($name),)* }
            }
            fn decode(message_type: u8, body: &[u8]) -> Result<Self, DecodeError> {
                match message_type {
                    $($number => <$body>::decode_members(body, 0, 0).map(Message::$name),)*
                    other => Err(DecodeError::UnknownMessage(other)),
                }
            }
            fn encode_body(&self, out: &mut Vec<u8>) {
                match self { $(Message::$name(body) => body.encode_members(out),)* }
            }
        }
        $(impl From<$body> for Message { fn from(body: $body) -> Self { Message::$name(body) } })*
    };
}

messages! {
    1 HeartbeatRequest(HeartbeatRequest),
    2 HeartbeatResponse(HeartbeatResponse),
    3 PfdManagementRequest(PfdManagementRequest),
    4 PfdManagementResponse(PfdManagementResponse),
    5 AssociationSetupRequest(AssociationSetupRequest),
    6 AssociationSetupResponse(AssociationSetupResponse),
    7 AssociationUpdateRequest(AssociationUpdateRequest),
    8 AssociationUpdateResponse(AssociationUpdateResponse),
    9 AssociationReleaseRequest(AssociationReleaseRequestMessage),
    10 AssociationReleaseResponse(AssociationReleaseResponse),
    11 VersionNotSupported(VersionNotSupported),
    12 NodeReportRequest(NodeReportRequest),
    13 NodeReportResponse(NodeReportResponse),
    14 SessionSetDeletionRequest(SessionSetDeletionRequest),
    15 SessionSetDeletionResponse(SessionSetDeletionResponse),
    50 SessionEstablishmentRequest(SessionEstablishmentRequest),
    51 SessionEstablishmentResponse(SessionEstablishmentResponse),
    52 SessionModificationRequest(SessionModificationRequest),
    53 SessionModificationResponse(SessionModificationResponse),
    54 SessionDeletionRequest(SessionDeletionRequest),
    55 SessionDeletionResponse(SessionDeletionResponse),
    56 SessionReportRequest(SessionReportRequest),
    57 SessionReportResponse(SessionReportResponse),
}

impl Message {
    /// Whether its header has a session endpoint identifier.
    pub fn is_of_session(&self) -> bool {
        self.message_type() >= 50
    }

    /// Whether it is a request.
    pub fn is_request(&self) -> bool {
        is_request(self.message_type())
    }
}

/// Whether a message type is a request.
pub fn is_request(message_type: u8) -> bool {
    match message_type {
        1..=10 => !message_type.is_multiple_of(2),
        12..=15 | 50..=57 => message_type.is_multiple_of(2),
        _ => false,
    }
}

/// A message with its header.
#[derive(Debug, Clone, PartialEq)]
pub struct Packet {
    /// Session endpoint identifier of the receiver; 0 where it is not known yet.
    pub seid: Option<u64>,
    /// Sequence number, 24 bits.
    pub sequence: u32,
    /// The message.
    pub message: Message,
}

impl Packet {
    /// A message of a node.
    pub fn node(sequence: u32, message: impl Into<Message>) -> Self {
        Packet { seid: None, sequence, message: message.into() }
    }

    /// A message of a session.
    pub fn session(seid: u64, sequence: u32, message: impl Into<Message>) -> Self {
        Packet { seid: Some(seid), sequence, message: message.into() }
    }

    /// Decodes a packet. If this fails, [`Header::decode`] may still return the header, for the
    /// response.
    pub fn decode(bytes: &[u8]) -> Result<Packet, DecodeError> {
        let (header, body) = Header::decode(bytes)?;
        let message = Message::decode(header.message_type, body)?;
        // A session's message without an identifier cannot be delivered (7.2.2.4).
        let seid = if message.is_of_session() {
            Some(header.seid.ok_or(DecodeError::Truncated)?)
        } else {
            None
        };
        Ok(Packet { seid, sequence: header.sequence, message })
    }

    /// The response to a request of another version (TS 29.244, 7.6.3), with the request's sequence
    /// number if it is where version 1 has it. `None` if the message is not a request.
    pub fn refuse_version(bytes: &[u8]) -> Option<Vec<u8>> {
        let mut bytes = bytes.to_vec();
        let first = bytes.first_mut()?;
        *first = *first & 0x1f | 0x20;
        let (header, _) = Header::decode(&bytes).ok()?;
        is_request(header.message_type)
            .then(|| Packet::node(header.sequence, VersionNotSupported {}).encode())
    }

    /// The bytes.
    pub fn encode(&self) -> Vec<u8> {
        let message_type = self.message.message_type();
        let header =
            Header { message_type, seid: self.seid, sequence: self.sequence, priority: None };
        header.encode(|out| self.message.encode_body(out))
    }
}
