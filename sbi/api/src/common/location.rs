//! Where a UE is, and where it may be (TS 29.571, 5.4.4).
use crate::common::{DateTime, Ecgi, Ncgi, PlmnId, RestrictionType, Tac, Tai};
use crate::macros::open_enum;
use martlet_sbi::Compact;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use std::net::{Ipv4Addr, Ipv6Addr};

open_enum! {
    /// Whether a UE is in an area (TS 29.571, 5.4).
    pub enum PresenceState {
        InArea = "IN_AREA",
        OutOfArea = "OUT_OF_AREA",
        Unknown = "UNKNOWN",
        Inactive = "INACTIVE",
    }
}

open_enum! {
    /// Transport through which a non-3GPP UE reaches its interworking function (TS 29.571, 5.4).
    pub enum TransportProtocol {
        Udp = "UDP",
        Tcp = "TCP",
    }
}

/// Location of a UE, by access type (TS 29.571, 5.4).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct UserLocation {
    /// Over E-UTRA
    pub eutra_location: Option<EutraLocation>,
    /// Over NR
    pub nr_location: Option<NrLocation>,
    /// Over a non-3GPP access
    pub n3ga_location: Option<N3gaLocation>,
}

/// Location of a UE in NR (TS 29.571, 5.4).
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct NrLocation {
    /// Tracking area
    pub tai: Tai,
    /// Cell
    pub ncgi: Ncgi,
    /// The cell is to be ignored
    pub ignore_ncgi: Option<bool>,
    /// Age of the location in minutes
    pub age_of_location_information: Option<u16>,
    /// When the location was obtained
    pub ue_location_timestamp: Option<DateTime>,
    /// Octets 5 to 12 of TS 29.274's or 23.032's shape in hexadecimal digits
    pub geographical_information: Option<String>,
    /// Calling geodetic location of Q.763 in hexadecimal digits
    pub geodetic_information: Option<String>,
    /// The gNB
    pub global_gnb_id: Option<GlobalRanNodeId>,
}

impl NrLocation {
    /// A value with the mandatory members only.
    pub fn new(tai: Tai, ncgi: Ncgi) -> Self {
        NrLocation {
            tai,
            ncgi,
            ignore_ncgi: None,
            age_of_location_information: None,
            ue_location_timestamp: None,
            geographical_information: None,
            geodetic_information: None,
            global_gnb_id: None,
        }
    }
}

/// Location of a UE in E-UTRA (TS 29.571, 5.4).
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct EutraLocation {
    /// Tracking area
    pub tai: Tai,
    /// The tracking area is to be ignored
    pub ignore_tai: Option<bool>,
    /// Cell
    pub ecgi: Ecgi,
    /// The cell is to be ignored
    pub ignore_ecgi: Option<bool>,
    /// Age of the location in minutes
    pub age_of_location_information: Option<u16>,
    /// When the location was obtained
    pub ue_location_timestamp: Option<DateTime>,
    /// The ng-eNB
    pub global_ngenb_id: Option<GlobalRanNodeId>,
}

impl EutraLocation {
    /// A value with the mandatory members only.
    pub fn new(tai: Tai, ecgi: Ecgi) -> Self {
        EutraLocation {
            tai,
            ecgi,
            ignore_tai: None,
            ignore_ecgi: None,
            age_of_location_information: None,
            ue_location_timestamp: None,
            global_ngenb_id: None,
        }
    }
}

/// Location of a UE behind a non-3GPP access (TS 29.571, 5.4).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct N3gaLocation {
    /// Tracking area of the interworking function
    pub n3gpp_tai: Option<Tai>,
    /// The N3IWF
    pub n3_iwf_id: Option<String>,
    /// IPv4 address of the UE towards the interworking function
    pub ue_ipv4_addr: Option<Ipv4Addr>,
    /// IPv6 address of the UE towards the interworking function
    pub ue_ipv6_addr: Option<Ipv6Addr>,
    /// Port of the UE behind a NAT
    pub port_number: Option<u16>,
    /// Transport of the port
    pub protocol: Option<TransportProtocol>,
}

/// Identity of a gNB (TS 29.571, 5.4).
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct GNbId {
    /// Length in bits, 22 to 32
    pub bit_length: u8,
    /// The bits in hexadecimal digits, most significant first
    #[serde(rename = "gNBValue")]
    pub gnb_value: String,
}

/// Identity of a RAN node (TS 29.571, 5.4).
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct GlobalRanNodeId {
    /// The PLMN
    pub plmn_id: PlmnId,
    /// N3IWF
    pub n3_iwf_id: Option<String>,
    /// gNB
    pub g_nb_id: Option<GNbId>,
    /// ng-eNB
    pub nge_nb_id: Option<String>,
    /// W-AGF
    pub wagf_id: Option<String>,
    /// TNGF
    pub tngf_id: Option<String>,
    /// Network identifier of a stand-alone non-public network
    pub nid: Option<String>,
    /// eNB
    pub e_nb_id: Option<String>,
}

impl GlobalRanNodeId {
    /// A value with the mandatory members only.
    pub fn new(plmn_id: PlmnId) -> Self {
        GlobalRanNodeId {
            plmn_id,
            n3_iwf_id: None,
            g_nb_id: None,
            nge_nb_id: None,
            wagf_id: None,
            tngf_id: None,
            nid: None,
            e_nb_id: None,
        }
    }
}

/// A list of tracking areas (TS 29.571, 5.4).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct Area {
    /// Tracking area codes
    pub tacs: Option<Vec<Tac>>,
    /// An operator's own code
    pub area_code: Option<String>,
}

/// Service area restriction: where a UE may request service (TS 29.571, 5.4).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct ServiceAreaRestriction {
    /// Whether the areas are those allowed or those not allowed
    pub restriction_type: Option<RestrictionType>,
    /// The areas
    pub areas: Option<Vec<Area>>,
    /// Maximum number of allowed areas
    #[serde(rename = "maxNumOfTAs")]
    pub max_num_of_tas: Option<u32>,
    /// Maximum number of allowed areas in addition to the not allowed ones
    #[serde(rename = "maxNumOfTAsForNotAllowedAreas")]
    pub max_num_of_tas_for_not_allowed_areas: Option<u32>,
}

/// An area, and whether a UE is in it (TS 29.571, 5.4).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct PresenceInfo {
    /// Identity of the area
    pub pra_id: Option<String>,
    /// Identity of an area within a set
    pub additional_pra_id: Option<String>,
    /// Whether the UE is in it
    pub presence_state: Option<PresenceState>,
    /// Tracking areas of which it consists
    pub tracking_area_list: Option<Vec<Tai>>,
    /// E-UTRA cells of which it consists
    pub ecgi_list: Option<Vec<Ecgi>>,
    /// NR cells of which it consists
    pub ncgi_list: Option<Vec<Ncgi>>,
    /// RAN nodes of which it consists
    pub global_ran_node_id_list: Option<Vec<GlobalRanNodeId>>,
}
