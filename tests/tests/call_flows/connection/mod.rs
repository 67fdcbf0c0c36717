//! Service request, paging and AN release (TS 23.502, 4.2.3 and 4.2.6), NAS transport.
mod idle_and_paging;
mod malformed_nas;
