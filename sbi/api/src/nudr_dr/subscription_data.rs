//! Subscription data in the UDR (TS 29.505, 5.4.2).
use crate::common::{DateTime, Gpsi, NotifyItem, SecretText, Supi, TraceData};
use crate::macros::closed_enum;
use crate::macros::open_enum;
use crate::nudm_sdm::{
    AccessAndMobilitySubscriptionData, SdmSubscription, SmSubsData, SmfSelectionSubscriptionData,
};
use martlet_sbi::Compact;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use std::collections::BTreeMap;

open_enum! {
    /// Authentication method (TS 29.505, 5.4).
    pub enum AuthMethod {
        FiveGAka = "5G_AKA",
        EapAkaPrime = "EAP_AKA_PRIME",
        EapTls = "EAP_TLS",
        EapTtls = "EAP_TTLS",
        None = "NONE",
    }
}

open_enum! {
    /// Sequence number generation (TS 33.102, annex C) (TS 29.505, 5.4).
    pub enum SqnScheme {
        General = "GENERAL",
        NonTimeBased = "NON_TIME_BASED",
        TimeBased = "TIME_BASED",
    }
}

closed_enum! {
    /// Sign of a difference (TS 29.505, 5.4).
    pub enum Sign {
        Positive = "POSITIVE",
        Negative = "NEGATIVE",
    }
}

/// How a subscriber is authenticated (TS 29.505, 5.4).
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct AuthenticationSubscription {
    /// Method
    pub authentication_method: AuthMethod,
    /// K in hexadecimal digits, encrypted as `protectionParameterId` defines
    pub enc_permanent_key: Option<SecretText>,
    /// Encryption of the keys; if absent, none
    pub protection_parameter_id: Option<String>,
    /// Sequence number
    pub sequence_number: Option<SequenceNumber>,
    /// AMF of the authentication vector, four hexadecimal digits
    pub authentication_management_field: Option<String>,
    /// Algorithm and its parameters, in an operator's terms, such as `milenage`
    pub algorithm_id: Option<String>,
    /// OPc in hexadecimal digits, encrypted likewise
    pub enc_opc_key: Option<SecretText>,
    /// TOPc in hexadecimal digits, encrypted likewise
    pub enc_topc_key: Option<SecretText>,
    /// The HSS generates the vectors
    pub vector_generation_in_hss: Option<bool>,
    /// Method for devices behind a residential gateway
    pub n5gc_auth_method: Option<AuthMethod>,
    /// SUPI
    pub supi: Option<Supi>,
    /// AKMA may be used
    pub akma_allowed: Option<bool>,
    /// Routing indicator for AKMA
    pub routing_id: Option<String>,
}

impl AuthenticationSubscription {
    /// A value with the mandatory members only.
    pub fn new(authentication_method: AuthMethod) -> Self {
        AuthenticationSubscription {
            authentication_method,
            enc_permanent_key: None,
            protection_parameter_id: None,
            sequence_number: None,
            authentication_management_field: None,
            algorithm_id: None,
            enc_opc_key: None,
            enc_topc_key: None,
            vector_generation_in_hss: None,
            n5gc_auth_method: None,
            supi: None,
            akma_allowed: None,
            routing_id: None,
        }
    }
}

/// Sequence number of a subscriber (TS 29.505, 5.4).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct SequenceNumber {
    /// Generation scheme
    pub sqn_scheme: Option<SqnScheme>,
    /// SQN, twelve hexadecimal digits
    pub sqn: Option<String>,
    /// Last IND by kind of consumer, such as `ausf`
    pub last_indexes: Option<BTreeMap<String, u32>>,
    /// Bits of IND
    pub ind_length: Option<u32>,
    /// Sign of the difference to the clock
    pub dif_sign: Option<Sign>,
}

/// A subscription to changes of data (TS 29.505, 5.4).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct SubscriptionDataSubscriptions {
    /// The monitored subscriber
    pub ue_id: Option<String>,
    /// Notification URI
    pub callback_reference: String,
    /// Original callback URI, of the NF that subscribed at the UDM
    pub original_callback_reference: Option<String>,
    /// Monitored resources
    pub monitored_resource_uris: Vec<String>,
    /// When the subscription ends
    pub expiry: Option<DateTime>,
    /// The corresponding subscription at the UDM
    pub sdm_subscription: Option<SdmSubscription>,
    /// Identity of the subscription
    pub subscription_id: Option<String>,
    /// It replaces the subscriber's earlier ones
    pub unique_subscription: Option<bool>,
    /// Features of the subscriber
    pub supported_features: Option<String>,
    /// The response is to contain the data
    pub immediate_report: Option<bool>,
}

/// Data have changed (TS 29.505, 5.4).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct DataChangeNotify {
    /// Original callback URI, of the NF that subscribed at the UDM
    pub original_callback_reference: Option<Vec<String>>,
    /// The subscriber whose data changed
    pub ue_id: Option<String>,
    /// Changes
    pub notify_items: Option<Vec<NotifyItem>>,
    /// Subscription at the UDM
    pub sdm_subscription: Option<SdmSubscription>,
    /// The subscriptions concerned
    pub subscription_data_subscriptions: Option<Vec<SubscriptionDataSubscriptions>>,
}

/// Identities of a subscriber (TS 29.505, 5.4).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct IdentityData {
    /// SUPIs
    pub supi_list: Option<Vec<Supi>>,
    /// GPSIs
    #[serde(default, deserialize_with = "gpsi_list")]
    pub gpsi_list: Option<Vec<Gpsi>>,
}

fn gpsi_list<'de, D: serde::Deserializer<'de>>(d: D) -> Result<Option<Vec<Gpsi>>, D::Error> {
    martlet_sbi::tolerant::list(d, "gpsiList")
}

/// Provisioned data of several kinds (TS 29.505, 5.4).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct ProvisionedDataSets {
    /// Access and mobility
    pub am_data: Option<AccessAndMobilitySubscriptionData>,
    /// SMF selection
    pub smf_sel_data: Option<SmfSelectionSubscriptionData>,
    /// Session management
    pub sm_data: Option<SmSubsData>,
    /// Trace data
    pub trace_data: Option<TraceData>,
}
