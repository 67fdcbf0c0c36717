//! Enumerations of the AMF's communication service (TS 29.518, 6.1.6.3).
use crate::macros::open_enum;

open_enum! {
    /// Status change of an AMF (TS 29.518, 6.1.6).
    pub enum StatusChange {
        AmfUnavailable = "AMF_UNAVAILABLE",
        AmfAvailable = "AMF_AVAILABLE",
    }
}

open_enum! {
    /// Kind of N2 information (TS 29.518, 6.1.6).
    pub enum N2InformationClass {
        Sm = "SM",
        NRPPa = "NRPPa",
        Pws = "PWS",
        PwsBcal = "PWS-BCAL",
        PwsRf = "PWS-RF",
        Ran = "RAN",
        V2x = "V2X",
        Prose = "PROSE",
        Tss = "TSS",
        Rspp = "RSPP",
        A2x = "A2X",
    }
}

open_enum! {
    /// Kind of N1 message (TS 29.518, 6.1.6).
    pub enum N1MessageClass {
        FiveGMm = "5GMM",
        Sm = "SM",
        Lpp = "LPP",
        Sms = "SMS",
        Updp = "UPDP",
        Lcs = "LCS",
        UppCmi = "UPP-CMI",
    }
}

open_enum! {
    /// Outcome of a transfer (TS 29.518, 6.1.6).
    pub enum N1N2MessageTransferCause {
        AttemptingToReachUe = "ATTEMPTING_TO_REACH_UE",
        N1N2TransferInitiated = "N1_N2_TRANSFER_INITIATED",
        WaitingForAsynchronousTransfer = "WAITING_FOR_ASYNCHRONOUS_TRANSFER",
        UeNotResponding = "UE_NOT_RESPONDING",
        N1MsgNotTransferred = "N1_MSG_NOT_TRANSFERRED",
        N2MsgNotTransferred = "N2_MSG_NOT_TRANSFERRED",
        UeNotReachableForSession = "UE_NOT_REACHABLE_FOR_SESSION",
        TemporaryRejectRegistrationOngoing = "TEMPORARY_REJECT_REGISTRATION_ONGOING",
        TemporaryRejectHandoverOngoing = "TEMPORARY_REJECT_HANDOVER_ONGOING",
        RejectionDueToPagingRestriction = "REJECTION_DUE_TO_PAGING_RESTRICTION",
        AnNotResponding = "AN_NOT_RESPONDING",
        FailureCauseUnspecified = "FAILURE_CAUSE_UNSPECIFIED",
    }
}

open_enum! {
    /// Whether a context was transferred (TS 29.518, 6.1.6).
    pub enum UeContextTransferStatus {
        Transferred = "TRANSFERRED",
        NotTransferred = "NOT_TRANSFERRED",
    }
}

open_enum! {
    /// Outcome of a transfer (TS 29.518, 6.1.6).
    pub enum N2InformationTransferResult {
        N2InfoTransferInitiated = "N2_INFO_TRANSFER_INITIATED",
    }
}

open_enum! {
    /// Ciphering algorithm of NAS (TS 29.518, 6.1.6).
    pub enum CipheringAlgorithm {
        Nea0 = "NEA0",
        Nea1 = "NEA1",
        Nea2 = "NEA2",
        Nea3 = "NEA3",
    }
}

open_enum! {
    /// Integrity algorithm of NAS (TS 29.518, 6.1.6).
    pub enum IntegrityAlgorithm {
        Nia0 = "NIA0",
        Nia1 = "NIA1",
        Nia2 = "NIA2",
        Nia3 = "NIA3",
    }
}

open_enum! {
    /// Kind of security context (TS 29.518, 6.1.6).
    pub enum ScType {
        Native = "NATIVE",
        Mapped = "MAPPED",
    }
}

open_enum! {
    /// Kind of K_AMF (TS 29.518, 6.1.6).
    pub enum KeyAmfType {
        Kamf = "KAMF",
        Kprimeamf = "KPRIMEAMF",
    }
}

open_enum! {
    /// Why a context moves (TS 29.518, 6.1.6).
    pub enum TransferReason {
        InitReg = "INIT_REG",
        MobiReg = "MOBI_REG",
        MobiRegUeValidated = "MOBI_REG_UE_VALIDATED",
    }
}

open_enum! {
    /// Request triggers of the PCF at the AMF (TS 29.518, 6.1.6).
    pub enum PolicyReqTrigger {
        LocationChange = "LOCATION_CHANGE",
        PraChange = "PRA_CHANGE",
        AllowedNssaiChange = "ALLOWED_NSSAI_CHANGE",
        NwdafDataChange = "NWDAF_DATA_CHANGE",
        PlmnChange = "PLMN_CHANGE",
        ConStateChange = "CON_STATE_CHANGE",
        SmfSelectChange = "SMF_SELECT_CHANGE",
        AccessTypeChange = "ACCESS_TYPE_CHANGE",
        SatBackhaulChange = "SAT_BACKHAUL_CHANGE",
    }
}

open_enum! {
    /// Which RAN nodes (TS 29.518, 6.1.6).
    pub enum RatSelector {
        EUtra = "E-UTRA",
        Nr = "NR",
    }
}

open_enum! {
    /// Which information element of NGAP (TS 29.518, 6.1.6).
    pub enum NgapIeType {
        PduResSetupReq = "PDU_RES_SETUP_REQ",
        PduResRelCmd = "PDU_RES_REL_CMD",
        PduResModReq = "PDU_RES_MOD_REQ",
        HandoverCmd = "HANDOVER_CMD",
        HandoverRequired = "HANDOVER_REQUIRED",
        HandoverPrepFail = "HANDOVER_PREP_FAIL",
        SrcToTarContainer = "SRC_TO_TAR_CONTAINER",
        TarToSrcContainer = "TAR_TO_SRC_CONTAINER",
        TarToSrcFailContainer = "TAR_TO_SRC_FAIL_CONTAINER",
        RanStatusTransContainer = "RAN_STATUS_TRANS_CONTAINER",
        SonConfigTransfer = "SON_CONFIG_TRANSFER",
        NrppaPdu = "NRPPA_PDU",
        UeRadioCapability = "UE_RADIO_CAPABILITY",
        RimInfoTransfer = "RIM_INFO_TRANSFER",
        SecondaryRatUsage = "SECONDARY_RAT_USAGE",
        Pc5QosPara = "PC5_QOS_PARA",
        EarlyStatusTransContainer = "EARLY_STATUS_TRANS_CONTAINER",
        UeRadioCapabilityForPaging = "UE_RADIO_CAPABILITY_FOR_PAGING",
    }
}

open_enum! {
    /// Why N2 information is notified (TS 29.518, 6.1.6).
    pub enum N2InfoNotifyReason {
        HandoverCompleted = "HANDOVER_COMPLETED",
    }
}
