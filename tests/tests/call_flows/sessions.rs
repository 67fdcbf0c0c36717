//! PDU sessions (TS 23.502, 4.3).
