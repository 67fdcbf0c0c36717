//! The rules of a session: PDR, FAR, QER, URR, BAR (TS 29.244, 5.2 and 7.5).
use super::*;
use crate::grouped::group;

group! {
    /// Packet detection information: the packets that a PDR matches (7.5.2.2-2).
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
    }
}

impl Pdi {
    /// All packets of an interface.
    pub fn of(interface: Interface) -> Self {
        Pdi {
            source_interface: SourceInterface(interface),
            local_fteid: None,
            network_instance: None,
            ue_ip_addresses: vec![],
            sdf_filters: vec![],
            application_id: None,
            qfis: vec![],
            ethernet: None,
            ethernet_filters: vec![],
            framed_routes: vec![],
            framed_ipv6_routes: vec![],
        }
    }
}

group! {
    /// Makes a packet detection rule (7.5.2.2-1).
    CreatePdr = 1 {
        /** Its identifier. */ req pdr_id: PdrId,
        /** The lowest of those that fit counts. */ req precedence: Precedence,
        /** Which packets. */ req pdi: Pdi,
        /** Header to take off. */ opt outer_header_removal: OuterHeaderRemoval,
        /** What is done with them. */ opt far_id: FarId,
        /** What is measured. */ list urr_ids: UrrId,
        /** What is enforced. */ list qer_ids: QerId,
        /** Predefined rules of the UP function. */
        opt activate_predefined_rules: ActivatePredefinedRules,
    }
}

group! {
    /// Changes a packet detection rule (7.5.4.2-1).
    UpdatePdr = 9 {
        /** Which. */ req pdr_id: PdrId,
        /** Header to take off. */ opt outer_header_removal: OuterHeaderRemoval,
        /** Precedence. */ opt precedence: Precedence,
        /** Which packets. */ opt pdi: Pdi,
        /** What is done with them. */ opt far_id: FarId,
        /** What is measured. */ list urr_ids: UrrId,
        /** What is enforced. */ list qer_ids: QerId,
    }
}

group! {
    /// What the UP function allocated for a PDR (7.5.3.2-1).
    CreatedPdr = 8 {
        /** Which. */ req pdr_id: PdrId,
        /** The tunnel endpoint. */ opt local_fteid: FTeid,
        /** The address. */ list ue_ip_addresses: UeIpAddress,
    }
}

group! {
    /// How packets are forwarded (7.5.2.3-2).
    ForwardingParameters = 4 {
        /** Where to. */ req destination_interface: DestinationInterface,
        /** The network. */ opt network_instance: NetworkInstance,
        /** Header to put before. */ opt outer_header_creation: OuterHeaderCreation,
    }
}

group! {
    /// Changes how packets are forwarded (7.5.4.3-2).
    UpdateForwardingParameters = 11 {
        /** Where to. */ opt destination_interface: DestinationInterface,
        /** The network. */ opt network_instance: NetworkInstance,
        /** Header to put before. */ opt outer_header_creation: OuterHeaderCreation,
        /** Whether end markers go out on the old path. */ opt flags: PfcpSmReqFlags,
    }
}

group! {
    /// Makes a forwarding action rule (7.5.2.3-1).
    CreateFar = 3 {
        /** Its identifier. */ req far_id: FarId,
        /** What is done. */ req apply_action: ApplyAction,
        /** How packets are forwarded. */ opt forwarding_parameters: ForwardingParameters,
        /** How packets are buffered. */ opt bar_id: BarId,
    }
}

group! {
    /// Changes a forwarding action rule (7.5.4.3-1).
    UpdateFar = 10 {
        /** Which. */ req far_id: FarId,
        /** What is done. */ opt apply_action: ApplyAction,
        /** How packets are forwarded. */
        opt update_forwarding_parameters: UpdateForwardingParameters,
        /** How packets are buffered. */ opt bar_id: BarId,
    }
}

group! {
    /// Makes a QoS enforcement rule (7.5.2.5-1).
    CreateQer = 7 {
        /** Its identifier. */ req qer_id: QerId,
        /** Shared with others of this number. */ opt correlation_id: QerCorrelationId,
        /** Whether packets may pass. */ req gate_status: GateStatus,
        /** Maximum bit rate. */ opt mbr: Mbr,
        /** Guaranteed bit rate. */ opt gbr: Gbr,
        /** Flow with which downlink packets are marked. */ opt qfi: Qfi,
        /** Reflective QoS. */ opt rqi: Rqi,
    }
}

group! {
    /// Changes a QoS enforcement rule (7.5.4.5-1).
    UpdateQer = 14 {
        /** Which. */ req qer_id: QerId,
        /** Shared with others of this number. */ opt correlation_id: QerCorrelationId,
        /** Whether packets may pass. */ opt gate_status: GateStatus,
        /** Maximum bit rate. */ opt mbr: Mbr,
        /** Guaranteed bit rate. */ opt gbr: Gbr,
        /** Flow with which downlink packets are marked. */ opt qfi: Qfi,
        /** Reflective QoS. */ opt rqi: Rqi,
    }
}

group! {
    /// Makes a usage reporting rule (7.5.2.4-1).
    CreateUrr = 6 {
        /** Its identifier. */ req urr_id: UrrId,
        /** What is measured. */ req measurement_method: MeasurementMethod,
        /** When it is reported. */ req reporting_triggers: ReportingTriggers,
        /** Interval of reports. */ opt measurement_period: MeasurementPeriod,
        /** Volume after which it is reported. */ opt volume_threshold: VolumeThreshold,
        /** Volume that may be used. */ opt volume_quota: VolumeQuota,
        /** Time after which it is reported. */ opt time_threshold: TimeThreshold,
        /** Time that may be used. */ opt time_quota: TimeQuota,
    }
}

group! {
    /// Changes a usage reporting rule (7.5.4.4-1).
    UpdateUrr = 13 {
        /** Which. */ req urr_id: UrrId,
        /** What is measured. */ opt measurement_method: MeasurementMethod,
        /** When it is reported. */ opt reporting_triggers: ReportingTriggers,
        /** Interval of reports. */ opt measurement_period: MeasurementPeriod,
        /** Volume after which it is reported. */ opt volume_threshold: VolumeThreshold,
        /** Volume that may be used. */ opt volume_quota: VolumeQuota,
        /** Time after which it is reported. */ opt time_threshold: TimeThreshold,
        /** Time that may be used. */ opt time_quota: TimeQuota,
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
