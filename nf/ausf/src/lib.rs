//! martlet-ausf
