//! The switch in the kernel.
mod load;
