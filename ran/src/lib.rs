//! martlet-ran
