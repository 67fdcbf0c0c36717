//! The LMF's procedures, a file each.
pub(crate) mod determine_location;
pub(crate) mod user_plane_connection;
