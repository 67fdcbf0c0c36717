//! Quirks on N4.
use crate::{Interface, quirks};

quirks! {
    /// Deviations of SMFs on N4.
    pub enum N4Quirk on Interface::N4 {
        /// Forwarding to the access without a tunnel.
        ForwardWithoutHeader {
            name: "forward_without_header",
            deviation: "a FAR that forwards to the access without Outer Header Creation",
            clause: "TS 29.244, table 7.5.2.3-2",
            vendors: "free5GC's SMF",
            handling: "packets are dropped until there is a tunnel; refused: the request is \
                       rejected with the cause Conditional IE missing",
            refused_by: "upf.n4.strict",
        },
    }
}
