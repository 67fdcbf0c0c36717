//! Enumerations of session policy control (TS 29.512, 5.6.3).
use crate::macros::open_enum;

open_enum! {
    /// Request triggers (TS 29.512, 5.6).
    pub enum PolicyControlRequestTrigger {
        PlmnCh = "PLMN_CH",
        ResMoRe = "RES_MO_RE",
        AcTyCh = "AC_TY_CH",
        UeIpCh = "UE_IP_CH",
        UeMacCh = "UE_MAC_CH",
        AnChCor = "AN_CH_COR",
        UsRe = "US_RE",
        AppSta = "APP_STA",
        AppSto = "APP_STO",
        AnInfo = "AN_INFO",
        CmSesFail = "CM_SES_FAIL",
        PsDaOff = "PS_DA_OFF",
        DefQosCh = "DEF_QOS_CH",
        SeAmbrCh = "SE_AMBR_CH",
        QosNotif = "QOS_NOTIF",
        NoCredit = "NO_CREDIT",
        RealloOfCredit = "REALLO_OF_CREDIT",
        PraCh = "PRA_CH",
        SareaCh = "SAREA_CH",
        ScnnCh = "SCNN_CH",
        ReTimeout = "RE_TIMEOUT",
        ResRelease = "RES_RELEASE",
        SuccResAllo = "SUCC_RES_ALLO",
        RaiCh = "RAI_CH",
        RatTyCh = "RAT_TY_CH",
        RefQosIndCh = "REF_QOS_IND_CH",
        NumOfPacketFilter = "NUM_OF_PACKET_FILTER",
        UeStatusResume = "UE_STATUS_RESUME",
        UeTzCh = "UE_TZ_CH",
        AuthProfCh = "AUTH_PROF_CH",
        QosMonitoring = "QOS_MONITORING",
        ScellCh = "SCELL_CH",
        UserLocationCh = "USER_LOCATION_CH",
        EpsFallback = "EPS_FALLBACK",
        MaPdu = "MA_PDU",
        TsnBridgeInfo = "TSN_BRIDGE_INFO",
        FiveGRgJoin = "5G_RG_JOIN",
        FiveGRgLeave = "5G_RG_LEAVE",
        DdnFailure = "DDN_FAILURE",
        DdnDeliveryStatus = "DDN_DELIVERY_STATUS",
        GroupIdListChg = "GROUP_ID_LIST_CHG",
        DdnFailureCancellation = "DDN_FAILURE_CANCELLATION",
        DdnDeliveryStatusCancellation = "DDN_DELIVERY_STATUS_CANCELLATION",
        VplmnQosCh = "VPLMN_QOS_CH",
        SuccQosUpdate = "SUCC_QOS_UPDATE",
        SatCategoryChg = "SAT_CATEGORY_CHG",
        PcfUeNotifInd = "PCF_UE_NOTIF_IND",
        NwdafDataChg = "NWDAF_DATA_CHG",
        UePolContInd = "UE_POL_CONT_IND",
        UrspEnforcementInfo = "URSP_ENFORCEMENT_INFO",
        HrSboIndChg = "HR_SBO_IND_CHG",
        L4sSupp = "L4S_SUPP",
        NetSliceRepl = "NET_SLICE_REPL",
        BatOffsetInfo = "BAT_OFFSET_INFO",
    }
}

open_enum! {
    /// State of a rule (TS 29.512, 5.6).
    pub enum RuleStatus {
        Active = "ACTIVE",
        Inactive = "INACTIVE",
    }
}

open_enum! {
    /// Why a PCC rule failed (TS 29.512, 5.6).
    pub enum FailureCode {
        UnkRuleId = "UNK_RULE_ID",
        RaGrErr = "RA_GR_ERR",
        SerIdErr = "SER_ID_ERR",
        NfMal = "NF_MAL",
        ResLim = "RES_LIM",
        MaxNrQoSFlow = "MAX_NR_QoS_FLOW",
        MissFlowInfo = "MISS_FLOW_INFO",
        ResAlloFail = "RES_ALLO_FAIL",
        UnsuccQosVal = "UNSUCC_QOS_VAL",
        IncorFlowInfo = "INCOR_FLOW_INFO",
        PsToCsHan = "PS_TO_CS_HAN",
        AppIdErr = "APP_ID_ERR",
        NoQosFlowBound = "NO_QOS_FLOW_BOUND",
        FilterRes = "FILTER_RES",
        MissRediSerAddr = "MISS_REDI_SER_ADDR",
        CmEndUserSerDenied = "CM_END_USER_SER_DENIED",
        CmCreditConNotApp = "CM_CREDIT_CON_NOT_APP",
        CmAuthRej = "CM_AUTH_REJ",
        CmUserUnk = "CM_USER_UNK",
        CmRatFailed = "CM_RAT_FAILED",
        UeStaSusp = "UE_STA_SUSP",
        UnknownRefId = "UNKNOWN_REF_ID",
        IncorrectCondData = "INCORRECT_COND_DATA",
        RefIdCollision = "REF_ID_COLLISION",
        TrafficSteeringError = "TRAFFIC_STEERING_ERROR",
        DnaiSteeringError = "DNAI_STEERING_ERROR",
        AnGwFaile = "AN_GW_FAILE",
        MaxNrPacketFiltersExceeded = "MAX_NR_PACKET_FILTERS_EXCEEDED",
        PacketFilterTftAllocationExceeded = "PACKET_FILTER_TFT_ALLOCATION_EXCEEDED",
        MuteChgNotAllowed = "MUTE_CHG_NOT_ALLOWED",
        UeTemporarilyUnavailable = "UE_TEMPORARILY_UNAVAILABLE",
    }
}

