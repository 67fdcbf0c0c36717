//! The rules of a session: PDR, FAR, QER, URR, BAR (TS 29.244, 5.2 and 7.5).
use super::*;
use crate::grouped::group;

group! {
    /// Packet detection information: the packets that a PDR matches (7.5.2.2-2).
    #[derive(Default)]
    Pdi = 2 {
        /** Where they come from. */ req source_interface: SourceInterface,
        /** The tunnel in which they come. */ opt local_fteid: FTeid,
        /** The network. */ opt network_instance: NetworkInstance,
        /** The UE's address. */ list ue_ip_addresses: UeIpAddress,
        /** Service data flows, of which one fits. */ list sdf_filters: SdfFilter,
        /** Application. */ opt application_id: ApplicationId,
        /** QoS flows, of which one fits. */ list qfis: Qfi,
        /** All traffic of an Ethernet session. */ opt ethernet: EthernetPduSessionInformation,
        /** Frames, of which one fits. */ list ethernet_filters: EthernetPacketFilter,
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
    /// Makes a packet detection rule (7.5.2.2-1).
    #[derive(Default)]
    CreatePdr = 1 {
        /** Its identifier. */ req pdr_id: PdrId,
        /** The lowest of those that fit counts. */ req precedence: Precedence,
        /** Which packets. */ req pdi: Pdi,
        /** Header to take off. */ opt outer_header_removal: OuterHeaderRemoval,
        /** What is done with them. */ opt far_id: FarId,
        /** What is measured. */ list urr_ids: UrrId,
        /** What is enforced. */ list qer_ids: QerId,
        /** Predefined rules of the UP function. */
        list activate_predefined_rules: ActivatePredefinedRules,
    }
}

group! {
    /// Changes a packet detection rule (7.5.4.2-1).
    #[derive(Default)]
    UpdatePdr = 9 {
        /** Which. */ req pdr_id: PdrId,
        /** Header to take off. */ opt outer_header_removal: OuterHeaderRemoval,
        /** Precedence. */ opt precedence: Precedence,
        /** Which packets. */ opt pdi: Pdi,
        /** What is done with them. */ opt far_id: FarId,
        /** What is measured. */ list urr_ids: UrrId,
        /** What is enforced. */ list qer_ids: QerId,
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
        /** Which. */ req pdr_id: PdrId,
        /** The tunnel endpoint. */ opt local_fteid: FTeid,
        /** The address. */ list ue_ip_addresses: UeIpAddress,
    }
}

group! {
    /// How packets are forwarded (7.5.2.3-2).
    #[derive(Default)]
    ForwardingParameters = 4 {
        /** Where to. */ req destination_interface: DestinationInterface,
        /** The network. */ opt network_instance: NetworkInstance,
        /** Header to put before. */ opt outer_header_creation: OuterHeaderCreation,
        /** The DSCP of the outer header. */ opt transport_level_marking: TransportLevelMarking,
        /** A policy of the UP function. */ opt forwarding_policy: ForwardingPolicy,
        /** Where traffic is redirected. */ opt redirect: RedirectInformation,
        /** The traffic endpoint. */ opt linked_traffic_endpoint: TrafficEndpointId,
    }
}

group! {
    /// Changes how packets are forwarded (7.5.4.3-2).
    #[derive(Default)]
    UpdateForwardingParameters = 11 {
        /** Where to. */ opt destination_interface: DestinationInterface,
        /** The network. */ opt network_instance: NetworkInstance,
        /** Header to put before. */ opt outer_header_creation: OuterHeaderCreation,
        /** Whether end markers go out on the old path. */ opt flags: PfcpSmReqFlags,
        /** The DSCP of the outer header. */ opt transport_level_marking: TransportLevelMarking,
        /** A policy of the UP function. */ opt forwarding_policy: ForwardingPolicy,
        /** Where traffic is redirected. */ opt redirect: RedirectInformation,
        /** The traffic endpoint. */ opt linked_traffic_endpoint: TrafficEndpointId,
    }
}

group! {
    /// Makes a forwarding action rule (7.5.2.3-1).
    #[derive(Default)]
    CreateFar = 3 {
        /** Its identifier. */ req far_id: FarId,
        /** What is done. */ req apply_action: ApplyAction,
        /** How packets are forwarded. */ opt forwarding_parameters: ForwardingParameters,
        /** How packets are buffered. */ opt bar_id: BarId,
        /** Where copies go. */ list duplicating_parameters: DuplicatingParameters,
    }
}

group! {
    /// Changes a forwarding action rule (7.5.4.3-1).
    #[derive(Default)]
    UpdateFar = 10 {
        /** Which. */ req far_id: FarId,
        /** What is done. */ opt apply_action: ApplyAction,
        /** How packets are forwarded. */
        opt update_forwarding_parameters: UpdateForwardingParameters,
        /** How packets are buffered. */ opt bar_id: BarId,
        /** Where copies go. */ list update_duplicating_parameters: UpdateDuplicatingParameters,
    }
}

group! {
    /// Makes a QoS enforcement rule (7.5.2.5-1).
    #[derive(Default)]
    CreateQer = 7 {
        /** Its identifier. */ req qer_id: QerId,
        /** Shared with others of this number. */ opt correlation_id: QerCorrelationId,
        /** Whether packets may pass. */ req gate_status: GateStatus,
        /** Maximum bit rate. */ opt mbr: Mbr,
        /** Guaranteed bit rate. */ opt gbr: Gbr,
        /** Flow with which downlink packets are marked. */ opt qfi: Qfi,
        /** Reflective QoS. */ opt rqi: Rqi,
        /** Packets in a span of time. */ opt packet_rate: PacketRate,
        /** Paging policy indicator of downlink packets. */
        opt paging_policy: PagingPolicyIndicator,
    }
}

group! {
    /// Changes a QoS enforcement rule (7.5.4.5-1).
    #[derive(Default)]
    UpdateQer = 14 {
        /** Which. */ req qer_id: QerId,
        /** Shared with others of this number. */ opt correlation_id: QerCorrelationId,
        /** Whether packets may pass. */ opt gate_status: GateStatus,
        /** Maximum bit rate. */ opt mbr: Mbr,
        /** Guaranteed bit rate. */ opt gbr: Gbr,
        /** Flow with which downlink packets are marked. */ opt qfi: Qfi,
        /** Reflective QoS. */ opt rqi: Rqi,
        /** Packets in a span of time. */ opt packet_rate: PacketRate,
        /** Paging policy indicator of downlink packets. */
        opt paging_policy: PagingPolicyIndicator,
    }
}

group! {
    /// Makes a usage reporting rule (7.5.2.4-1).
    #[derive(Default)]
    CreateUrr = 6 {
        /** Its identifier. */ req urr_id: UrrId,
        /** What is measured. */ req measurement_method: MeasurementMethod,
        /** When it is reported. */ req reporting_triggers: ReportingTriggers,
        /** Interval of reports. */ opt measurement_period: MeasurementPeriod,
        /** Volume after which it is reported. */ opt volume_threshold: VolumeThreshold,
        /** Volume that may be used. */ opt volume_quota: VolumeQuota,
        /** Time after which it is reported. */ opt time_threshold: TimeThreshold,
        /** Time that may be used. */ opt time_quota: TimeQuota,
        /** Time without traffic after which the quota no longer holds. */
        opt quota_holding_time: QuotaHoldingTime,
        /** Time for which the quota is valid. */ opt quota_validity_time: QuotaValidityTime,
        /** When usage is split. */ opt monitoring_time: MonitoringTime,
        /** Volume threshold after that. */
        opt subsequent_volume_threshold: SubsequentVolumeThreshold,
        /** Time threshold after that. */ opt subsequent_time_threshold: SubsequentTimeThreshold,
        /** Volume quota after that. */ opt subsequent_volume_quota: SubsequentVolumeQuota,
        /** Time quota after that. */ opt subsequent_time_quota: SubsequentTimeQuota,
        /** Number of events after which they are reported. */ opt event_threshold: EventThreshold,
        /** Number of events that may occur. */ opt event_quota: EventQuota,
        /** Event threshold after the Monitoring Time. */
        opt subsequent_event_threshold: SubsequentEventThreshold,
        /** Event quota after the Monitoring Time. */
        opt subsequent_event_quota: SubsequentEventQuota,
        /** Time without traffic that is not measured. */
        opt inactivity_detection_time: InactivityDetectionTime,
        /** URRs with which it is reported. */ list linked_urrs: LinkedUrrId,
        /** Flags. */ opt measurement_information: MeasurementInformation,
        /** What is done with packets beyond the quota. */ opt quota_far: FarId,
    }
}

group! {
    /// Changes a usage reporting rule (7.5.4.4-1).
    #[derive(Default)]
    UpdateUrr = 13 {
        /** Which. */ req urr_id: UrrId,
        /** What is measured. */ opt measurement_method: MeasurementMethod,
        /** When it is reported. */ opt reporting_triggers: ReportingTriggers,
        /** Interval of reports. */ opt measurement_period: MeasurementPeriod,
        /** Volume after which it is reported. */ opt volume_threshold: VolumeThreshold,
        /** Volume that may be used. */ opt volume_quota: VolumeQuota,
        /** Time after which it is reported. */ opt time_threshold: TimeThreshold,
        /** Time that may be used. */ opt time_quota: TimeQuota,
        /** Time without traffic after which the quota no longer holds. */
        opt quota_holding_time: QuotaHoldingTime,
        /** Time for which the quota is valid. */ opt quota_validity_time: QuotaValidityTime,
        /** When usage is split. */ opt monitoring_time: MonitoringTime,
        /** Volume threshold after that. */
        opt subsequent_volume_threshold: SubsequentVolumeThreshold,
        /** Time threshold after that. */ opt subsequent_time_threshold: SubsequentTimeThreshold,
        /** Volume quota after that. */ opt subsequent_volume_quota: SubsequentVolumeQuota,
        /** Time quota after that. */ opt subsequent_time_quota: SubsequentTimeQuota,
        /** Number of events after which they are reported. */ opt event_threshold: EventThreshold,
        /** Number of events that may occur. */ opt event_quota: EventQuota,
        /** Event threshold after the Monitoring Time. */
        opt subsequent_event_threshold: SubsequentEventThreshold,
        /** Event quota after the Monitoring Time. */
        opt subsequent_event_quota: SubsequentEventQuota,
        /** Time without traffic that is not measured. */
        opt inactivity_detection_time: InactivityDetectionTime,
        /** URRs with which it is reported. */ list linked_urrs: LinkedUrrId,
        /** Flags. */ opt measurement_information: MeasurementInformation,
        /** What is done with packets beyond the quota. */ opt quota_far: FarId,
    }
}

group! {
    /// Makes a buffering action rule (7.5.2.6-1).
    CreateBar = 85 {
        /** Its identifier. */ req bar_id: BarId,
        /** How long a notification waits. */ opt notification_delay: DownlinkDataNotificationDelay,
        /** How many packets to buffer. */ opt suggested_packets: SuggestedBufferingPacketsCount,
    }
}

group! {
    /// Changes a buffering action rule in a session modification (7.5.4.11-1).
    UpdateBar = 86 {
        /** Which. */ req bar_id: BarId,
        /** How long a notification waits. */ opt notification_delay: DownlinkDataNotificationDelay,
        /** How many packets to buffer. */ opt suggested_packets: SuggestedBufferingPacketsCount,
    }
}

group! { /** Removes a PDR (7.5.4.6). */ RemovePdr = 15 { /** Which. */ req pdr_id: PdrId, } }
group! { /** Removes a FAR (7.5.4.7). */ RemoveFar = 16 { /** Which. */ req far_id: FarId, } }
group! { /** Removes a URR (7.5.4.8). */ RemoveUrr = 17 { /** Which. */ req urr_id: UrrId, } }
group! { /** Removes a QER (7.5.4.9). */ RemoveQer = 18 { /** Which. */ req qer_id: QerId, } }
group! { /** Removes a BAR (7.5.4.12). */ RemoveBar = 87 { /** Which. */ req bar_id: BarId, } }
group! { /** Asks for the usage of a rule at once (7.5.4.10). */ QueryUrr =
77 { /** Which. */ req urr_id: UrrId, } }

group! {
    /// Load of the sender (7.5.3.3-1).
    LoadControlInformation = 51 {
        /** Newer than those of lower number. */ req sequence_number: SequenceNumber,
        /** Per cent. */ req metric: Metric,
    }
}

group! {
    /// Overload of the sender: the requested reduction (7.5.3.4-1).
    OverloadControlInformation = 54 {
        /** Newer than those of lower number. */ req sequence_number: SequenceNumber,
        /** Per cent. */ req metric: Metric,
        /** For how long. */ req timer: Timer,
        /** What it is about. */ opt flags: OciFlags,
    }
}

group! {
    /// Tunnel and addresses that several PDRs have (7.5.2.7-1).
    #[derive(Default)]
    CreateTrafficEndpoint = 127 {
        /** Its identifier. */ req id: TrafficEndpointId,
        /** The tunnel in which packets come. */ opt local_fteid: FTeid,
        /** The network. */ opt network_instance: NetworkInstance,
        /** The UE's address. */ list ue_ip_addresses: UeIpAddress,
        /** All traffic of an Ethernet session. */ opt ethernet: EthernetPduSessionInformation,
        /** IPv4 networks behind the UE. */ list framed_routes: FramedRoute,
        /** IPv6 networks behind the UE. */ list framed_ipv6_routes: FramedIpv6Route,
        /** QoS flows, of which one fits. */ list qfis: Qfi,
    }
}

group! {
    /// What the UP function allocated for a traffic endpoint (7.5.3.5-1).
    #[derive(Default)]
    CreatedTrafficEndpoint = 128 {
        /** Which. */ req id: TrafficEndpointId,
        /** The tunnel endpoint. */ opt local_fteid: FTeid,
        /** The address. */ list ue_ip_addresses: UeIpAddress,
    }
}

group! {
    /// Changes a traffic endpoint (7.5.4.13-1).
    #[derive(Default)]
    UpdateTrafficEndpoint = 129 {
        /** Which. */ req id: TrafficEndpointId,
        /** The tunnel in which packets come. */ opt local_fteid: FTeid,
        /** The network. */ opt network_instance: NetworkInstance,
        /** The UE's address. */ list ue_ip_addresses: UeIpAddress,
        /** IPv4 networks behind the UE. */ list framed_routes: FramedRoute,
        /** IPv6 networks behind the UE. */ list framed_ipv6_routes: FramedIpv6Route,
        /** QoS flows, of which one fits. */ list qfis: Qfi,
    }
}

group! {
    /// Removes a traffic endpoint (7.5.4.14-1).
    RemoveTrafficEndpoint = 130 { /** Which. */ req id: TrafficEndpointId, }
}
