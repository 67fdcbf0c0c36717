//! Enumerations of PDU session management (TS 29.502, 6.1.6.3).
use crate::macros::open_enum;

open_enum! {
    /// DNN selection mode (TS 29.502, 6.1.6).
    pub enum DnnSelectionMode {
        Verified = "VERIFIED",
        UeDnnNotVerified = "UE_DNN_NOT_VERIFIED",
        NwDnnNotVerified = "NW_DNN_NOT_VERIFIED",
    }
}

open_enum! {
    /// The type of N2 session management information (TS 29.502, 6.1.6).
    pub enum N2SmInfoType {
        PduResSetupReq = "PDU_RES_SETUP_REQ",
        PduResSetupRsp = "PDU_RES_SETUP_RSP",
        PduResSetupFail = "PDU_RES_SETUP_FAIL",
        PduResRelCmd = "PDU_RES_REL_CMD",
        PduResRelRsp = "PDU_RES_REL_RSP",
        PduResModReq = "PDU_RES_MOD_REQ",
        PduResModRsp = "PDU_RES_MOD_RSP",
        PduResModFail = "PDU_RES_MOD_FAIL",
        PduResNty = "PDU_RES_NTY",
        PduResNtyRel = "PDU_RES_NTY_REL",
        PduResModInd = "PDU_RES_MOD_IND",
        PduResModCfm = "PDU_RES_MOD_CFM",
        PathSwitchReq = "PATH_SWITCH_REQ",
        PathSwitchSetupFail = "PATH_SWITCH_SETUP_FAIL",
        PathSwitchReqAck = "PATH_SWITCH_REQ_ACK",
        PathSwitchReqFail = "PATH_SWITCH_REQ_FAIL",
        HandoverRequired = "HANDOVER_REQUIRED",
        HandoverCmd = "HANDOVER_CMD",
        HandoverPrepFail = "HANDOVER_PREP_FAIL",
        HandoverReqAck = "HANDOVER_REQ_ACK",
        HandoverResAllocFail = "HANDOVER_RES_ALLOC_FAIL",
        SecondaryRatUsage = "SECONDARY_RAT_USAGE",
        PduResModIndFail = "PDU_RES_MOD_IND_FAIL",
        UeContextResumeReq = "UE_CONTEXT_RESUME_REQ",
        UeContextResumeRsp = "UE_CONTEXT_RESUME_RSP",
        UeContextSuspendReq = "UE_CONTEXT_SUSPEND_REQ",
    }
}

open_enum! {
    /// State of a session's user plane connection (TS 29.502, 6.1.6).
    pub enum UpCnxState {
        Activated = "ACTIVATED",
        Deactivated = "DEACTIVATED",
        Activating = "ACTIVATING",
        Suspended = "SUSPENDED",
    }
}

open_enum! {
    /// State of a session's handover (TS 29.502, 6.1.6).
    pub enum HoState {
        None = "NONE",
        Preparing = "PREPARING",
        Prepared = "PREPARED",
        Completed = "COMPLETED",
        Cancelled = "CANCELLED",
    }
}

