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
        /// An SDF filter with the name of a protocol.
        ProtocolName {
            name: "protocol_name",
            deviation: "an SDF filter with the name of a protocol, such as udp, not its number",
            clause: "TS 29.244, 8.2.5; RFC 6733, 4.3.1",
            vendors: "pfcpsim; Open5GS's SMF, which passes on what its PCF has",
            handling: "as the number; refused: the request is rejected with the cause Rule \
                       creation/modification Failure",
            refused_by: "upf.n4.strict",
        },
        /// A CHOOSE ID of an earlier request.
        ChooseIdOfSession {
            name: "choose_id_of_session",
            deviation: "a CHOOSE ID that stands for the F-TEID of an earlier request",
            clause: "TS 29.244, 8.2.3",
            vendors: "Open5GS's SMF, for further QoS flows",
            handling: "the F-TEID that the session has for the CHOOSE ID and source interface; \
                       refused: another F-TEID is allocated",
            refused_by: "upf.n4.strict",
        },
        /// A QER with QFI 0.
        ZeroQfi {
            name: "zero_qfi",
            deviation: "a QER with QFI 0 where it is for no QoS flow alone",
            clause: "TS 29.244, 8.2.89; TS 24.501, 9.11.4.12",
            vendors: "free5GC's SMF, in the QER of the session-AMBR",
            handling: "the QER marks no packets; refused: the request is rejected with the cause \
                       Rule creation/modification Failure",
            refused_by: "upf.n4.strict",
        },
    }
}
