//! The profile of an NF instance (TS 29.510, 6.1.6.2).
use crate::common::{DateTime, ExtSnssai, NfInstanceId, PlmnId, UriScheme};
use crate::nnrf_nfmanagement::{
    AmfInfo, AusfInfo, EndPointTransport, LmfInfo, NfServiceStatus, NfStatus, NfType,
    NotificationType, PcfInfo, ServiceName, SmfInfo, UdmInfo, UdrInfo, UpfInfo,
};
use martlet_sbi::Compact;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, Ipv6Addr};

/// An NF instance with all data for its selection (TS 29.510, 6.1.6, `NFProfile`).
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct NfProfile {
    /// Identity of the instance
    pub nf_instance_id: NfInstanceId,
    /// A name for people
    pub nf_instance_name: Option<String>,
    /// Kind of network function
    pub nf_type: NfType,
    /// State
    pub nf_status: NfStatus,
    /// Seconds between heart-beats; the NRF decides
    pub heart_beat_timer: Option<u32>,
    /// Networks that it serves
    pub plmn_list: Option<Vec<PlmnId>>,
    /// Slices that it serves; all where absent
    pub s_nssais: Option<Vec<ExtSnssai>>,
    /// Slices that it serves by network
    pub per_plmn_snssai_list: Option<Vec<PlmnSnssai>>,
    /// Identities of network slice instances
    pub nsi_list: Option<Vec<String>>,
    /// Host name
    pub fqdn: Option<String>,
    /// Host name for other networks
    pub inter_plmn_fqdn: Option<String>,
    /// IPv4 addresses
    pub ipv4_addresses: Option<Vec<Ipv4Addr>>,
    /// IPv6 addresses
    pub ipv6_addresses: Option<Vec<Ipv6Addr>>,
    /// Networks whose NFs may use it
    pub allowed_plmns: Option<Vec<PlmnId>>,
    /// Kinds of NF that may use it
    pub allowed_nf_types: Option<Vec<NfType>>,
    /// Patterns of host names whose NFs may use it
    pub allowed_nf_domains: Option<Vec<String>>,
    /// Slices whose NFs may use it
    pub allowed_nssais: Option<Vec<ExtSnssai>>,
    /// 0 is chosen first, 65535 last
    pub priority: Option<u16>,
    /// Weight among instances of one priority
    pub capacity: Option<u16>,
    /// Load in percent
    pub load: Option<u8>,
    /// When the load was measured
    pub load_time_stamp: Option<DateTime>,
    /// Locality, as the operator defines it
    pub locality: Option<String>,
    /// Of a UDR
    pub udr_info: Option<UdrInfo>,
    /// Of a UDM
    pub udm_info: Option<UdmInfo>,
    /// Of an AUSF
    pub ausf_info: Option<AusfInfo>,
    /// Of an AMF
    pub amf_info: Option<AmfInfo>,
    /// Of an SMF
    pub smf_info: Option<SmfInfo>,
    /// Of an SMF, by an operator's key
    pub smf_info_list: Option<BTreeMap<String, SmfInfo>>,
    /// Of a UPF
    pub upf_info: Option<UpfInfo>,
    /// Of a PCF
    pub pcf_info: Option<PcfInfo>,
    /// Of an LMF
    pub lmf_info: Option<LmfInfo>,
    /// Vendor-specific data
    pub custom_info: Option<serde_json::Value>,
    /// When the instance started last
    pub recovery_time: Option<DateTime>,
    /// Service instances share their contexts
    pub nf_service_persistence: Option<bool>,
    /// Services (deprecated in favour of `nfServiceList`)
    pub nf_services: Option<Vec<NfService>>,
    /// Services by the identity of the service instance
    pub nf_service_list: Option<BTreeMap<String, NfService>>,
    /// The instance accepts responses that contain changes only
    pub nf_profile_changes_support_ind: Option<bool>,
    /// This response contains changes only
    pub nf_profile_changes_ind: Option<bool>,
    /// Notification endpoints for default subscriptions
    pub default_notification_subscriptions: Option<Vec<DefaultNotificationSubscription>>,
    /// Sets to which it belongs
    pub nf_set_id_list: Option<Vec<String>>,
    /// Areas that it serves, in an operator's terms
    pub serving_scope: Option<Vec<String>>,
    /// It supports load control
    pub lc_h_support_ind: Option<bool>,
    /// It supports overload control
    pub olc_h_support_ind: Option<bool>,
}

impl NfProfile {
    /// A value with the mandatory members only.
    pub fn new(nf_instance_id: NfInstanceId, nf_type: NfType, nf_status: NfStatus) -> Self {
        NfProfile {
            nf_instance_id,
            nf_type,
            nf_status,
            nf_instance_name: None,
            heart_beat_timer: None,
            plmn_list: None,
            s_nssais: None,
            per_plmn_snssai_list: None,
            nsi_list: None,
            fqdn: None,
            inter_plmn_fqdn: None,
            ipv4_addresses: None,
            ipv6_addresses: None,
            allowed_plmns: None,
            allowed_nf_types: None,
            allowed_nf_domains: None,
            allowed_nssais: None,
            priority: None,
            capacity: None,
            load: None,
            load_time_stamp: None,
            locality: None,
            udr_info: None,
            udm_info: None,
            ausf_info: None,
            amf_info: None,
            smf_info: None,
            smf_info_list: None,
            upf_info: None,
            pcf_info: None,
            lmf_info: None,
            custom_info: None,
            recovery_time: None,
            nf_service_persistence: None,
            nf_services: None,
            nf_service_list: None,
            nf_profile_changes_support_ind: None,
            nf_profile_changes_ind: None,
            default_notification_subscriptions: None,
            nf_set_id_list: None,
            serving_scope: None,
            lc_h_support_ind: None,
            olc_h_support_ind: None,
        }
    }
}

