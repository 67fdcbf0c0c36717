//! N4 with an SMF made by hand, above the forwarder of the `kernel` datapath without its sockets.
mod associations;
mod dashboard;
mod malformed;
mod reports;
mod sessions;
mod smf;
mod thermal;
mod usage;
