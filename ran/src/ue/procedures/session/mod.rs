pub(crate) mod back_off;
pub(crate) mod pdu_session;
pub(crate) mod pdu_session_establishment;
pub(crate) mod pdu_session_modification;
pub(crate) mod pdu_session_release;
