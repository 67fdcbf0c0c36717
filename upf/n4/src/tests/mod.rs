//! N4 with a handwritten SMF, on the forwarder of the `kernel` datapath without its sockets.
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
mod volumes;
