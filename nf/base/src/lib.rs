//! martlet-nf
