//! PDU session resource setup (TS 38.413, 8.2.1, 9.3.4.1, 9.3.4.2, 9.3.4.16).

use oxirush_ngap::extract_ngap_ies;
use oxirush_ngap::ngap::{
    Cause, DataForwardingNotPossible, NetworkInstance, PDUSessionAggregateMaximumBitRate,
    PDUSessionResourceSetupRequestTransfer, PDUSessionResourceSetupResponseTransfer,
    PDUSessionResourceSetupUnsuccessfulTransfer, PDUSessionType, ProtocolIEContainer,
    QosFlowSetupRequestItem, QosFlowSetupRequestList, SecurityIndication,
    UPTransportLayerInformation, UPTransportLayerInformationItem, UPTransportLayerInformationList,
};
use oxirush_ngap::{AsnType, build_ngap_ie};

use super::error::{check, ie_error, read, refused, write};
use super::qos::{qfi_from, qfi_to};
use super::{
    Ambr, FailedFlow, FlowTunnel, GtpTunnel, QosFlow, QosParameters, SecurityOutcome,
    TransferError, UserPlaneSecurity,
};

/// The type of a PDU session, as NGAP has it (TS 38.413, 9.3.1.52).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum SessionType {
    Ipv4,
    Ipv6,
    Ipv4v6,
    Ethernet,
    Unstructured,
}

impl SessionType {
    fn to_asn(self) -> PDUSessionType {
        match self {
            Self::Ipv4 => PDUSessionType::ipv4,
            Self::Ipv6 => PDUSessionType::ipv6,
            Self::Ipv4v6 => PDUSessionType::ipv4v6,
            Self::Ethernet => PDUSessionType::ethernet,
            Self::Unstructured => PDUSessionType::unstructured,
        }
    }

    fn from_asn(kind: PDUSessionType) -> Result<Self, TransferError> {
        Ok(match kind {
            PDUSessionType::ipv4 => Self::Ipv4,
            PDUSessionType::ipv6 => Self::Ipv6,
            PDUSessionType::ipv4v6 => Self::Ipv4v6,
            PDUSessionType::ethernet => Self::Ethernet,
            PDUSessionType::unstructured => Self::Unstructured,
            _ => {
                return Err(TransferError::semantic(
                    "a PDU session type that this release does not have",
                ));
            }
        })
    }
}

/// PDU Session Resource Setup Request Transfer, SMF to gNB (TS 38.413, 9.3.4.1).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetupRequest {
    /// Aggregate maximum bit rate of the session; mandatory in practice when a flow is non-GBR.
    pub ambr: Option<Ambr>,
    /// The UPF's end of the N3 tunnel.
    pub uplink: GtpTunnel,
    /// Further uplink tunnel ends, for split sessions.
    pub additional_uplink: Vec<GtpTunnel>,
    /// Whether the data forwarding of a handover is impossible.
    pub no_data_forwarding: bool,
    /// The type of the session.
    pub session_type: SessionType,
    /// The requirements on the user plane's security.
    pub security: Option<UserPlaneSecurity>,
    /// Network instance, 1 to 256: the transport network that the gNB uses for N3.
    pub network_instance: Option<u16>,
    /// The QoS flows. At least one, 64 at most.
    pub flows: Vec<QosFlow>,
}

impl SetupRequest {
    /// A request with the mandatory elements.
    pub fn new(uplink: GtpTunnel, session_type: SessionType, flows: Vec<QosFlow>) -> Self {
        Self {
            ambr: None,
            uplink,
            additional_uplink: Vec::new(),
            no_data_forwarding: false,
            session_type,
            security: None,
            network_instance: None,
            flows,
        }
    }

    /// The same with the session's aggregate maximum bit rate, bit/s.
    pub fn with_ambr(mut self, downlink: u64, uplink: u64) -> Self {
        self.ambr = Some(Ambr { downlink, uplink });
        self
    }

