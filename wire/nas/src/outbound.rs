//! Protects a message under the security header that its procedure requires (TS 24.501, 4.4.4.1,
//! 4.4.5, 5.4.2).

use crate::{Direction, Nas5gsMessage, Nas5gsSecurityHeaderType, NasError, NasSecurityContext};

/// The network's message to a UE with secure exchange: integrity protected and ciphered.
pub fn to_ue(
    context: &mut NasSecurityContext,
    message: &Nas5gsMessage,
) -> Result<Vec<u8>, NasError> {
    context.protect(
        message,
        Nas5gsSecurityHeaderType::IntegrityProtectedAndCiphered,
        Direction::Downlink,
    )
}

/// The UE's message to a network with secure exchange: integrity protected and ciphered. Initial
/// NAS messages go through [`NasSecurityContext::protect_initial`].
pub fn to_network(
    context: &mut NasSecurityContext,
    message: &Nas5gsMessage,
) -> Result<Vec<u8>, NasError> {
    context.protect(
        message,
        Nas5gsSecurityHeaderType::IntegrityProtectedAndCiphered,
        Direction::Uplink,
    )
}

/// SECURITY MODE COMMAND, under the new context: integrity protected, not ciphered (5.4.2.2).
pub fn security_mode_command(
    context: &mut NasSecurityContext,
    command: &Nas5gsMessage,
) -> Result<Vec<u8>, NasError> {
    let header = Nas5gsSecurityHeaderType::IntegrityProtectedWithNewFiveGNasSecurityContext;
    context.protect(command, header, Direction::Downlink)
}

/// SECURITY MODE COMPLETE, under the new context: integrity protected and ciphered (5.4.2.3).
pub fn security_mode_complete(
    context: &mut NasSecurityContext,
    complete: &Nas5gsMessage,
) -> Result<Vec<u8>, NasError> {
    let header =
        Nas5gsSecurityHeaderType::IntegrityProtectedAndCipheredWithNewFiveGNasSecurityContext;
    context.protect(complete, header, Direction::Uplink)
}

/// The network's message to a UE, protected where there is a security context: reject and status
/// messages may be either.
pub fn to_ue_if_possible(
    context: Option<&mut NasSecurityContext>,
    message: &Nas5gsMessage,
) -> Result<Vec<u8>, NasError> {
    match context {
        Some(context) => to_ue(context, message),
        None => message.encode(),
    }
}
