//! The rules of a session: PDR, FAR, QER, URR, BAR (TS 29.244, 5.2 and 7.5).
use super::*;
use crate::grouped::group;

group! {
    /// Packet detection information: the packets that a PDR matches (7.5.2.2-2).
    #[derive(Default)]
    Pdi = 2 {
        /** Source interface. */ req source_interface: SourceInterface,
        /** Local F-TEID. */ opt local_fteid: FTeid,
        /** Network instance. */ opt network_instance: NetworkInstance,
        /** UE IP addresses. */ list ue_ip_addresses: UeIpAddress,
        /** SDF filters; one of them matches. */ list sdf_filters: SdfFilter,
        /** Application ID. */ opt application_id: ApplicationId,
        /** QFIs; one of them matches. */ list qfis: Qfi,
        /** All traffic of an Ethernet session. */ opt ethernet: EthernetPduSessionInformation,
        /** Ethernet packet filters; one of them matches. */
        list ethernet_filters: EthernetPacketFilter,
        /** IPv4 networks behind the UE. */ list framed_routes: FramedRoute,
        /** IPv6 networks behind the UE. */ list framed_ipv6_routes: FramedIpv6Route,
        /** Traffic endpoints that stand for tunnel and addresses. */
        list traffic_endpoints: TrafficEndpointId,
    }
}

impl Pdi {
    /// All packets of an interface.
    pub fn of(interface: Interface) -> Self {
        Pdi { source_interface: SourceInterface(interface), ..Pdi::default() }
    }
}

group! {
    /// Creates a packet detection rule (7.5.2.2-1).
    #[derive(Default)]
    CreatePdr = 1 {
        /** Its identifier. */ req pdr_id: PdrId,
        /** Of the PDRs that match, the one with the lowest value applies. */
        req precedence: Precedence,
        /** Packet detection information. */ req pdi: Pdi,
        /** Outer header removal. */ opt outer_header_removal: OuterHeaderRemoval,
        /** FAR. */ opt far_id: FarId,
        /** URRs. */ list urr_ids: UrrId,
        /** QERs. */ list qer_ids: QerId,
        /** Predefined rules of the UP function. */
        list activate_predefined_rules: ActivatePredefinedRules,
    }
}

group! {
    /// Updates a packet detection rule (7.5.4.2-1).
    #[derive(Default)]
    UpdatePdr = 9 {
        /** Its identifier. */ req pdr_id: PdrId,
        /** Outer header removal. */ opt outer_header_removal: OuterHeaderRemoval,
        /** Precedence. */ opt precedence: Precedence,
        /** Packet detection information. */ opt pdi: Pdi,
        /** FAR. */ opt far_id: FarId,
        /** URRs. */ list urr_ids: UrrId,
        /** QERs. */ list qer_ids: QerId,
        /** Predefined rules that apply from now on. */
        list activate_predefined_rules: ActivatePredefinedRules,
        /** Predefined rules that no longer apply. */
        list deactivate_predefined_rules: DeactivatePredefinedRules,
    }
}

group! {
    /// What the UP function allocated for a PDR (7.5.3.2-1).
    #[derive(Default)]
    CreatedPdr = 8 {
        /** Its identifier. */ req pdr_id: PdrId,
        /** Local F-TEID. */ opt local_fteid: FTeid,
        /** UE IP addresses. */ list ue_ip_addresses: UeIpAddress,
    }
}

group! {
    /// How packets are forwarded (7.5.2.3-2).
    #[derive(Default)]
    ForwardingParameters = 4 {
        /** Destination interface. */ req destination_interface: DestinationInterface,
        /** Network instance. */ opt network_instance: NetworkInstance,
        /** Outer header creation. */ opt outer_header_creation: OuterHeaderCreation,
        /** The DSCP of the outer header. */ opt transport_level_marking: TransportLevelMarking,
        /** Forwarding policy of the UP function. */ opt forwarding_policy: ForwardingPolicy,
        /** Redirect information. */ opt redirect: RedirectInformation,
        /** The traffic endpoint. */ opt linked_traffic_endpoint: TrafficEndpointId,
    }
}

