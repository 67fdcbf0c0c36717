//! The bodies of messages, without the nested choices of the ASN.1.

use crate::*;

/// The initiator of a transaction, and its number (TS 37.355, 4.3.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Transaction {
    /// The LMF.
    ByServer(u8),
    /// The UE.
    ByTarget(u8),
}

impl Transaction {
    /// Reads it from a message; `None` where it is absent.
    pub fn of(message: &LppMessage) -> Option<Self> {
        let id = message.transaction_id.as_ref()?;
        match id.initiator {
            Initiator::LocationServer => Some(Transaction::ByServer(id.transaction_number)),
            Initiator::TargetDevice => Some(Transaction::ByTarget(id.transaction_number)),
            Initiator::Other(_) => None,
        }
    }

    fn id(self) -> LppTransactionId {
        let (initiator, transaction_number) = match self {
            Transaction::ByServer(number) => (Initiator::LocationServer, number),
            Transaction::ByTarget(number) => (Initiator::TargetDevice, number),
        };
        LppTransactionId { initiator, transaction_number }
    }
}

macro_rules! bodies {
    ($($name:ident($ies:ident) = $body:ident, $critical:ident,
        $release:ident::$variant:ident;)*) => {
        /// The body of a message (TS 37.355, 6.2).
        #[derive(Debug, Clone, PartialEq)]
        pub enum Body {
            $(
                #[doc = concat!("`", stringify!($name), "`.")]
                $name(Box<$ies>),
            )*
            /// `Error`.
            Error(Box<ErrorR9IEs>),
        }

        impl Body {
            /// Reads it from a message; `None` where it is absent or of a later release.
            pub fn of(message: LppMessage) -> Option<Self> {
                let LppMessageBody::C1(body) = message.lpp_message_body? else { return None };
                match body {
                    $(LppMessageBodyC1::$name(it) => match it.critical_extensions {
                        $critical::C1($release::$variant(it)) => Some(Body::$name(it.into())),
                        _ => None,
                    },)*
                    LppMessageBodyC1::Error(Error::ErrorR9(it)) => Some(Body::Error(it.into())),
                    _ => None,
                }
            }

            fn wrapped(self) -> LppMessageBodyC1 {
                match self {
                    $(Body::$name(it) => LppMessageBodyC1::$name(
                        $name { critical_extensions: $critical::C1(
                            $release::$variant(Unbox::unbox(it))) }.into(),
                    ),)*
                    Body::Error(it) => LppMessageBodyC1::Error(Error::ErrorR9(*it)),
                }
            }

            /// The name of the message.
            pub fn name(&self) -> &'static str {
                match self {
                    $(Body::$name(_) => stringify!($name),)*
                    Body::Error(_) => "Error",
                }
            }
        }
    };
}

bodies! {
    RequestCapabilities(RequestCapabilitiesR9IEs) = requestCapabilities,
        RequestCapabilitiesCriticalExtensions,
            RequestCapabilitiesCriticalExtensionsC1::RequestCapabilitiesR9;
    ProvideCapabilities(ProvideCapabilitiesR9IEs) = provideCapabilities,
        ProvideCapabilitiesCriticalExtensions,
            ProvideCapabilitiesCriticalExtensionsC1::ProvideCapabilitiesR9;
    RequestAssistanceData(RequestAssistanceDataR9IEs) = requestAssistanceData,
        RequestAssistanceDataCriticalExtensions,
            RequestAssistanceDataCriticalExtensionsC1::RequestAssistanceDataR9;
    ProvideAssistanceData(ProvideAssistanceDataR9IEs) = provideAssistanceData,
        ProvideAssistanceDataCriticalExtensions,
            ProvideAssistanceDataCriticalExtensionsC1::ProvideAssistanceDataR9;
    RequestLocationInformation(RequestLocationInformationR9IEs) = requestLocationInformation,
        RequestLocationInformationCriticalExtensions,
        RequestLocationInformationCriticalExtensionsC1::RequestLocationInformationR9;
    ProvideLocationInformation(ProvideLocationInformationR9IEs) = provideLocationInformation,
        ProvideLocationInformationCriticalExtensions,
        ProvideLocationInformationCriticalExtensionsC1::ProvideLocationInformationR9;
    Abort(AbortR9IEs) = abort, AbortCriticalExtensions, AbortCriticalExtensionsC1::AbortR9;
}

/// The generated choices box large alternatives only.
trait Unbox<T> {
    fn unbox(self) -> T;
}
impl<T> Unbox<Box<T>> for Box<T> {
    fn unbox(self) -> Box<T> {
        self
    }
}
impl Unbox<AbortR9IEs> for Box<AbortR9IEs> {
    fn unbox(self) -> AbortR9IEs {
        *self
    }
}

impl LppMessage {
    /// A message of a transaction, its last one or not. A sequence number requests an
    /// acknowledgement, for transports that lose messages (TS 37.355, 4.3.3); over LCS-UPP there is
    /// none.
    pub fn new(transaction: Transaction, end_transaction: bool, body: Body) -> Self {
        LppMessage {
            transaction_id: Some(transaction.id()),
            end_transaction,
            sequence_number: None,
            acknowledgement: None,
            lpp_message_body: Some(LppMessageBody::C1(body.wrapped())),
        }
    }

    /// The acknowledgement that this message requests, a message without a body (TS 37.355, 4.3.3);
    /// `None` where it requests none.
    pub fn acknowledge(&self) -> Option<LppMessage> {
        let number = self.sequence_number?;
        let requested = self.acknowledgement.as_ref().is_some_and(|it| it.ack_requested);
        requested.then(|| LppMessage {
            acknowledgement: Some(Acknowledgement {
                ack_requested: false,
                ack_indicator: Some(number),
            }),
            ..Default::default()
        })
    }
}
