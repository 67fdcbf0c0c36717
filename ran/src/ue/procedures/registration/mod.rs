pub(crate) mod deregistration;
pub(crate) mod initial_and_mobility;