group! {
    /// Updates how packets are forwarded (7.5.4.3-2).
    #[derive(Default)]
    UpdateForwardingParameters = 11 {
        /** Destination interface. */ opt destination_interface: DestinationInterface,
        /** Network instance. */ opt network_instance: NetworkInstance,
        /** Outer header creation. */ opt outer_header_creation: OuterHeaderCreation,
        /** Whether end markers are sent on the old path. */ opt flags: PfcpSmReqFlags,
        /** The DSCP of the outer header. */ opt transport_level_marking: TransportLevelMarking,
        /** Forwarding policy of the UP function. */ opt forwarding_policy: ForwardingPolicy,
        /** Redirect information. */ opt redirect: RedirectInformation,
        /** The traffic endpoint. */ opt linked_traffic_endpoint: TrafficEndpointId,
    }
}

group! {
    /// Creates a forwarding action rule (7.5.2.3-1).
    #[derive(Default)]
    CreateFar = 3 {
        /** Its identifier. */ req far_id: FarId,
        /** Apply action. */ req apply_action: ApplyAction,
        /** Forwarding parameters. */ opt forwarding_parameters: ForwardingParameters,
        /** BAR. */ opt bar_id: BarId,
        /** Duplicating parameters. */ list duplicating_parameters: DuplicatingParameters,
    }
}

group! {
    /// Updates a forwarding action rule (7.5.4.3-1).
    #[derive(Default)]
    UpdateFar = 10 {
        /** Its identifier. */ req far_id: FarId,
        /** Apply action. */ opt apply_action: ApplyAction,
        /** Forwarding parameters. */
        opt update_forwarding_parameters: UpdateForwardingParameters,
        /** BAR. */ opt bar_id: BarId,
        /** Duplicating parameters. */
        list update_duplicating_parameters: UpdateDuplicatingParameters,
    }
}

group! {
    /// Creates a QoS enforcement rule (7.5.2.5-1).
    #[derive(Default)]
    CreateQer = 7 {
        /** Its identifier. */ req qer_id: QerId,
        /** QERs with the same value share the limit. */ opt correlation_id: QerCorrelationId,
        /** Gate status. */ req gate_status: GateStatus,
        /** Maximum bit rate. */ opt mbr: Mbr,
        /** Guaranteed bit rate. */ opt gbr: Gbr,
        /** QFI for downlink packets. */ opt qfi: Qfi,
        /** Reflective QoS. */ opt rqi: Rqi,
        /** Packet rate. */ opt packet_rate: PacketRate,
        /** Paging policy indicator of downlink packets. */
        opt paging_policy: PagingPolicyIndicator,
    }
}

group! {
    /// Updates a QoS enforcement rule (7.5.4.5-1).
    #[derive(Default)]
    UpdateQer = 14 {
        /** Its identifier. */ req qer_id: QerId,
        /** QERs with the same value share the limit. */ opt correlation_id: QerCorrelationId,
        /** Gate status. */ opt gate_status: GateStatus,
        /** Maximum bit rate. */ opt mbr: Mbr,
        /** Guaranteed bit rate. */ opt gbr: Gbr,
        /** QFI for downlink packets. */ opt qfi: Qfi,
        /** Reflective QoS. */ opt rqi: Rqi,
        /** Packet rate. */ opt packet_rate: PacketRate,
        /** Paging policy indicator of downlink packets. */
        opt paging_policy: PagingPolicyIndicator,
    }
}

