//! Messages (TS 29.244, 7.4 and 7.5).
use crate::grouped::group;
use crate::ie::*;
use crate::{DecodeError, Header};

group! {
    /// Is the peer there? (7.4.2.1)
    HeartbeatRequest { /** When the sender started. */ req recovery: RecoveryTimeStamp, }
}
group! {
    /// It is (7.4.2.2).
    HeartbeatResponse { /** When the sender started. */ req recovery: RecoveryTimeStamp, }
}
group! {
    /// Sets an association up (7.4.4.1).
    AssociationSetupRequest {
        /** The sender. */ req node_id: NodeId,
        /** When it started. */ req recovery: RecoveryTimeStamp,
        /** What the sender can do as a UP function. */ opt up_features: UpFunctionFeatures,
        /** What the sender can do as a CP function. */ opt cp_features: CpFunctionFeatures,
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
    /// Answers it (7.4.4.2).
    AssociationSetupResponse {
        /** The sender. */ req node_id: NodeId,
        /** Whether it was accepted. */ req cause: Cause,
        /** When the sender started. */ req recovery: RecoveryTimeStamp,
        /** What the sender can do as a UP function. */ opt up_features: UpFunctionFeatures,
        /** What the sender can do as a CP function. */ opt cp_features: CpFunctionFeatures,
        /** Flags. */ opt flags: PfcpAsRspFlags,
    }
}
group! {
    /// Changes an association (7.4.4.3).
    AssociationUpdateRequest {
        /** The sender. */ req node_id: NodeId,
        /** What the sender can do as a UP function. */ opt up_features: UpFunctionFeatures,
        /** What the sender can do as a CP function. */ opt cp_features: CpFunctionFeatures,
        /** The UP function requests the association's release. */
        opt release_request: AssociationReleaseRequest,
        /** For how long it waits for that. */ opt release_period: GracefulReleasePeriod,
        /** Flags. */ opt flags: PfcpAuReqFlags,
    }
}
group! {
    /// Answers it (7.4.4.4).
    AssociationUpdateResponse {
        /** The sender. */ req node_id: NodeId,
        /** Whether it was accepted. */ req cause: Cause,
    }
}
group! {
/** Ends an association (7.4.4.5). */ AssociationReleaseRequestMessage {
/** The sender. */ req node_id: NodeId, } }
group! {
    /// Answers it (7.4.4.6).
    AssociationReleaseResponse {
        /** The sender. */ req node_id: NodeId,
        /** Whether it was accepted. */ req cause: Cause,
    }
}
group! {
    /// Something about the UP function as a whole (7.4.5.1).
    NodeReportRequest {
        /** The sender. */ req node_id: NodeId,
        /** What it is about. */ req report_type: NodeReportType,
        /** Peers that do not answer. */ opt path_failure: UserPlanePathFailureReport,
    }
}
group! {
    /// Answers it (7.4.5.2).
    NodeReportResponse {
        /** The sender. */ req node_id: NodeId,
        /** Whether it was accepted. */ req cause: Cause,
        /** The element at fault. */ opt offending_ie: OffendingIe,
    }
}
group! {
    /// Ends the sessions of connection sets (7.4.6.1).
    SessionSetDeletionRequest {
        /** The sender. */ req node_id: NodeId,
        /** The sets. */ list fq_csids: FqCsid,
    }
}
group! {
    /// Answers it (7.4.6.2).
    SessionSetDeletionResponse {
        /** The sender. */ req node_id: NodeId,
        /** Whether it was accepted. */ req cause: Cause,
        /** The element at fault. */ opt offending_ie: OffendingIe,
    }
}
group! {
    /// Tells the UP function of applications (7.4.3.1); without any, it forgets all of them.
    PfdManagementRequest { /** Applications. */ list applications: ApplicationIdsPfds, }
}
group! {
    /// Answers it (7.4.3.2).
    PfdManagementResponse {
        /** Whether it was accepted. */ req cause: Cause,
        /** The element at fault. */ opt offending_ie: OffendingIe,
    }
}
group! {
    /// Makes a session (7.5.2).
    SessionEstablishmentRequest {
        /** The sender. */ req node_id: NodeId,
        /** Where reports and answers go. */ req cp_fseid: FSeid,
        /** Rules. */ list create_pdrs: CreatePdr,
        /** Rules. */ list create_fars: CreateFar,
        /** Rules. */ list create_urrs: CreateUrr,
        /** Rules. */ list create_qers: CreateQer,
        /** Rule. */ opt create_bar: CreateBar,
        /** Kind of session. */ opt pdn_type: PdnType,
        /** When idleness is reported. */ opt inactivity_timer: UserPlaneInactivityTimer,
        /** Flags. */ opt flags: PfcpSeReqFlags,
        /** Tunnels and addresses of PDRs. */
        list create_traffic_endpoints: CreateTrafficEndpoint,
        /** Connection sets to which it belongs. */ list fq_csids: FqCsid,
    }
}
group! {
    /// Answers it (7.5.3).
    SessionEstablishmentResponse {
        /** The sender. */ req node_id: NodeId,
        /** Whether it was accepted. */ req cause: Cause,
        /** The element at fault. */ opt offending_ie: OffendingIe,
        /** Where later requests go. */ opt up_fseid: FSeid,
        /** What the UP function chose. */ list created_pdrs: CreatedPdr,
        /** Load. */ opt load: LoadControlInformation,
        /** Overload. */ opt overload: OverloadControlInformation,
        /** The rule at fault. */ opt failed_rule: FailedRuleId,
        /** What the UP function chose for traffic endpoints. */
        list created_traffic_endpoints: CreatedTrafficEndpoint,
    }
}
group! {
    /// Changes a session (7.5.4). By default it changes nothing.
    #[derive(Default)]
    SessionModificationRequest {
        /** A new end for reports and answers. */ opt cp_fseid: FSeid,
        /** Rules that go. */ list remove_pdrs: RemovePdr,
        /** Rules that go. */ list remove_fars: RemoveFar,
        /** Rules that go. */ list remove_urrs: RemoveUrr,
        /** Rules that go. */ list remove_qers: RemoveQer,
        /** Rule that goes. */ opt remove_bar: RemoveBar,
        /** New rules. */ list create_pdrs: CreatePdr,
        /** New rules. */ list create_fars: CreateFar,
        /** New rules. */ list create_urrs: CreateUrr,
        /** New rules. */ list create_qers: CreateQer,
        /** New rule. */ opt create_bar: CreateBar,
        /** Changed rules. */ list update_pdrs: UpdatePdr,
        /** Changed rules. */ list update_fars: UpdateFar,
        /** Changed rules. */ list update_urrs: UpdateUrr,
        /** Changed rules. */ list update_qers: UpdateQer,
        /** Changed rule. */ opt update_bar: UpdateBar,
        /** Flags. */ opt flags: PfcpSmReqFlags,
        /** Usage that is asked for. */ list query_urrs: QueryUrr,
        /** When idleness is reported. */ opt inactivity_timer: UserPlaneInactivityTimer,
        /** Traffic endpoints that go. */ list remove_traffic_endpoints: RemoveTrafficEndpoint,
        /** New traffic endpoints. */ list create_traffic_endpoints: CreateTrafficEndpoint,
        /** Changed traffic endpoints. */ list update_traffic_endpoints: UpdateTrafficEndpoint,
        /** Connection sets to which it belongs. */ list fq_csids: FqCsid,
    }
}
group! {
    /// Answers it (7.5.5).
    SessionModificationResponse {
        /** Whether it was accepted. */ req cause: Cause,
        /** The element at fault. */ opt offending_ie: OffendingIe,
        /** What the UP function chose. */ list created_pdrs: CreatedPdr,
        /** Load. */ opt load: LoadControlInformation,
        /** Overload. */ opt overload: OverloadControlInformation,
        /** Usage. */ list usage_reports: UsageReportInModification,
        /** The rule at fault. */ opt failed_rule: FailedRuleId,
        /** What the UP function chose for traffic endpoints. */
        list created_traffic_endpoints: CreatedTrafficEndpoint,
    }
}
group! { /** Ends a session (7.5.6). */ SessionDeletionRequest { } }
group! {
    /// Answers it (7.5.7).
    SessionDeletionResponse {
        /** Whether it was accepted. */ req cause: Cause,
        /** The element at fault. */ opt offending_ie: OffendingIe,
        /** Load. */ opt load: LoadControlInformation,
        /** Overload. */ opt overload: OverloadControlInformation,
        /** Usage. */ list usage_reports: UsageReportInDeletion,
    }
}
group! {
    /// Something about a session (7.5.8).
    SessionReportRequest {
        /** What it is about. */ req report_type: ReportType,
        /** Downlink data. */ opt downlink_data: DownlinkDataReport,
        /** Usage. */ list usage_reports: UsageReport,
        /** Tunnels that their peer does not know. */ opt error_indication: ErrorIndicationReport,
        /** Load. */ opt load: LoadControlInformation,
        /** Overload. */ opt overload: OverloadControlInformation,
    }
}
group! {
    /// Answers it (7.5.9).
    SessionReportResponse {
        /** Whether it was accepted. */ req cause: Cause,
        /** The element at fault. */ opt offending_ie: OffendingIe,
        /** Flags. */ opt flags: PfcpSrRspFlags,
    }
}
group! { /** The version is not known (7.4.4.7). */ VersionNotSupported { } }

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

    /// Whether it asks for an answer.
    pub fn is_request(&self) -> bool {
        is_request(self.message_type())
    }
}

/// Whether a message type asks for an answer.
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

    /// Reads a packet. Where only the header is readable, [`Header::decode`] still tells whom to
    /// answer.
    pub fn decode(bytes: &[u8]) -> Result<Packet, DecodeError> {
        let (header, body) = Header::decode(bytes)?;
        let message = Message::decode(header.message_type, body)?;
        // A session's message without an identifier has nowhere to go (7.2.2.4).
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
