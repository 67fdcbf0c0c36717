//! QoS of a session and of its flows (TS 38.413, 9.3.1.12, 9.3.1.18, 9.3.1.19, 9.3.1.28,
//! 9.3.1.102).

use oxirush_ngap::ngap::{
    AllocationAndRetentionPriority, AveragingWindow, BitRate, Cause, DelayCritical,
    Dynamic5QIDescriptor, FiveQI, GBRQosInformation, MaximumDataBurstVolume,
    NonDynamic5QIDescriptor, NotificationControl, PDUSessionAggregateMaximumBitRate,
    PacketDelayBudget, PacketErrorRate, PacketLossRate, PreEmptionCapability,
    PreEmptionVulnerability, PriorityLevelARP, PriorityLevelQos, QosCharacteristics,
    QosFlowIdentifier, QosFlowLevelQosParameters, QosFlowListWithCause, QosFlowWithCauseItem,
    ReflectiveQosAttribute,
};

use super::TransferError;

pub(super) fn qfi_to(qfi: u8) -> QosFlowIdentifier {
    QosFlowIdentifier(qfi.into())
}

pub(super) fn qfi_from(qfi: &QosFlowIdentifier) -> Result<u8, TransferError> {
    small("QoS flow identifier", qfi.0, 63)
}

/// `value` as an octet, if it is no more than `max`: the extension of an INTEGER lets a peer send
/// any number.
fn small(what: &str, value: u64, max: u8) -> Result<u8, TransferError> {
    match u8::try_from(value) {
        Ok(value) if value <= max => Ok(value),
        _ => Err(TransferError::semantic(format!("a {what} of {value}: it is {max} at most"))),
    }
}

fn medium(what: &str, value: u64) -> Result<u16, TransferError> {
    u16::try_from(value)
        .map_err(|_| TransferError::semantic(format!("a {what} of {value} does not fit 16 bits")))
}

/// The aggregate maximum bit rate of a session's non-GBR flows, in bit/s (TS 38.413, 9.3.1.102).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ambr {
    /// To the UE, bit/s.
    pub downlink: u64,
    /// From the UE, bit/s.
    pub uplink: u64,
}

impl Ambr {
    pub(super) fn to_asn(self) -> PDUSessionAggregateMaximumBitRate {
        PDUSessionAggregateMaximumBitRate::new(BitRate(self.downlink), BitRate(self.uplink), None)
    }

    pub(super) fn from_asn(rate: &PDUSessionAggregateMaximumBitRate) -> Self {
        Self {
            downlink: rate.pdu_session_aggregate_maximum_bit_rate_dl.0,
            uplink: rate.pdu_session_aggregate_maximum_bit_rate_ul.0,
        }
    }
}

/// Allocation and retention priority (TS 38.413, 9.3.1.19).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arp {
    /// 1 (highest) to 15.
    pub priority: u8,
    /// Whether the flow may pre-empt another one ("may trigger pre-emption").
    pub may_preempt: bool,
    /// Whether another one may pre-empt this flow ("pre-emptable").
    pub preemptable: bool,
}

impl Arp {
    /// A priority level without preemption of others or by others.
    pub fn level(priority: u8) -> Self {
        Self { priority, may_preempt: false, preemptable: false }
    }

    fn to_asn(self) -> AllocationAndRetentionPriority {
        AllocationAndRetentionPriority::new(
            PriorityLevelARP(self.priority),
            if self.may_preempt {
                PreEmptionCapability::may_trigger_pre_emption
            } else {
                PreEmptionCapability::shall_not_trigger_pre_emption
            },
            if self.preemptable {
                PreEmptionVulnerability::pre_emptable
            } else {
                PreEmptionVulnerability::not_pre_emptable
            },
            None,
        )
    }

    fn from_asn(arp: &AllocationAndRetentionPriority) -> Self {
        Self {
            priority: arp.priority_level_arp.0,
            may_preempt: arp.pre_emption_capability
                == PreEmptionCapability::may_trigger_pre_emption,
            preemptable: arp.pre_emption_vulnerability == PreEmptionVulnerability::pre_emptable,
        }
    }
}

/// QoS characteristics of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FiveQi {
    /// A 5QI of TS 23.501, table 5.7.4-1, or one that the operator configured in the RAN (TS
    /// 38.413, 9.3.1.28), with the values that replace those of the table.
    Standard {
        /// 5QI, 0 to 255.
        five_qi: u8,
        /// Priority level, 1 (highest) to 127.
        priority: Option<u8>,
        /// Averaging window, milliseconds, 0 to 4095.
        averaging_window: Option<u16>,
        /// Maximum data burst volume, bytes.
        max_data_burst: Option<u64>,
    },
    /// Characteristics that are signalled in full (TS 38.413, 9.3.1.18).
    Dynamic(DynamicFiveQi),
}