open_enum! {
    /// The operation on packet filters that a UE requests (TS 29.512, 5.6).
    pub enum RuleOperation {
        CreatePccRule = "CREATE_PCC_RULE",
        DeletePccRule = "DELETE_PCC_RULE",
        ModifyPccRuleAndAddPacketFilters = "MODIFY_PCC_RULE_AND_ADD_PACKET_FILTERS",
        ModifyPccRuleAndReplacePacketFilters = "MODIFY_ PCC_RULE_AND_REPLACE_PACKET_FILTERS",
        ModifyPccRuleAndDeletePacketFilters = "MODIFY_ PCC_RULE_AND_DELETE_PACKET_FILTERS",
        ModifyPccRuleWithoutModifyPacketFilters = "MODIFY_PCC_RULE_WITHOUT_MODIFY_PACKET_FILTERS",
    }
}

open_enum! {
    /// Why a session rule failed (TS 29.512, 5.6).
    pub enum SessionRuleFailureCode {
        NfMal = "NF_MAL",
        ResLim = "RES_LIM",
        SessionResourceAllocationFailure = "SESSION_RESOURCE_ALLOCATION_FAILURE",
        UnsuccQosVal = "UNSUCC_QOS_VAL",
        IncorrectUm = "INCORRECT_UM",
        UeStaSusp = "UE_STA_SUSP",
        UnknownRefId = "UNKNOWN_REF_ID",
        IncorrectCondData = "INCORRECT_COND_DATA",
        RefIdCollision = "REF_ID_COLLISION",
        AnGwFailed = "AN_GW_FAILED",
        DefaultQosModificationFailure = "DEFAULT_QOS_MODIFICATION_FAILURE",
        SessionAmbrModificationFailure = "SESSION_AMBR_MODIFICATION_FAILURE",
    }
}

open_enum! {
    /// Why a decision could be carried out in part only (TS 29.512, 5.6).
    pub enum FailureCause {
        PccRuleEvent = "PCC_RULE_EVENT",
        PccQosFlowEvent = "PCC_QOS_FLOW_EVENT",
        RulePermanentError = "RULE_PERMANENT_ERROR",
        RuleTemporaryError = "RULE_TEMPORARY_ERROR",
        PolDecError = "POL_DEC_ERROR",
    }
}

open_enum! {
    /// Which kind of decision failed (TS 29.512, 5.6).
    pub enum PolicyDecisionFailureCode {
        TraCtrlDecsErr = "TRA_CTRL_DECS_ERR",
        QosDecsErr = "QOS_DECS_ERR",
        ChgDecsErr = "CHG_DECS_ERR",
        UsaMonDecsErr = "USA_MON_DECS_ERR",
        QosMonDecsErr = "QOS_MON_DECS_ERR",
        ConDataErr = "CON_DATA_ERR",
        PolicyParamErr = "POLICY_PARAM_ERR",
    }
}

open_enum! {
    /// Usage of the default QoS flow (TS 29.512, 5.6).
    pub enum QosFlowUsage {
        General = "GENERAL",
        ImsSig = "IMS_SIG",
    }
}

open_enum! {
    /// Why a PDU session ended (TS 29.512, 5.6).
    pub enum PduSessionRelCause {
        PsToCsHo = "PS_TO_CS_HO",
        RuleError = "RULE_ERROR",
    }
}

open_enum! {
    /// Direction of a flow (TS 29.512, 5.6).
    pub enum FlowDirection {
        Downlink = "DOWNLINK",
        Uplink = "UPLINK",
        Bidirectional = "BIDIRECTIONAL",
        Unspecified = "UNSPECIFIED",
    }
}

open_enum! {
    /// Why a PCF ends an association (TS 29.512, 5.6).
    pub enum SmPolicyAssociationReleaseCause {
        Unspecified = "UNSPECIFIED",
        UeSubscription = "UE_SUBSCRIPTION",
        InsufficientRes = "INSUFFICIENT_RES",
        ValidationConditionNotMet = "VALIDATION_CONDITION_NOT_MET",
        ReactivationRequested = "REACTIVATION_REQUESTED",
    }
}

open_enum! {
    /// The metering method (TS 29.512, 5.6).
    pub enum MeteringMethod {
        Duration = "DURATION",
        Volume = "VOLUME",
        DurationVolume = "DURATION_VOLUME",
        Event = "EVENT",
    }
}

open_enum! {
    /// At which level usage is reported (TS 29.512, 5.6).
    pub enum ReportingLevel {
        SerIdLevel = "SER_ID_LEVEL",
        RatGrLevel = "RAT_GR_LEVEL",
        SponConLevel = "SPON_CON_LEVEL",
    }
}

open_enum! {
    /// Protocol between UE and application function (TS 29.512, 5.6).
    pub enum AfSigProtocol {
        NoInformation = "NO_INFORMATION",
        Sip = "SIP",
    }
}
