//! martlet-lab
