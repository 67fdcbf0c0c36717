//! Quirks on N2.
use crate::{Interface, quirks};

quirks! {
    /// Deviations of gNBs.
    pub enum N2Quirk on Interface::N2 {
        /// Information elements out of order.
        ElementOrder {
            name: "element_order",
            deviation: "information elements in another order than the tables of TS 38.413, 9.2",
            clause: "TS 38.413, 10.3.6",
            vendors: "PacketRusher",
            handling: "decoded in any order; refused: ERROR INDICATION, falsely constructed",
            refused_by: "amf.n2.strict",
        },
        /// Packets without a checksum over an interface that offloads it.
        OffloadedChecksum {
            name: "offloaded_checksum",
            deviation: "SCTP packets with the checksum 0 over an interface that offloads it",
            clause: "RFC 9260, 6.8",
            vendors: "the kernel's SCTP on the same machine",
            handling: "accepted from this machine alone, by the user-space stack; refused: dropped",
            refused_by: "amf.n2.strict",
        },
        /// Another payload protocol identifier than that of NGAP.
        PayloadProtocol {
            name: "payload_protocol",
            deviation: "0 as payload protocol identifier of SCTP, or 60 in the wrong byte order",
            clause: "TS 38.412, 7",
            vendors: "srsRAN's gNB of March 2023; programs with sctp-go",
            handling: "read as NGAP; refused: dropped",
            refused_by: "amf.n2.strict",
        },
        /// A name with an underscore.
        NodeName {
            name: "node_name",
            deviation: "a RAN node name with an underscore, which a PrintableString does not have",
            clause: "TS 38.413, 9.4.5; X.680, 41.4",
            vendors: "srsRAN's gNB, by default",
            handling: "used; refused: the gNB has no name",
            refused_by: "amf.n2.strict",
        },
        /// An error indication without the RAN UE NGAP ID.
        AmfUeNgapIdAlone {
            name: "amf_ue_ngap_id_alone",
            deviation: "ERROR INDICATION about a UE without its RAN UE NGAP ID",
            clause: "TS 38.413, 8.7.5.2",
            vendors: "gNBs of OCUDU and srsRAN",
            handling: "the gNB's connection with the other identity is meant; refused: logged",
            refused_by: "amf.n2.strict",
        },
    }
}
