//! martlet-smf
