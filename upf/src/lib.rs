//! martlet-upf
