//! N4 with an SMF made by hand, above the forwarder of the `kernel` datapath without its sockets.
mod addresses;
mod applications;
mod associations;
mod load;
mod malformed;
mod peers;
mod release;
mod reports;
mod sessions;
mod usage;
