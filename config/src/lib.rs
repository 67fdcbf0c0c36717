//! martlet-config
