pub(crate) mod handover_preparation;
pub(crate) mod handover_resource_allocation;
pub(crate) mod path_switch_request;
pub(crate) mod ran_status_transfer;
pub(crate) mod transparent_containers;
