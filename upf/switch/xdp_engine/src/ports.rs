//! Numbers of ports.

/// Number of ports; the last is the controller's.
pub const PORTS: u32 = 8;
/// The port where packets are held while their flow moves from the native side.
pub const HOLD: u32 = 6;
/// The controller's port.
pub const CONTROLLER: u32 = PORTS - 1;
