//! Namf_EventExposure: events of UEs, as far as they concern location (TS 29.518, 5.3 and 6.2).
use crate::common::{DateTime, NfInstanceId, PresenceInfo, Supi, UserLocation};
use crate::macros::open_enum;
use martlet_sbi::{Compact, Created, json_payload, service};
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use std::collections::BTreeMap;

json_payload!(AmfCreateEventSubscription, AmfCreatedEventSubscription, AmfEventNotification);

open_enum! {
    /// Types of events (TS 29.518, 6.2.6.3.3).
    pub enum AmfEventType {
        LocationReport = "LOCATION_REPORT",
        PresenceInAoiReport = "PRESENCE_IN_AOI_REPORT",
    }
}

open_enum! {
    /// When an event is reported (TS 29.518, 6.2.6.3.4).
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

/// An event to subscribe to (TS 29.518, 6.2.6.2.3).
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct AmfEvent {
    /// Which event
    #[serde(rename = "type")]
    pub kind: AmfEventType,
    /// The current state is reported immediately
    pub immediate_flag: Option<bool>,
    /// Areas of interest
    pub area_list: Option<Vec<AmfEventArea>>,
    /// Areas of interest by names
    pub presence_info_list: Option<BTreeMap<String, PresenceInfo>>,
    /// Number of reports
    pub max_reports: Option<u32>,
}

impl AmfEvent {
    /// A value with the mandatory members only.
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

/// The reporting mode (TS 29.518, 6.2.6.2.9).
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct AmfEventMode {
    /// When
    pub trigger: AmfEventTrigger,
    /// Number of reports
    pub max_reports: Option<u32>,
    /// Expiry
    pub expiry: Option<DateTime>,
}

/// A subscription (TS 29.518, 6.2.6.2.2).
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct AmfEventSubscription {
    /// Requested events
    pub event_list: Vec<AmfEvent>,
    /// Notification URI
    pub event_notify_uri: String,
    /// By which name
    pub notify_correlation_id: String,
    /// The subscribing NF
    pub nf_id: NfInstanceId,
    /// The UEs
    pub supi: Option<Supi>,
    /// About all UEs
    #[serde(rename = "anyUE")]
    pub any_ue: Option<bool>,
    /// Reporting mode
    pub options: Option<AmfEventMode>,
}

/// A request to subscribe (TS 29.518, 6.2.6.2.12).
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct AmfCreateEventSubscription {
    /// The subscription
    pub subscription: AmfEventSubscription,
    /// Features of the consumer
    pub supported_features: Option<String>,
}

/// The created subscription (TS 29.518, 6.2.6.2.13).
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct AmfCreatedEventSubscription {
    /// The subscription
    pub subscription: AmfEventSubscription,
    /// Its URI
    pub subscription_id: String,
    /// The current state
    pub report_list: Option<Vec<AmfEventReport>>,
}

/// Whether more reports follow (TS 29.518, 6.2.6.2.6).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct AmfEventState {
    /// Whether the subscription is active
    pub active: bool,
    /// Number of reports
    pub remain_reports: Option<u32>,
}

/// The report of an event (TS 29.518, 6.2.6.2.5).
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct AmfEventReport {
    /// Which event
    #[serde(rename = "type")]
    pub kind: AmfEventType,
    /// Whether more reports follow
    pub state: AmfEventState,
    /// When
    pub time_stamp: DateTime,
    /// The subscription's URI
    pub subscription_id: Option<String>,
    /// Correlation identifier of the subscriber
    pub supi: Option<Supi>,
    /// Areas, and whether the UE is there
    pub area_list: Option<Vec<AmfEventArea>>,
    /// Location of the UE
    pub location: Option<UserLocation>,
}

/// A notification (TS 29.518, 6.2.6.2.4).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct AmfEventNotification {
    /// The consumer's name of the subscription
    pub notify_correlation_id: Option<String>,
    /// The reports
    pub report_list: Option<Vec<AmfEventReport>>,
}

service! {
    /// Events of UEs, by their AMF (TS 29.518, 6.2.3).
    pub AmfEventExposure / AmfEventExposureClient / NAMF_EVTS = "namf-evts" / "v1" {
        /// Subscribes to events.
        op create_subscription "CreateSubscription": POST "/subscriptions",
            path(), body(AmfCreateEventSubscription), returns(Created<AmfCreatedEventSubscription>),
            errors[403 "UE_NOT_SERVED_BY_AMF", 403 "SUBSCRIPTION_CANNOT_BE_SERVED"];
        /// Ends a subscription.
        op delete_subscription "DeleteSubscription": DELETE "/subscriptions/{subscriptionId}",
            path(subscription_id), returns(()), errors[404 "SUBSCRIPTION_NOT_FOUND"];
    }
}

service! {
    /// Notifications of events to a subscriber (TS 29.518, 5.3.2.4).
    pub AmfEventCallback / AmfEventCallbackClient / NAMF_EVTS_CALLBACK
        = "namf-evts-callback" / "v1" {
        /// Reports events.
        callback event_notify "EventNotify": POST "/notify/{id}",
            path(id), body(AmfEventNotification), returns(()),
            errors[];
    }
}