group! {
    /// Creates a usage reporting rule (7.5.2.4-1).
    #[derive(Default)]
    CreateUrr = 6 {
        /** Its identifier. */ req urr_id: UrrId,
        /** Measurement method. */ req measurement_method: MeasurementMethod,
        /** Reporting triggers. */ req reporting_triggers: ReportingTriggers,
        /** Measurement period. */ opt measurement_period: MeasurementPeriod,
        /** Volume threshold. */ opt volume_threshold: VolumeThreshold,
        /** Volume quota. */ opt volume_quota: VolumeQuota,
        /** Time threshold. */ opt time_threshold: TimeThreshold,
        /** Time quota. */ opt time_quota: TimeQuota,
        /** Time without traffic after which the quota expires. */
        opt quota_holding_time: QuotaHoldingTime,
        /** Time for which the quota is valid. */ opt quota_validity_time: QuotaValidityTime,
        /** Time at which usage is split. */ opt monitoring_time: MonitoringTime,
        /** Volume threshold after the Monitoring Time. */
        opt subsequent_volume_threshold: SubsequentVolumeThreshold,
        /** Time threshold after the Monitoring Time. */
        opt subsequent_time_threshold: SubsequentTimeThreshold,
        /** Volume quota after the Monitoring Time. */
        opt subsequent_volume_quota: SubsequentVolumeQuota,
        /** Time quota after the Monitoring Time. */ opt subsequent_time_quota: SubsequentTimeQuota,
        /** Event threshold. */ opt event_threshold: EventThreshold,
        /** Event quota. */ opt event_quota: EventQuota,
        /** Event threshold after the Monitoring Time. */
        opt subsequent_event_threshold: SubsequentEventThreshold,
        /** Event quota after the Monitoring Time. */
        opt subsequent_event_quota: SubsequentEventQuota,
        /** Time without traffic that is not measured. */
        opt inactivity_detection_time: InactivityDetectionTime,
        /** Linked URRs. */ list linked_urrs: LinkedUrrId,
        /** Flags. */ opt measurement_information: MeasurementInformation,
        /** FAR for packets beyond the quota. */ opt quota_far: FarId,
    }
}

group! {
    /// Updates a usage reporting rule (7.5.4.4-1).
    #[derive(Default)]
    UpdateUrr = 13 {
        /** Its identifier. */ req urr_id: UrrId,
        /** Measurement method. */ opt measurement_method: MeasurementMethod,
        /** Reporting triggers. */ opt reporting_triggers: ReportingTriggers,
        /** Measurement period. */ opt measurement_period: MeasurementPeriod,
        /** Volume threshold. */ opt volume_threshold: VolumeThreshold,
        /** Volume quota. */ opt volume_quota: VolumeQuota,
        /** Time threshold. */ opt time_threshold: TimeThreshold,
        /** Time quota. */ opt time_quota: TimeQuota,
        /** Time without traffic after which the quota expires. */
        opt quota_holding_time: QuotaHoldingTime,
        /** Time for which the quota is valid. */ opt quota_validity_time: QuotaValidityTime,
        /** Time at which usage is split. */ opt monitoring_time: MonitoringTime,
        /** Volume threshold after the Monitoring Time. */
        opt subsequent_volume_threshold: SubsequentVolumeThreshold,
        /** Time threshold after the Monitoring Time. */
        opt subsequent_time_threshold: SubsequentTimeThreshold,
        /** Volume quota after the Monitoring Time. */
        opt subsequent_volume_quota: SubsequentVolumeQuota,
        /** Time quota after the Monitoring Time. */ opt subsequent_time_quota: SubsequentTimeQuota,
        /** Event threshold. */ opt event_threshold: EventThreshold,
        /** Event quota. */ opt event_quota: EventQuota,
        /** Event threshold after the Monitoring Time. */
        opt subsequent_event_threshold: SubsequentEventThreshold,
        /** Event quota after the Monitoring Time. */
        opt subsequent_event_quota: SubsequentEventQuota,
        /** Time without traffic that is not measured. */
        opt inactivity_detection_time: InactivityDetectionTime,
        /** Linked URRs. */ list linked_urrs: LinkedUrrId,
        /** Flags. */ opt measurement_information: MeasurementInformation,
        /** FAR for packets beyond the quota. */ opt quota_far: FarId,
    }
}

group! {
    /// Creates a buffering action rule (7.5.2.6-1).
    CreateBar = 85 {
        /** Its identifier. */ req bar_id: BarId,
        /** Downlink data notification delay. */
        opt notification_delay: DownlinkDataNotificationDelay,
        /** Suggested number of buffered packets. */
        opt suggested_packets: SuggestedBufferingPacketsCount,
    }
}

