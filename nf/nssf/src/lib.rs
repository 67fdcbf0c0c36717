//! martlet-nssf