    /// The same with requirements on the user plane's security.
    pub fn with_security(mut self, security: UserPlaneSecurity) -> Self {
        self.security = Some(security);
        self
    }

    /// Encodes the transfer. Fails for a value that does not fit its field, such as an empty list
    /// of flows.
    pub fn encode(&self) -> Result<Vec<u8>, TransferError> {
        type Asn = PDUSessionResourceSetupRequestTransfer<'static>;
        let refused = |error| refused::<Asn>(&error);
        let mut ies = Vec::with_capacity(5);
        macro_rules! ie {
            ($($ie:tt)*) => {
                ies.push(build_ngap_ie!(PDUSessionResourceSetupRequestTransfer,
                    $($ie)*).map_err(refused)?)
            };
        }
        if let Some(ambr) = self.ambr {
            ie!(PDUSessionAggregateMaximumBitRate(ambr.to_asn()));
        }
        ie!(UL_NGU_UP_TNLInformation(self.uplink.to_asn()));
        if !self.additional_uplink.is_empty() {
            let items = self.additional_uplink.iter();
            let items = items
                .map(|tunnel| UPTransportLayerInformationItem::new(tunnel.to_asn(), None))
                .collect();
            ie!(AdditionalUL_NGU_UP_TNLInformation(UPTransportLayerInformationList(items)));
        }
        if self.no_data_forwarding {
            ie!(DataForwardingNotPossible(DataForwardingNotPossible::data_forwarding_not_possible));
        }
        ie!(PDUSessionType(self.session_type.to_asn()));
        if let Some(security) = self.security {
            ie!(SecurityIndication(security.to_asn()));
        }
        if let Some(instance) = self.network_instance {
            ie!(NetworkInstance(NetworkInstance(instance.into())));
        }
        let flows = self.flows.iter();
        let flows = flows.map(|flow| {
            QosFlowSetupRequestItem::new(qfi_to(flow.qfi), flow.qos.to_asn(), None, None)
        });
        ie!(QosFlowSetupRequestList(QosFlowSetupRequestList(flows.collect())));
        write(&Asn::new(ProtocolIEContainer(ies)))
    }