open_enum! {
    /// Why something was done or refused (TS 29.502, 6.1.6).
    pub enum Cause {
        RelDueToHo = "REL_DUE_TO_HO",
        EpsFallback = "EPS_FALLBACK",
        RelDueToUpSec = "REL_DUE_TO_UP_SEC",
        DnnCongestion = "DNN_CONGESTION",
        SNssaiCongestion = "S_NSSAI_CONGESTION",
        RelDueToReactivation = "REL_DUE_TO_REACTIVATION",
        FiveGAnNotResponding = "5G_AN_NOT_RESPONDING",
        RelDueToSliceNotAvailable = "REL_DUE_TO_SLICE_NOT_AVAILABLE",
        RelDueToDuplicateSessionId = "REL_DUE_TO_DUPLICATE_SESSION_ID",
        PduSessionStatusMismatch = "PDU_SESSION_STATUS_MISMATCH",
        HoFailure = "HO_FAILURE",
        InsufficientUpResources = "INSUFFICIENT_UP_RESOURCES",
        PduSessionHandedOver = "PDU_SESSION_HANDED_OVER",
        PduSessionResumed = "PDU_SESSION_RESUMED",
        CnAssistedRanParameterTuning = "CN_ASSISTED_RAN_PARAMETER_TUNING",
        IsmfContextTransfer = "ISMF_CONTEXT_TRANSFER",
        SmfContextTransfer = "SMF_CONTEXT_TRANSFER",
        RelDueToPsToCsHo = "REL_DUE_TO_PS_TO_CS_HO",
        RelDueToSubscriptionChange = "REL_DUE_TO_SUBSCRIPTION_CHANGE",
        HoCancel = "HO_CANCEL",
        RelDueToSliceNotAuthorized = "REL_DUE_TO_SLICE_NOT_AUTHORIZED",
        PduSessionHandOverFailure = "PDU_SESSION_HAND_OVER_FAILURE",
        DdnFailureStatus = "DDN_FAILURE_STATUS",
        RelDueToCpOnlyNotApplicable = "REL_DUE_TO_CP_ONLY_NOT_APPLICABLE",
        NotSupportedWithIsmf = "NOT_SUPPORTED_WITH_ISMF",
        ChangedAnchorSmf = "CHANGED_ANCHOR_SMF",
        ChangedIntermediateSmf = "CHANGED_INTERMEDIATE_SMF",
        TargetDnaiNotification = "TARGET_DNAI_NOTIFICATION",
        RelDueToVplmnQosFailure = "REL_DUE_TO_VPLMN_QOS_FAILURE",
        RelDueToSmfNotSupportPsetr = "REL_DUE_TO_SMF_NOT_SUPPORT_PSETR",
        RelDueToSnpnSnpnMobility = "REL_DUE_TO_SNPN_SNPN_MOBILITY",
        RelDueToNoHrAgreement = "REL_DUE_TO_NO_HR_AGREEMENT",
        RelDueToUnspecifiedReason = "REL_DUE_TO_UNSPECIFIED_REASON",
        RelDueToMobAccessRestrictions = "REL_DUE_TO_MOB_ACCESS_RESTRICTIONS",
        RelDueToSliceInactivity = "REL_DUE_TO_SLICE_INACTIVITY",
        RelDueToNsiNotAvailable = "REL_DUE_TO_NSI_NOT_AVAILABLE",
        RelDueToDnnDenied = "REL_DUE_TO_DNN_DENIED",
        RelDueToPdutypeDenied = "REL_DUE_TO_PDUTYPE_DENIED",
        RelDueToSscDenied = "REL_DUE_TO_SSC_DENIED",
        RelDueToSubscriptionDenied = "REL_DUE_TO_SUBSCRIPTION_DENIED",
        RelDueToDnnNotSupported = "REL_DUE_TO_DNN_NOT_SUPPORTED",
        RelDueToPdutypeNotSupported = "REL_DUE_TO_PDUTYPE_NOT_SUPPORTED",
        RelDueToSscNotSupported = "REL_DUE_TO_SSC_NOT_SUPPORTED",
        RelDueToInsufficientResourcesSlice = "REL_DUE_TO_INSUFFICIENT_RESOURCES_SLICE",
        RelDueToInsufficientResourcesSliceDnn = "REL_DUE_TO_INSUFFICIENT_RESOURCES_SLICE_DNN",
        RelDueToDnnCongestion = "REL_DUE_TO_DNN_CONGESTION",
        RelDueToSNssaiCongestion = "REL_DUE_TO_S_NSSAI_CONGESTION",
        RelDueToPeerNotResponding = "REL_DUE_TO_PEER_NOT_RESPONDING",
        RelDueToNetworkFailure = "REL_DUE_TO_NETWORK_FAILURE",
        RelDueToUpfNotResponding = "REL_DUE_TO_UPF_NOT_RESPONDING",
        RelDueToNoEps5gsContinuity = "REL_DUE_TO_NO_EPS_5GS_CONTINUITY",
        RelDueToNotSupportedWithIsmf = "REL_DUE_TO_NOT_SUPPORTED_WITH_ISMF",
        RelDueToExceededUeSliceDataRate = "REL_DUE_TO_EXCEEDED_UE_SLICE_DATA_RATE",
        RelDueToExceededSliceDataRate = "REL_DUE_TO_EXCEEDED_SLICE_DATA_RATE",
        RelDueToContextNotFound = "REL_DUE_TO_CONTEXT_NOT_FOUND",
        RelDueToMbsrNotAuthorized = "REL_DUE_TO_MBSR_NOT_AUTHORIZED",
        DeactDueToUeOutOfSliceSupportArea = "DEACT_DUE_TO_UE_OUT_OF_SLICE_SUPPORT_AREA",
        RejectDueToN1SmError = "REJECT_DUE_TO_N1_SM_ERROR",
    }
}

open_enum! {
    /// The status of a session context (TS 29.502, 6.1.6).
    pub enum ResourceStatus {
        Released = "RELEASED",
        Unchanged = "UNCHANGED",
        Transferred = "TRANSFERRED",
        Updated = "UPDATED",
        AltAnchorSmf = "ALT_ANCHOR_SMF",
    }
}

open_enum! {
    /// The type of a UE's session request (TS 29.502, 6.1.6).
    pub enum RequestType {
        InitialRequest = "INITIAL_REQUEST",
        ExistingPduSession = "EXISTING_PDU_SESSION",
        InitialEmergencyRequest = "INITIAL_EMERGENCY_REQUEST",
        ExistingEmergencyPduSession = "EXISTING_EMERGENCY_PDU_SESSION",
    }
}

open_enum! {
    /// EPS interworking of a session (TS 29.502, 6.1.6).
    pub enum EpsInterworkingIndication {
        None = "NONE",
        WithN26 = "WITH_N26",
        WithoutN26 = "WITHOUT_N26",
        IwkNon3gpp = "IWK_NON_3GPP",
    }
}

open_enum! {
    /// Which context is retrieved (TS 29.502, 6.1.6).
    pub enum SmContextType {
        EpsPdnConnection = "EPS_PDN_CONNECTION",
        SmContext = "SM_CONTEXT",
        AfCoordinationInfo = "AF_COORDINATION_INFO",
    }
}

open_enum! {
    /// The released access of a multi-access session (TS 29.502, 6.1.6).
    pub enum MaReleaseIndication {
        RelMapduOver3gpp = "REL_MAPDU_OVER_3GPP",
        RelMapduOverN3gpp = "REL_MAPDU_OVER_N3GPP",
    }
}
