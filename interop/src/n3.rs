//! Quirks on N3.
use crate::{Interface, quirks};

quirks! {
    /// Deviations of gNBs in the user plane.
    pub enum N3Quirk on Interface::N3 {
        /// G-PDUs without QFI.
        NoQfi {
            name: "no_qfi",
            deviation: "uplink G-PDUs without PDU session container, and so without QFI",
            clause: "TS 38.415, 5.5.3.3",
            vendors: "free-ran-ue",
            handling: "the default QoS flow; refused: dropped with the reason `no_qfi`",
            refused_by: "upf.n3.require_qfi",
        },
    }
}
