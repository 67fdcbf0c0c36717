//! The code points of TS 24.572.

/// Message types of LCS-UPP (TS 24.572, 11.1.3).
pub mod lcs_upp {
    /// UL LCS-UP TRANSPORT (10.2.1).
    pub const UL_LCS_UP_TRANSPORT: u8 = 0x41;
    /// DL LCS-UP TRANSPORT (10.2.2).
    pub const DL_LCS_UP_TRANSPORT: u8 = 0x42;
    /// LCS-UP CONNECTION BINDING REQUEST (10.2.3).
    pub const CONNECTION_BINDING_REQUEST: u8 = 0x43;
    /// LCS-UP CONNECTION BINDING ACCEPT (10.2.4).
    pub const CONNECTION_BINDING_ACCEPT: u8 = 0x44;
    /// LCS-UP CONNECTION BINDING REJECT (10.2.5).
    pub const CONNECTION_BINDING_REJECT: u8 = 0x45;
}

/// Message types of UPP-CM: USER PLANE CONNECTION … (TS 24.572, 11.1.3).
pub mod upp_cm {
    /// ESTABLISHMENT COMMAND (10.3.1).
    pub const ESTABLISHMENT_COMMAND: u8 = 0xc1;
    /// ESTABLISHMENT COMPLETE (10.3.2).
    pub const ESTABLISHMENT_COMPLETE: u8 = 0xc2;
    /// ESTABLISHMENT FAILURE (10.3.3).
    pub const ESTABLISHMENT_FAILURE: u8 = 0xc3;
    /// ESTABLISHMENT REQUEST (10.3.4).
    pub const ESTABLISHMENT_REQUEST: u8 = 0xc4;
    /// ESTABLISHMENT REJECT (10.3.5).
    pub const ESTABLISHMENT_REJECT: u8 = 0xc5;
    /// RELEASE COMMAND (10.3.6).
    pub const RELEASE_COMMAND: u8 = 0xc6;
    /// RELEASE COMPLETE (10.3.7).
    pub const RELEASE_COMPLETE: u8 = 0xc7;
    /// RELEASE REQUEST (10.3.8).
    pub const RELEASE_REQUEST: u8 = 0xc8;
    /// MODIFICATION COMMAND (10.3.9).
    pub const MODIFICATION_COMMAND: u8 = 0xc9;
    /// MODIFICATION COMPLETE (10.3.10).
    pub const MODIFICATION_COMPLETE: u8 = 0xca;
    /// MODIFICATION REJECT (10.3.11).
    pub const MODIFICATION_REJECT: u8 = 0xcb;
}

/// Identifiers of the optional information elements of UPP-CM (TS 24.572, 10.3).
pub mod iei {
    /// Back-off timer, TLV, GPRS timer 3.
    pub const BACK_OFF_TIMER: u8 = 0x10;
    /// Failure cause, TV.
    pub const FAILURE_CAUSE: u8 = 0x21;
    /// Source LMF routing identity, TLV.
    pub const SOURCE_LMF_ROUTING_IDENTITY: u8 = 0x22;
}

/// Payload types of the transport messages (TS 24.572, 11).
pub mod payload {
    /// LTE positioning protocol.
    pub const LPP: u8 = 1;
    /// Location services messages in the style of supplementary services.
    pub const LCS: u8 = 2;
}

/// Types of the LMF's address (TS 24.572, 11).
pub mod address {
    /// 4 bytes.
    pub const IPV4: u8 = 1;
    /// 16 bytes.
    pub const IPV6: u8 = 2;
    /// 4 bytes, then 16.
    pub const IPV4_AND_IPV6: u8 = 3;
    /// Labels with their lengths, as in the DNS.
    pub const FQDN: u8 = 4;
}

/// Failure causes (TS 24.572, 11).
pub mod cause {
    /// The PDU session was not established.
    pub const PDU_SESSION_FAILURE: u8 = 1;
    /// The TLS handshake failed.
    pub const TLS_FAILURE: u8 = 2;
    /// The LMF rejected the binding, or did not answer it.
    pub const BINDING_FAILURE: u8 = 3;
    /// The UE has no user plane.
    pub const USER_PLANE_NOT_AVAILABLE: u8 = 4;
    /// The connection to the source LMF is unknown.
    pub const SOURCE_CONNECTION_NOT_FOUND: u8 = 5;
    /// Protocol error, unspecified; unknown causes are treated as this.
    pub const PROTOCOL_ERROR: u8 = 0x6f;
}
