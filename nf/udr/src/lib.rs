//! martlet-udr