/// QoS characteristics that are signalled in full (TS 38.413, 9.3.1.18).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DynamicFiveQi {
    /// Priority level, 1 (highest) to 127.
    pub priority: u8,
    /// Packet delay budget in units of 0.5 ms, 0 to 1023.
    pub delay_budget: u16,
    /// Packet error rate as (scalar, exponent): scalar · 10^-exponent, 0 to 9 each.
    pub error_rate: (u8, u8),
    /// The 5QI, if one is assigned to these characteristics.
    pub five_qi: Option<u8>,
    /// Whether a GBR flow is delay critical.
    pub delay_critical: Option<bool>,
    /// Averaging window, milliseconds.
    pub averaging_window: Option<u16>,
    /// Maximum data burst volume, bytes.
    pub max_data_burst: Option<u64>,
}

impl FiveQi {
    /// A 5QI of the table, as the table has it.
    pub fn standard(five_qi: u8) -> Self {
        Self::Standard { five_qi, priority: None, averaging_window: None, max_data_burst: None }
    }

    /// The 5QI, if there is one.
    pub fn five_qi(&self) -> Option<u8> {
        match self {
            Self::Standard { five_qi, .. } => Some(*five_qi),
            Self::Dynamic(dynamic) => dynamic.five_qi,
        }
    }

    fn to_asn(self) -> QosCharacteristics {
        match self {
            Self::Standard { five_qi, priority, averaging_window, max_data_burst } => {
                QosCharacteristics::nonDynamic5QI(NonDynamic5QIDescriptor::new(
                    FiveQI(five_qi.into()),
                    priority.map(|level| PriorityLevelQos(level.into())),
                    averaging_window.map(|window| AveragingWindow(window.into())),
                    max_data_burst.map(MaximumDataBurstVolume),
                    None,
                ))
            }
            Self::Dynamic(dynamic) => QosCharacteristics::dynamic5QI(Dynamic5QIDescriptor::new(
                PriorityLevelQos(dynamic.priority.into()),
                PacketDelayBudget(dynamic.delay_budget.into()),
                PacketErrorRate::new(
                    dynamic.error_rate.0.into(),
                    dynamic.error_rate.1.into(),
                    None,
                ),
                dynamic.five_qi.map(|five_qi| FiveQI(five_qi.into())),
                dynamic.delay_critical.map(|critical| {
                    if critical {
                        DelayCritical::delay_critical
                    } else {
                        DelayCritical::non_delay_critical
                    }
                }),
                dynamic.averaging_window.map(|window| AveragingWindow(window.into())),
                dynamic.max_data_burst.map(MaximumDataBurstVolume),
                None,
            )),
        }
    }

    fn from_asn(characteristics: &QosCharacteristics) -> Result<Self, TransferError> {
        let five_qi = |five_qi: &FiveQI| small("5QI", five_qi.0, 255);
        let priority = |level: &PriorityLevelQos| small("QoS priority level", level.0, 127);
        let window = |window: &AveragingWindow| medium("averaging window", window.0);
        match characteristics {
            QosCharacteristics::nonDynamic5QI(descriptor) => Ok(Self::Standard {
                five_qi: five_qi(&descriptor.five_qi)?,
                priority: descriptor.priority_level_qos.as_ref().map(priority).transpose()?,
                averaging_window: descriptor.averaging_window.as_ref().map(window).transpose()?,
                max_data_burst: descriptor
                    .maximum_data_burst_volume
                    .as_ref()
                    .map(|volume| volume.0),
            }),
            QosCharacteristics::dynamic5QI(descriptor) => {
                let rate = &descriptor.packet_error_rate;
                Ok(Self::Dynamic(DynamicFiveQi {
                    priority: priority(&descriptor.priority_level_qos)?,
                    delay_budget: medium("packet delay budget", descriptor.packet_delay_budget.0)?,
                    error_rate: (
                        small("packet error rate scalar", rate.per_scalar, 9)?,
                        small("packet error rate exponent", rate.per_exponent, 9)?,
                    ),
                    five_qi: descriptor.five_qi.as_ref().map(five_qi).transpose()?,
                    delay_critical: descriptor
                        .delay_critical
                        .as_ref()
                        .map(|critical| *critical == DelayCritical::delay_critical),
                    averaging_window: descriptor
                        .averaging_window
                        .as_ref()
                        .map(window)
                        .transpose()?,
                    max_data_burst: descriptor
                        .maximum_data_burst_volume
                        .as_ref()
                        .map(|volume| volume.0),
                }))
            }
            _ => Err(TransferError::semantic(
                "QoS characteristics of a kind that this release does not have",
            )),
        }
    }
}