group! {
    /// Updates a buffering action rule in a session modification (7.5.4.11-1).
    UpdateBar = 86 {
        /** Its identifier. */ req bar_id: BarId,
        /** Downlink data notification delay. */
        opt notification_delay: DownlinkDataNotificationDelay,
        /** Suggested number of buffered packets. */
        opt suggested_packets: SuggestedBufferingPacketsCount,
    }
}

group! {
    /// Removes a PDR (7.5.4.6).
    RemovePdr = 15 { /** Its identifier. */ req pdr_id: PdrId, }
}
group! {
    /// Removes a FAR (7.5.4.7).
    RemoveFar = 16 { /** Its identifier. */ req far_id: FarId, }
}
group! {
    /// Removes a URR (7.5.4.8).
    RemoveUrr = 17 { /** Its identifier. */ req urr_id: UrrId, }
}
group! {
    /// Removes a QER (7.5.4.9).
    RemoveQer = 18 { /** Its identifier. */ req qer_id: QerId, }
}
group! {
    /// Removes a BAR (7.5.4.12).
    RemoveBar = 87 { /** Its identifier. */ req bar_id: BarId, }
}
group! {
    /// Requests a usage report at once (7.5.4.10).
    QueryUrr = 77 { /** Its identifier. */ req urr_id: UrrId, }
}

group! {
    /// Load of the sender (7.5.3.3-1).
    LoadControlInformation = 51 {
        /** Sequence number; a higher one is newer. */ req sequence_number: SequenceNumber,
        /** Metric, percent. */ req metric: Metric,
    }
}

group! {
    /// Overload of the sender: the requested reduction (7.5.3.4-1).
    OverloadControlInformation = 54 {
        /** Sequence number; a higher one is newer. */ req sequence_number: SequenceNumber,
        /** Metric, percent. */ req metric: Metric,
        /** Period of validity. */ req timer: Timer,
        /** Flags. */ opt flags: OciFlags,
    }
}

group! {
    /// Creates a traffic endpoint: tunnel and addresses that several PDRs share (7.5.2.7-1).
    #[derive(Default)]
    CreateTrafficEndpoint = 127 {
        /** Its identifier. */ req id: TrafficEndpointId,
        /** Local F-TEID. */ opt local_fteid: FTeid,
        /** Network instance. */ opt network_instance: NetworkInstance,
        /** UE IP addresses. */ list ue_ip_addresses: UeIpAddress,
        /** All traffic of an Ethernet session. */ opt ethernet: EthernetPduSessionInformation,
        /** IPv4 networks behind the UE. */ list framed_routes: FramedRoute,
        /** IPv6 networks behind the UE. */ list framed_ipv6_routes: FramedIpv6Route,
        /** QFIs; one of them matches. */ list qfis: Qfi,
    }
}

group! {
    /// What the UP function allocated for a traffic endpoint (7.5.3.5-1).
    #[derive(Default)]
    CreatedTrafficEndpoint = 128 {
        /** Its identifier. */ req id: TrafficEndpointId,
        /** Local F-TEID. */ opt local_fteid: FTeid,
        /** UE IP addresses. */ list ue_ip_addresses: UeIpAddress,
    }
}

group! {
    /// Updates a traffic endpoint (7.5.4.13-1).
    #[derive(Default)]
    UpdateTrafficEndpoint = 129 {
        /** Its identifier. */ req id: TrafficEndpointId,
        /** Local F-TEID. */ opt local_fteid: FTeid,
        /** Network instance. */ opt network_instance: NetworkInstance,
        /** UE IP addresses. */ list ue_ip_addresses: UeIpAddress,
        /** IPv4 networks behind the UE. */ list framed_routes: FramedRoute,
        /** IPv6 networks behind the UE. */ list framed_ipv6_routes: FramedIpv6Route,
        /** QFIs; one of them matches. */ list qfis: Qfi,
    }
}

group! {
    /// Removes a traffic endpoint (7.5.4.14-1).
    RemoveTrafficEndpoint = 130 { /** Its identifier. */ req id: TrafficEndpointId, }
}
