//! martlet-store