/// A service instance (TS 29.510, 6.1.6, `NFService`).
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct NfService {
    /// Identity of the service instance within its NF
    pub service_instance_id: String,
    /// Name of the service
    pub service_name: ServiceName,
    /// Versions of its API
    pub versions: Vec<NfServiceVersion>,
    /// `http` or `https`
    pub scheme: UriScheme,
    /// State
    pub nf_service_status: NfServiceStatus,
    /// Host name, where it differs from the NF's
    pub fqdn: Option<String>,
    /// Host name for other networks
    pub inter_plmn_fqdn: Option<String>,
    /// Addresses and ports
    pub ip_end_points: Option<Vec<IpEndPoint>>,
    /// Path before the API name, without a slash at either end
    pub api_prefix: Option<String>,
    /// Notification endpoints for default subscriptions
    pub default_notification_subscriptions: Option<Vec<DefaultNotificationSubscription>>,
    /// Networks whose NFs may use it
    pub allowed_plmns: Option<Vec<PlmnId>>,
    /// Kinds of NF that may use it
    pub allowed_nf_types: Option<Vec<NfType>>,
    /// Patterns of host names whose NFs may use it
    pub allowed_nf_domains: Option<Vec<String>>,
    /// Slices whose NFs may use it
    pub allowed_nssais: Option<Vec<ExtSnssai>>,
    /// Scopes of the operations that a kind of NF may use
    pub allowed_operations_per_nf_type: Option<BTreeMap<String, Vec<String>>>,
    /// 0 is chosen first, 65535 last
    pub priority: Option<u16>,
    /// Weight among instances of one priority
    pub capacity: Option<u16>,
    /// Load in percent
    pub load: Option<u8>,
    /// When the load was measured
    pub load_time_stamp: Option<DateTime>,
    /// When the service instance started last
    pub recovery_time: Option<DateTime>,
    /// Features, a bit map in hexadecimal digits
    pub supported_features: Option<String>,
    /// Sets to which it belongs
    pub nf_service_set_id_list: Option<Vec<String>>,
    /// Slices that it serves, where they differ from the NF's
    pub s_nssais: Option<Vec<ExtSnssai>>,
    /// Slices that it serves by network
    pub per_plmn_snssai_list: Option<Vec<PlmnSnssai>>,
    /// Whether an access token is needed
    pub oauth2_required: Option<bool>,
}

impl NfService {
    /// A value with the mandatory members only.
    pub fn new(
        service_instance_id: String,
        service_name: ServiceName,
        versions: Vec<NfServiceVersion>,
        scheme: UriScheme,
        nf_service_status: NfServiceStatus,
    ) -> Self {
        NfService {
            service_instance_id,
            service_name,
            versions,
            scheme,
            nf_service_status,
            fqdn: None,
            inter_plmn_fqdn: None,
            ip_end_points: None,
            api_prefix: None,
            default_notification_subscriptions: None,
            allowed_plmns: None,
            allowed_nf_types: None,
            allowed_nf_domains: None,
            allowed_nssais: None,
            allowed_operations_per_nf_type: None,
            priority: None,
            capacity: None,
            load: None,
            load_time_stamp: None,
            recovery_time: None,
            supported_features: None,
            nf_service_set_id_list: None,
            s_nssais: None,
            per_plmn_snssai_list: None,
            oauth2_required: None,
        }
    }
}

/// A version of an API (TS 29.510, 6.1.6, `NFServiceVersion`).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct NfServiceVersion {
    /// As in URIs, such as `v1`
    pub api_version_in_uri: String,
    /// Whole version, such as `1.3.0`
    pub api_full_version: String,
    /// When it is unregistered
    pub expiry: Option<DateTime>,
}

/// An address and a port (TS 29.510, 6.1.6).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct IpEndPoint {
    /// IPv4 address
    pub ipv4_address: Option<Ipv4Addr>,
    /// IPv6 address
    pub ipv6_address: Option<Ipv6Addr>,
    /// Transport
    pub transport: Option<EndPointTransport>,
    /// Port; that of the scheme where absent
    pub port: Option<u16>,
}

/// A notification endpoint for a default subscription (TS 29.510, 6.1.6).
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct DefaultNotificationSubscription {
    /// Kind of notification
    pub notification_type: NotificationType,
    /// Notification URI
    pub callback_uri: String,
    /// Class of N1 messages, for `N1_MESSAGES` (TS 29.518, 6.1.6.3.3)
    pub n1_message_class: Option<String>,
    /// Class of N2 information, for `N2_INFORMATION` (TS 29.518, 6.1.6.3.4)
    pub n2_information_class: Option<String>,
    /// Versions of the notification's API
    pub versions: Option<Vec<String>>,
}

impl DefaultNotificationSubscription {
    /// A value with the mandatory members only.
    pub fn new(notification_type: NotificationType, callback_uri: String) -> Self {
        DefaultNotificationSubscription {
            notification_type,
            callback_uri,
            n1_message_class: None,
            n2_information_class: None,
            versions: None,
        }
    }
}

/// Slices of a network (TS 29.510, 6.1.6).
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct PlmnSnssai {
    /// The network
    pub plmn_id: PlmnId,
    /// Its slices
    pub s_nssai_list: Vec<ExtSnssai>,
    /// Network identifier of a stand-alone non-public network
    pub nid: Option<String>,
}

impl PlmnSnssai {
    /// A value with the mandatory members only.
    pub fn new(plmn_id: PlmnId, s_nssai_list: Vec<ExtSnssai>) -> Self {
        PlmnSnssai { plmn_id, s_nssai_list, nid: None }
    }
}