/// Bit rates of a GBR flow, bit/s (TS 38.413, 9.3.1.10).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GuaranteedBitRate {
    /// Maximum to the UE.
    pub max_downlink: u64,
    /// Maximum from the UE.
    pub max_uplink: u64,
    /// Guaranteed to the UE.
    pub downlink: u64,
    /// Guaranteed from the UE.
    pub uplink: u64,
    /// Whether the RAN reports when it no longer fulfils the guarantee.
    pub notify: bool,
    /// Maximum packet loss to the UE, in tenths of a percent, 0 to 1000.
    pub max_loss_downlink: Option<u16>,
    /// Maximum packet loss from the UE, in tenths of a percent, 0 to 1000.
    pub max_loss_uplink: Option<u16>,
}

/// QoS parameters of a flow (TS 38.413, 9.3.1.12).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QosParameters {
    /// QoS characteristics of the flow.
    pub five_qi: FiveQi,
    /// Allocation and retention priority.
    pub arp: Arp,
    /// The guarantee of a GBR flow; none for a non-GBR flow.
    pub gbr: Option<GuaranteedBitRate>,
    /// Whether the flow may carry traffic that is subject to reflective QoS.
    pub reflective: bool,
}

impl QosParameters {
    pub(super) fn to_asn(self) -> QosFlowLevelQosParameters {
        QosFlowLevelQosParameters::new(
            self.five_qi.to_asn(),
            self.arp.to_asn(),
            self.gbr.map(|gbr| {
                GBRQosInformation::new(
                    BitRate(gbr.max_downlink),
                    BitRate(gbr.max_uplink),
                    BitRate(gbr.downlink),
                    BitRate(gbr.uplink),
                    gbr.notify.then_some(NotificationControl::notification_requested),
                    gbr.max_loss_downlink.map(|loss| PacketLossRate(loss.into())),
                    gbr.max_loss_uplink.map(|loss| PacketLossRate(loss.into())),
                    None,
                )
            }),
            self.reflective.then_some(ReflectiveQosAttribute::subject_to),
            None,
            None,
        )
    }

    pub(super) fn from_asn(parameters: &QosFlowLevelQosParameters) -> Result<Self, TransferError> {
        let loss = |rate: &Option<PacketLossRate>| {
            rate.as_ref().map(|rate| medium("packet loss rate", rate.0)).transpose()
        };
        let gbr = parameters.gbr_qos_information.as_ref().map(|gbr| {
            Ok::<_, TransferError>(GuaranteedBitRate {
                max_downlink: gbr.maximum_flow_bit_rate_dl.0,
                max_uplink: gbr.maximum_flow_bit_rate_ul.0,
                downlink: gbr.guaranteed_flow_bit_rate_dl.0,
                uplink: gbr.guaranteed_flow_bit_rate_ul.0,
                notify: gbr.notification_control.is_some(),
                max_loss_downlink: loss(&gbr.maximum_packet_loss_rate_dl)?,
                max_loss_uplink: loss(&gbr.maximum_packet_loss_rate_ul)?,
            })
        });
        Ok(Self {
            five_qi: FiveQi::from_asn(&parameters.qos_characteristics)?,
            arp: Arp::from_asn(&parameters.allocation_and_retention_priority),
            gbr: gbr.transpose()?,
            reflective: parameters.reflective_qos_attribute.is_some(),
        })
    }
}

/// A QoS flow with its parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QosFlow {
    /// QoS flow identifier, 0 to 63.
    pub qfi: u8,
    /// Its parameters.
    pub qos: QosParameters,
}

impl QosFlow {
    /// A non-GBR flow with a 5QI of TS 23.501, table 5.7.4-1.
    pub fn standard(qfi: u8, five_qi: u8, arp: Arp) -> Self {
        let qos =
            QosParameters { five_qi: FiveQi::standard(five_qi), arp, gbr: None, reflective: false };
        Self { qfi, qos }
    }
}

/// A QoS flow that was refused, or is to be released.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedFlow {
    /// QoS flow identifier, 0 to 63.
    pub qfi: u8,
    /// Why.
    pub cause: Cause,
}

impl FailedFlow {
    pub(super) fn list_to(flows: &[Self]) -> Option<QosFlowListWithCause> {
        (!flows.is_empty()).then(|| {
            let items = flows
                .iter()
                .map(|flow| QosFlowWithCauseItem::new(qfi_to(flow.qfi), flow.cause.clone(), None));
            QosFlowListWithCause(items.collect())
        })
    }

    pub(super) fn list_from(
        list: Option<&QosFlowListWithCause>,
    ) -> Result<Vec<Self>, TransferError> {
        let items = list.map(|list| list.0.as_slice()).unwrap_or_default();
        let flow = |item: &QosFlowWithCauseItem| {
            Ok(Self { qfi: qfi_from(&item.qos_flow_identifier)?, cause: item.cause.clone() })
        };
        items.iter().map(flow).collect()
    }
}
