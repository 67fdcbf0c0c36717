//! martlet-pcf
