//! UE mobility management (TS 38.413, 8.4): N2 handover and path switch.
pub(crate) mod handover_cancellation;
pub(crate) mod handover_notification;
pub(crate) mod handover_preparation;
pub(crate) mod handover_resource_allocation;
pub(crate) mod path_switch_request;
pub(crate) mod ran_status_transfer;
pub(crate) mod source_release;
mod transparent_containers;