    /// Decodes a transfer. Information elements without a field here are skipped, unless their
    /// criticality is "reject".
    pub fn decode(bytes: &[u8]) -> Result<Self, TransferError> {
        type Asn<'a> = PDUSessionResourceSetupRequestTransfer<'a>;
        let transfer: Asn<'_> = read(bytes)?;
        let deviations = Asn::check_structure(bytes).map_err(ie_error::<Asn<'_>>)?;
        check(Asn::NAME, &deviations)?;
        (|| {
            extract_ngap_ies!(transfer, PDUSessionResourceSetupRequestTransfer,
                opt ambr: PDUSessionAggregateMaximumBitRate =
                    PDUSessionAggregateMaximumBitRate(rate) => rate,
                req uplink: UPTransportLayerInformation =
                    UL_NGU_UP_TNLInformation(tunnel) => tunnel,
                opt additional: UPTransportLayerInformationList =
                    AdditionalUL_NGU_UP_TNLInformation(list) => list,
                opt no_data_forwarding: DataForwardingNotPossible =
                    DataForwardingNotPossible(no) => no,
                req session_type: PDUSessionType = PDUSessionType(kind) => kind,
                opt security: SecurityIndication = SecurityIndication(security) => security,
                opt instance: NetworkInstance = NetworkInstance(instance) => instance,
                req flows: QosFlowSetupRequestList = QosFlowSetupRequestList(flows) => flows,
            );
            Ok((
                ambr,
                uplink,
                additional,
                no_data_forwarding,
                session_type,
                security,
                instance,
                flows,
            ))
        })()
        .map_err(ie_error::<Asn<'_>>)
        .and_then(
            |(
                ambr,
                uplink,
                additional,
                no_data_forwarding,
                session_type,
                security,
                instance,
                flows,
            )| {
                let additional = additional.map(|list| list.0).unwrap_or_default();
                Ok(Self {
                    ambr: ambr.as_ref().map(Ambr::from_asn),
                    uplink: GtpTunnel::from_asn(&uplink)?,
                    additional_uplink: additional
                        .iter()
                        .map(|item| GtpTunnel::from_asn(&item.ngu_up_tnl_information))
                        .collect::<Result<_, _>>()?,
                    no_data_forwarding: no_data_forwarding.is_some(),
                    session_type: SessionType::from_asn(session_type)?,
                    security: security.as_ref().map(UserPlaneSecurity::from_asn),
                    network_instance: instance
                        .map(|instance| {
                            u16::try_from(instance.0).map_err(|_| {
                                TransferError::semantic("a network instance over 65535")
                            })
                        })
                        .transpose()?,
                    flows: flows
                        .0
                        .iter()
                        .map(|item| {
                            Ok::<_, TransferError>(QosFlow {
                                qfi: qfi_from(&item.qos_flow_identifier)?,
                                qos: QosParameters::from_asn(&item.qos_flow_level_qos_parameters)?,
                            })
                        })
                        .collect::<Result<_, _>>()?,
                })
            },
        )
    }
}

/// PDU Session Resource Setup Response Transfer, gNB to SMF (TS 38.413, 9.3.4.2).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetupResponse {
    /// The gNB's end of the N3 tunnel, and the flows that were set up.
    pub downlink: FlowTunnel,
    /// Further downlink tunnel ends, for split sessions.
    pub additional_downlink: Vec<FlowTunnel>,
    /// The result of a security preference.
    pub security: Option<SecurityOutcome>,
    /// The flows that were not set up.
    pub failed_flows: Vec<FailedFlow>,
}

impl SetupResponse {
    /// A response in which every flow of `downlink` was set up and none failed.
    pub fn new(downlink: FlowTunnel) -> Self {
        Self { downlink, additional_downlink: Vec::new(), security: None, failed_flows: Vec::new() }
    }

    /// Encodes the transfer.
    pub fn encode(&self) -> Result<Vec<u8>, TransferError> {
        write(&PDUSessionResourceSetupResponseTransfer::new(
            self.downlink.to_asn(),
            FlowTunnel::list_to(&self.additional_downlink),
            self.security.map(SecurityOutcome::to_asn),
            FailedFlow::list_to(&self.failed_flows),
            None,
        ))
    }

    /// Decodes a transfer.
    pub fn decode(bytes: &[u8]) -> Result<Self, TransferError> {
        let transfer: PDUSessionResourceSetupResponseTransfer<'_> = read(bytes)?;
        Ok(Self {
            downlink: FlowTunnel::from_asn(&transfer.dl_qos_flow_per_tnl_information)?,
            additional_downlink: FlowTunnel::list_from(
                transfer.additional_dl_qos_flow_per_tnl_information.as_ref(),
            )?,
            security: transfer.security_result.as_ref().map(SecurityOutcome::from_asn),
            failed_flows: FailedFlow::list_from(transfer.qos_flow_failed_to_setup_list.as_ref())?,
        })
    }
}

/// PDU Session Resource Setup Unsuccessful Transfer, gNB to SMF (TS 38.413, 9.3.4.16).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetupUnsuccessful {
    /// Why the session was not set up.
    pub cause: Cause,
}

impl SetupUnsuccessful {
    /// A rejection for this cause.
    pub fn new(cause: Cause) -> Self {
        Self { cause }
    }

    /// Encodes the transfer.
    pub fn encode(&self) -> Result<Vec<u8>, TransferError> {
        write(&PDUSessionResourceSetupUnsuccessfulTransfer::new(self.cause.clone(), None, None))
    }

    /// Decodes a transfer.
    pub fn decode(bytes: &[u8]) -> Result<Self, TransferError> {
        let transfer: PDUSessionResourceSetupUnsuccessfulTransfer = read(bytes)?;
        Ok(Self { cause: transfer.cause })
    }
}
