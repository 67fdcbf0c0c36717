//! Quirks on N1.
use crate::{Interface, quirks};

quirks! {
    /// Deviations of UEs.
    pub enum N1Quirk on Interface::N1 {
        /// CONFIGURATION UPDATE COMPLETE without a command.
        UnrequestedConfigurationUpdateComplete {
            name: "unrequested_configuration_update_complete",
            deviation: "CONFIGURATION UPDATE COMPLETE without a request, at each registration",
            clause: "TS 24.501, 5.4.4.3 and 7.4",
            vendors: "PacketRusher",
            handling: "ignored; refused: 5GMM STATUS #98",
            refused_by: "amf.n1.strict",
        },
        /// A request with the previous 5G-GUTI.
        OldGutiAfterConfirmation {
            name: "old_guti_after_confirmation",
            deviation: "a request with the previous 5G-GUTI after the UE has confirmed a new one",
            clause: "TS 24.501, 5.4.4.3",
            vendors: "PacketRusher",
            handling: "served; later pagings have both; refused: SERVICE REJECT #9",
            refused_by: "amf.n1.strict",
        },
        /// An EAP response with AT_KDF.
        EapResponseWithKdf {
            name: "eap_response_with_kdf",
            deviation: "AT_KDF in an EAP response that accepts the key derivation function",
            clause: "RFC 9048, 3.2",
            vendors: "UERANSIM before 3.2.7",
            handling: "AT_KDF is ignored; refused: EAP-Failure",
            refused_by: "ausf.strict",
        },
        /// PDU SESSION ESTABLISHMENT REQUEST with PTI 0.
        UnassignedPti {
            name: "unassigned_pti",
            deviation: "PDU SESSION ESTABLISHMENT REQUEST with the unassigned PTI 0",
            clause: "TS 24.501, 7.3.1",
            vendors: "free-ran-ue",
            handling: "answered with PTI 0; refused: PDU SESSION ESTABLISHMENT REJECT #81",
            refused_by: "smf.n1.strict",
        },
    }
}
