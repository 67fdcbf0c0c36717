//! The `kernel` datapath: GTP-U over a UDP socket, N6 over a TUN device, threads of its own between them.
mod bucket;
mod entry;
mod forwarder;
mod frame;
mod limiter;
mod n3;
mod outlet;
mod packets;
