//! Namf_EventExposure: what happens to UEs, as far as it is about where they are (TS 29.518, 5.3
//! and 6.2).
use crate::common::{DateTime, NfInstanceId, PresenceInfo, Supi, UserLocation};
use crate::macros::open_enum;
use martlet_sbi::{Compact, Created, json_payload, service};
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use std::collections::BTreeMap;

json_payload!(AmfCreateEventSubscription, AmfCreatedEventSubscription, AmfEventNotification);

open_enum! {
    /// What may happen (TS 29.518, 6.2.6.3.3).
    pub enum AmfEventType {
        LocationReport = "LOCATION_REPORT",
        PresenceInAoiReport = "PRESENCE_IN_AOI_REPORT",
    }
}

open_enum! {
    /// When it is told (TS 29.518, 6.2.6.3.4).
    pub enum AmfEventTrigger {
        OneTime = "ONE_TIME",
        Continuous = "CONTINUOUS",
        Periodic = "PERIODIC",
    }
}

/// An area (TS 29.518, 6.2.6.2.11).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct AmfEventArea {
    /// By tracking areas, cells and RAN nodes; in a report, whether the UE is there
    pub presence_info: Option<PresenceInfo>,
}

/// What is asked for (TS 29.518, 6.2.6.2.3).
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct AmfEvent {
    /// Which event
    #[serde(rename = "type")]
    pub kind: AmfEventType,
    /// As it is now is told at once
    pub immediate_flag: Option<bool>,
    /// Areas of interest
    pub area_list: Option<Vec<AmfEventArea>>,
    /// Areas of interest by names
    pub presence_info_list: Option<BTreeMap<String, PresenceInfo>>,
    /// How many reports
    pub max_reports: Option<u32>,
}

impl AmfEvent {
    /// The mandatory members; everything else is absent.
    pub fn new(kind: AmfEventType) -> Self {
        AmfEvent {
            kind,
            immediate_flag: None,
            area_list: None,
            presence_info_list: None,
            max_reports: None,
        }
    }
}

/// How it is told (TS 29.518, 6.2.6.2.9).
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct AmfEventMode {
    /// When
    pub trigger: AmfEventTrigger,
    /// How many reports
    pub max_reports: Option<u32>,
    /// Until when
    pub expiry: Option<DateTime>,
}

/// A subscription (TS 29.518, 6.2.6.2.2).
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct AmfEventSubscription {
    /// What is asked for
    pub event_list: Vec<AmfEvent>,
    /// Where it is told
    pub event_notify_uri: String,
    /// By which name
    pub notify_correlation_id: String,
    /// Who asks
    pub nf_id: NfInstanceId,
    /// About whom
    pub supi: Option<Supi>,
    /// About all UEs
    #[serde(rename = "anyUE")]
    pub any_ue: Option<bool>,
    /// How it is told
    pub options: Option<AmfEventMode>,
}

/// A subscription that is asked for (TS 29.518, 6.2.6.2.12).
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct AmfCreateEventSubscription {
    /// The subscription
    pub subscription: AmfEventSubscription,
    /// Features of the consumer
    pub supported_features: Option<String>,
}

/// A subscription that was made (TS 29.518, 6.2.6.2.13).
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct AmfCreatedEventSubscription {
    /// The subscription
    pub subscription: AmfEventSubscription,
    /// Its URI
    pub subscription_id: String,
    /// What is the case now
    pub report_list: Option<Vec<AmfEventReport>>,
}

/// Whether there is more to come (TS 29.518, 6.2.6.2.6).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct AmfEventState {
    /// Whether
    pub active: bool,
    /// How many reports
    pub remain_reports: Option<u32>,
}

/// What has happened (TS 29.518, 6.2.6.2.5).
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct AmfEventReport {
    /// Which event
    #[serde(rename = "type")]
    pub kind: AmfEventType,
    /// Whether there is more to come
    pub state: AmfEventState,
    /// When
    pub time_stamp: DateTime,
    /// The subscription's URI
    pub subscription_id: Option<String>,
    /// To whom
    pub supi: Option<Supi>,
    /// Areas, and whether the UE is there
    pub area_list: Option<Vec<AmfEventArea>>,
    /// Where the UE is
    pub location: Option<UserLocation>,
}

/// A notification (TS 29.518, 6.2.6.2.4).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct AmfEventNotification {
    /// The consumer's name of the subscription
    pub notify_correlation_id: Option<String>,
    /// What has happened
    pub report_list: Option<Vec<AmfEventReport>>,
}

service! {
    /// Events of UEs, by their AMF (TS 29.518, 6.2.3).
    pub AmfEventExposure / AmfEventExposureClient / NAMF_EVTS = "namf-evts" / "v1" {
        /// Asks to be told.
        op create_subscription "CreateSubscription": POST "/subscriptions",
            path(), body(AmfCreateEventSubscription), returns(Created<AmfCreatedEventSubscription>),
            errors[403 "UE_NOT_SERVED_BY_AMF", 403 "SUBSCRIPTION_CANNOT_BE_SERVED"];
        /// Asks no more.
        op delete_subscription "DeleteSubscription": DELETE "/subscriptions/{subscriptionId}",
            path(subscription_id), returns(()), errors[404 "SUBSCRIPTION_NOT_FOUND"];
    }
}

service! {
    /// Where events of UEs are told (TS 29.518, 5.3.2.4).
    pub AmfEventCallback / AmfEventCallbackClient / NAMF_EVTS_CALLBACK
        = "namf-evts-callback" / "v1" {
        /// Something has happened.
        callback event_notify "EventNotify": POST "/notify/{id}",
            path(id), body(AmfEventNotification), returns(()),
            errors[];
    }
}
