//! Quirks on the service-based interface.
use crate::{Interface, quirks};

quirks! {
    /// Deviations of network functions.
    pub enum SbiQuirk on Interface::Sbi {
        /// The API root in apiPrefix.
        AbsoluteApiPrefix {
            name: "absolute_api_prefix",
            deviation: "`apiPrefix` of an NF profile is the whole API root",
            clause: "TS 29.510, 6.1.6.2.3",
            vendors: "free5GC",
            handling: "used as the API root; refused: the service is not called",
            refused_by: "sbi.strict",
        },
        /// A bare reference as location.
        BareSmContextReference {
            name: "bare_sm_context_reference",
            deviation: "the `Location` of an SM context is its reference alone, or a URI without \
                        scheme",
            clause: "TS 29.502, 6.1.3.2.3.1",
            vendors: "free5GC's SMF; OAI's SMF up to 2.0",
            handling: "used with the SMF's API root; refused: the session is not established",
            refused_by: "sbi.strict",
        },
        /// A prefix before the reference.
        PrefixedSmContextReference {
            name: "prefixed_sm_context_reference",
            deviation: "`urn:uuid:` before the reference of an SM context that the SMF assigned",
            clause: "TS 29.502, 6.1.3.3.2",
            vendors: "free5GC's AMF",
            handling: "the prefix is ignored; refused: 404 CONTEXT_NOT_FOUND",
            refused_by: "sbi.strict",
        },
        /// List elements that are not of their type.
        UnreadableElement {
            name: "unreadable_element",
            deviation: "elements of lists in subscription data, the `cause` of an updated SM \
                        context, or links to NF instances, that are not of their type",
            clause: "TS 29.571, 5.3; TS 29.502, 6.1.6.2.5; TS 29.510, 6.1.6",
            vendors: "free5GC's data; OAI's SMF; Open5GS's NRF",
            handling: "dropped where nothing needs them; refused: the response is not valid",
            refused_by: "sbi.strict",
        },
        /// null for a list.
        NullList {
            name: "null_list",
            deviation: "`null` for a list that is not nullable, or an empty text for an absent \
                        member",
            clause: "TS 29.500, 5.2.4",
            vendors: "free5GC",
            handling: "an empty list, or absent; refused: the message is not valid",
            refused_by: "sbi.strict",
        },
        /// Headers in the body.
        EnvelopedResponse {
            name: "enveloped_response",
            deviation: "the body of 202 is an object with `headers` and `data`, for a UE that is \
                        paged",
            clause: "TS 29.518, 6.1.3.5.3.1",
            vendors: "free5GC's AMF 1.4.5",
            handling: "`data` is the body; refused: the UE counts as not reachable, and its \
                       buffered packets are dropped",
            refused_by: "sbi.strict",
        },
        /// No heartbeats.
        NoHeartbeats {
            name: "no_heartbeats",
            deviation: "an NF instance registers without `heartBeatTimer`, and sends no heartbeats",
            clause: "TS 29.510, 5.2.2.3.2",
            vendors: "free5GC up to 3.4",
            handling: "stays registered with `nrf.interop.no_heartbeats`; refused: suspended",
            refused_by: "nrf.interop.no_heartbeats: false",
        },
        /// The former version of Nudm_SDM.
        SdmVersion1 {
            name: "sdm_v1",
            deviation: "`nudm-sdm/v1` in place of v2",
            clause: "TS 29.503, 6.1.1",
            vendors: "free5GC's SMF up to 1.2.4",
            handling: "served with `udm.sdm_v1`; refused: 404",
            refused_by: "udm.sdm_v1: false",
        },
        /// The former version of Nudr_DataRepository.
        DrVersion1 {
            name: "dr_v1",
            deviation: "`nudr-dr/v1` in place of v2",
            clause: "TS 29.504, 6.1.1",
            vendors: "UDM and PCF of Open5GS",
            handling: "served: stored contexts are answered with 204, and an authentication \
                       advances the sequence number; refused: 404",
            refused_by: "sbi.strict",
        },
        /// Subscriptions to nothing.
        EmptySubscription {
            name: "empty_subscription",
            deviation: "an SDM subscription without `monitoredResourceUris` or `callbackReference`",
            clause: "TS 29.503, 6.1.6.2.3",
            vendors: "free5GC's AMF",
            handling: "accepted with `udm.empty_subscriptions`, never notified; refused: 400",
            refused_by: "udm.empty_subscriptions: false",
        },
        /// An error for a registration that is kept.
        RegistrationError {
            name: "registration_error",
            deviation: "500 NOTIFICATION_ERROR for an NF registration that the NRF keeps",
            clause: "TS 29.510, 5.2.2.2.2",
            vendors: "free5GC's NRF 1.4.3, if a consumer subscribed to one of the services",
            handling: "registered if the NRF returns the profile; refused: registered again until \
                       it succeeds",
            refused_by: "sbi.strict",
        },
        /// A list of NF instances for one type only.
        TypedInstanceList {
            name: "typed_instance_list",
            deviation: "the NRF lists NF instances of one type only: 400 without `nf-type`",
            clause: "TS 29.510, 6.1.3.2.3.1",
            vendors: "free5GC's NRF",
            handling: "the instances of each type are requested; refused: callbacks have to be in \
                       `sbi.callbacks.allow`",
            refused_by: "sbi.strict",
        },
        /// No quota for a new charging session.
        NoInitialGrant {
            name: "no_initial_grant",
            deviation: "no units are granted when a charging session begins, although they are \
                        requested",
            clause: "TS 32.290, 5.3.2.3",
            vendors: "free5GC's CHF",
            handling: "requested again with a usage of 0; refused: there is no credit",
            refused_by: "sbi.strict",
        },
        /// Units that are never final.
        EmptyFinalAction {
            name: "empty_final_action",
            deviation: "`finalUnitIndication` with an empty action for units that are not final",
            clause: "TS 32.291, 6.1.6.2",
            vendors: "free5GC's CHF",
            handling: "the units are not final; refused: they are, and their end is reported so",
            refused_by: "sbi.strict",
        },
        /// A subscription that has no location.
        MissingLocation {
            name: "missing_location",
            deviation: "201 without `Location` for a subscription to the status of NF instances",
            clause: "TS 29.510, 6.1.3.4.3.1",
            vendors: "free5GC's NRF",
            handling: "subscribed; refused: not subscribed, discovery results expire by their \
                       validity alone",
            refused_by: "sbi.strict",
        },
        /// A rejection that does not say what is missing.
        MissingChallenge {
            name: "missing_challenge",
            deviation: "401 without `WWW-Authenticate` where an access token is required",
            clause: "RFC 9110, 11.6.1; RFC 6750, 3",
            vendors: "free5GC's NRF and functions",
            handling: "the request is repeated with a token; refused: it fails",
            refused_by: "sbi.strict",
        },
        /// Tokens for notifications.
        CallbackToken {
            name: "callback_token",
            deviation: "a function requires an access token for notifications, such as for \
                        `npcf-callback`",
            clause: "TS 33.501, 13.4.1",
            vendors: "free5GC's functions",
            handling: "repeated with a token if the callback URI is that of a registered \
                       function; refused: the notification fails, and the NRF issues no such token",
            refused_by: "sbi.strict",
        },
        /// The claims of a token.
        TokenClaims {
            name: "token_claims",
            deviation: "`aud` of an access token is the text of one instance, or `iss` is empty",
            clause: "TS 29.510, 6.3.5.2.4",
            vendors: "free5GC's NRF",
            handling: "accepted if signature, audience and expiry are right; refused: 401",
            refused_by: "sbi.strict",
        },
        /// Tokens without scopes of operations.
        ServiceScope {
            name: "service_scope",
            deviation: "the scope of an access token names the service alone, for an operation \
                        that has a scope of its own",
            clause: "TS 33.501, 13.4.1.1.2",
            vendors: "free5GC's NRF",
            handling: "accepted with `sbi.interop.service_tokens`; refused: 403 INSUFFICIENT_SCOPE",
            refused_by: "sbi.interop.service_tokens: false",
        },
        /// A subscription by none or several of the selectors.
        InfluenceSelectors {
            name: "influence_selectors",
            deviation: "a subscription to influence data has none or several of data networks, \
                        slices, groups and SUPIs",
            clause: "TS 29.519, 6.4.2.4",
            vendors: "free5GC's PCF",
            handling: "accepted: all of them have to match; refused: 400",
            refused_by: "sbi.strict",
        },
        /// A tracking area code in decimal digits.
        DecimalTac {
            name: "decimal_tac",
            deviation: "the `tac` of the parameter `tai`, or of the location in a request for an \
                        SM context, in decimal digits, without leading zeros",
            clause: "TS 29.571, 5.4.2",
            vendors: "OAI's AMF",
            handling: "read by NSSF and SMF, but 4 or 6 digits as hexadecimal; refused: 400",
            refused_by: "sbi.strict",
        },
        /// A UDM that serves each data set alone.
        SeparateDataSets {
            name: "separate_data_sets",
            deviation: "the UDM serves no request for several sets of subscription data",
            clause: "TS 29.503, 5.2.2.2.7",
            vendors: "Open5GS's UDM",
            handling: "each set is requested alone; refused: the UE is rejected",
            refused_by: "sbi.strict",
        },
    }
}
