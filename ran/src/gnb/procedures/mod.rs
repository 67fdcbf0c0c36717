pub(crate) mod handover;
pub(crate) mod interface_management;
pub(crate) mod location_reporting;
pub(crate) mod nas_transport;
pub(crate) mod paging;
pub(crate) mod pdu_session;
pub(crate) mod ue_context;
