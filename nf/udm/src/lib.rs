//! martlet-udm
