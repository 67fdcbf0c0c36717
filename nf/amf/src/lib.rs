//! martlet-amf
