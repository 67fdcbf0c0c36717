//! The kinds of rules of RPI's language, and their words.
/// The destination of a word's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Destination {
    /// A field of the table's key.
    Key(&'static str),
    /// A parameter of the action.
    Argument(&'static str),
    /// Two parameters of the action, with 64 bits each.
    Halves(&'static str, &'static str),
    /// Two fields of the table's key, with 64 bits each.
    KeyHalves(&'static str, &'static str),
    /// The priority of the entry.
    Priority,
}

/// How a value is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// `7` or `0x7`
    Number,
    /// `10.60.0.1`
    Address,
    /// `fd70::1`
    Address6,
    /// `10.0.0.0/8`
    Prefix,
    /// `2001:db8:45::/64`, a UE's: 64 bits
    Prefix6,
    /// `2001:db8::/32`, any
    Network6,
    /// `02:00:00:00:00:01`
    Mac,
    /// `80` or `80-90`
    Range,
    /// `tcp`, `udp`, `icmp`, `icmpv6`, or a number
    Protocol,
}

impl Form {
    /// An example, for help and errors.
    pub fn example(self) -> &'static str {
        match self {
            Form::Number => "7 or 0x7",
            Form::Address => "10.60.0.1",
            Form::Address6 => "fd70::1",
            Form::Prefix => "10.0.0.0/8",
            Form::Prefix6 => "2001:db8:45::/64",
            Form::Network6 => "2001:db8::/32",
            Form::Mac => "02:00:00:00:00:01",
            Form::Range => "80 or 80-90",
            Form::Protocol => "tcp, udp, icmp or 6",
        }
    }
}

/// The default of an omitted word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Absent {
    /// None: the word is required.
    Required,
    /// A fixed number.
    Is(u64),
    /// A counter that no rule uses.
    FreeCounter,
    /// It matches everything.
    Anything,
}

/// A word of a rule.
#[derive(Debug, Clone, Copy)]
pub struct Word {
    /// The word.
    pub word: &'static str,
    /// The destination of its value.
    pub destination: Destination,
    /// How it is written.
    pub form: Form,
    /// Its default.
    pub absent: Absent,
}

/// A kind of rule.
#[derive(Debug, Clone, Copy)]
pub struct Kind {
    /// Its name.
    pub name: &'static str,
    /// What it does, for help texts.
    pub help: &'static str,
    /// Its table.
    pub table: &'static str,
    /// Its action.
    pub action: &'static str,
    /// Its words.
    pub words: &'static [Word],
}

const fn key(word: &'static str, field: &'static str, form: Form) -> Word {
    Word { word, destination: Destination::Key(field), form, absent: Absent::Required }
}
const fn open_key(word: &'static str, field: &'static str, form: Form) -> Word {
    Word { word, destination: Destination::Key(field), form, absent: Absent::Anything }
}
const fn argument(word: &'static str, parameter: &'static str, form: Form) -> Word {
    Word { word, destination: Destination::Argument(parameter), form, absent: Absent::Required }
}
const fn halves(word: &'static str, high: &'static str, low: &'static str) -> Word {
    Word {
        word,
        destination: Destination::Halves(high, low),
        form: Form::Address6,
        absent: Absent::Required,
    }
}
const fn optional(word: &'static str, value: u64) -> Word {
    Word {
        word,
        destination: Destination::Argument(word),
        form: Form::Number,
        absent: Absent::Is(value),
    }
}
const COUNTER: Word = Word {
    word: "counter",
    destination: Destination::Argument("counter"),
    form: Form::Number,
    absent: Absent::FreeCounter,
};
const METER: Word = optional("meter", 0);
const VIA: Word = argument("via", "next_hop", Form::Number);
/// The next hop of IPv6 packets to the data network; default: that of IPv4.
const VIA_V6: Word = argument("via-v6", "next_hop_v6", Form::Number);
const PREFIX_KEY: Word = key("prefix", "prefix", Form::Prefix6);
const PREFIX: Word = argument("prefix", "prefix", Form::Prefix6);
/// A UE may have an IPv4 address and an IPv6 prefix.
const OPTIONAL_UE: Word = Word {
    word: "ue",
    destination: Destination::Argument("ue"),
    form: Form::Address,
    absent: Absent::Is(0),
};
/// The gNB from which packets are accepted; default: any.
const GNB: Word = Word {
    word: "gnb",
    destination: Destination::Argument("gnb"),
    form: Form::Address,
    absent: Absent::Is(0),
};
const SESSION: Word = argument("session", "session", Form::Number);
const OF_SESSION: Word = key("session", "session", Form::Number);
const OF_APPLICATION: Word = key("application", "application", Form::Number);

const PRIORITY: Word = Word {
    word: "priority",
    destination: Destination::Priority,
    form: Form::Number,
    absent: Absent::Is(1),
};
const TUNNEL: Word = argument("teid", "teid", Form::Number);
const FROM: Word = argument("from", "source", Form::Address);
const TO: Word = argument("to", "destination", Form::Address);
const PEER: Word = argument("peer", "peer", Form::Number);
const QFI: Word = argument("qfi", "qfi", Form::Number);
const TOS: Word = optional("tos", 0);

/// All kinds of rules.
pub const KINDS: &[Kind] = &[
    Kind {
        name: "decap",
        help: "uplink: tunnelled packets of a UE, to the data network",
        table: "gtp_decap",
        action: "decap",
        words: &[
            key("teid", "teid", Form::Number),
            argument("ue", "ue", Form::Address),
            VIA,
            COUNTER,
            METER,
            optional("qfi", 0),
            GNB,
        ],
    },
    Kind {
        name: "decap-filtered",
        help: "as decap, with application filters",
        table: "gtp_decap",
        action: "decap_filtered",
        words: &[
            key("teid", "teid", Form::Number),
            argument("ue", "ue", Form::Address),
            SESSION,
            METER,
            GNB,
        ],
    },
    Kind {
        name: "decap-v6",
        help: "as decap, for a UE with an IPv6 prefix, with or without an IPv4 address",
        table: "gtp_decap",
        action: "decap_v6",
        words: &[
            key("teid", "teid", Form::Number),
            PREFIX,
            OPTIONAL_UE,
            VIA,
            VIA_V6,
            COUNTER,
            METER,
            optional("qfi", 0),
            GNB,
        ],
    },
    Kind {
        name: "decap-filtered-v6",
        help: "as decap-v6, with application filters",
        table: "gtp_decap",
        action: "decap_filtered_v6",
        words: &[key("teid", "teid", Form::Number), PREFIX, OPTIONAL_UE, SESSION, METER, GNB],
    },
    Kind {
        name: "encap",
        help: "downlink: packets to a UE, into a tunnel to its gNB",
        table: "gtp_encap",
        action: "encap",
        words: &[key("ue", "ue", Form::Address), TUNNEL, FROM, TO, QFI, VIA, TOS, COUNTER, METER],
    },
    Kind {
        name: "encap6",
        help: "as encap, into a tunnel over IPv6 with the endpoints of a peer6",
        table: "gtp_encap",
        action: "encap6",
        words: &[key("ue", "ue", Form::Address), TUNNEL, PEER, QFI, VIA, COUNTER, METER],
    },
    Kind {
        name: "peer6",
        help: "endpoints of tunnels over IPv6; numbers begin at 1",
        table: "ipv6_peers",
        action: "tunnel6",
        words: &[
            key("number", "peer", Form::Number),
            halves("from", "source_high", "source_low"),
            halves("to", "destination_high", "destination_low"),
        ],
    },
    Kind {
        name: "encap-filtered",
        help: "as encap, with application filters",
        table: "gtp_encap",
        action: "encap_filtered",
        words: &[key("ue", "ue", Form::Address), SESSION, METER],
    },
    Kind {
        name: "encap-v6",
        help: "as encap, for IPv6 packets",
        table: "gtp_encap_v6",
        action: "encap",
        words: &[PREFIX_KEY, TUNNEL, FROM, TO, QFI, VIA, TOS, COUNTER, METER],
    },
    Kind {
        name: "encap6-v6",
        help: "as encap6, for IPv6 packets",
        table: "gtp_encap_v6",
        action: "encap6",
        words: &[PREFIX_KEY, TUNNEL, PEER, QFI, VIA, COUNTER, METER],
    },
    Kind {
        name: "encap-filtered-v6",
        help: "as encap-filtered, for IPv6 packets",
        table: "gtp_encap_v6",
        action: "encap_filtered",
        words: &[PREFIX_KEY, SESSION, METER],
    },
    Kind {
        name: "hop",
        help: "a next hop: link-layer addresses and port",
        table: "l2_forward",
        action: "l2",
        words: &[
            key("number", "next_hop", Form::Number),
            argument("source", "source", Form::Mac),
            argument("destination", "destination", Form::Mac),
            argument("port", "port", Form::Number),
        ],
    },
    Kind {
        name: "application",
        help: "assigns packets of a session to an application",
        table: "applications",
        action: "application",
        words: &[
            argument("application", "application", Form::Number),
            open_key("session", "session", Form::Number),
            open_key("remote", "remote", Form::Prefix),
            open_key("ports", "remote_port", Form::Range),
            open_key("protocol", "protocol", Form::Protocol),
            open_key("qfi", "qfi", Form::Number),
            PRIORITY,
        ],
    },
    Kind {
        name: "application-v6",
        help: "as application, for IPv6 packets",
        table: "applications_v6",
        action: "application",
        words: &[
            argument("application", "application", Form::Number),
            open_key("session", "session", Form::Number),
            Word {
                word: "remote",
                destination: Destination::KeyHalves("remote_high", "remote_low"),
                form: Form::Network6,
                absent: Absent::Anything,
            },
            open_key("ports", "remote_port", Form::Range),
            open_key("protocol", "protocol", Form::Protocol),
            open_key("qfi", "qfi", Form::Number),
            PRIORITY,
        ],
    },
    Kind {
        name: "uplink",
        help: "forwards an application's uplink packets",
        table: "uplink_terminations",
        action: "uplink_forward",
        words: &[OF_SESSION, OF_APPLICATION, VIA, COUNTER, METER],
    },
    Kind {
        name: "uplink-v6",
        help: "as uplink, for a UE with an IPv6 prefix",
        table: "uplink_terminations",
        action: "uplink_forward_v6",
        words: &[OF_SESSION, OF_APPLICATION, VIA, VIA_V6, COUNTER, METER],
    },
    Kind {
        name: "uplink-closed",
        help: "drops an application's uplink packets",
        table: "uplink_terminations",
        action: "gate_closed",
        words: &[OF_SESSION, OF_APPLICATION, COUNTER],
    },
    Kind {
        name: "downlink",
        help: "forwards an application's downlink packets",
        table: "downlink_terminations",
        action: "downlink_forward",
        words: &[OF_SESSION, OF_APPLICATION, TUNNEL, FROM, TO, QFI, VIA, TOS, COUNTER, METER],
    },
    Kind {
        name: "downlink6",
        help: "as downlink, into a tunnel over IPv6 with the endpoints of a peer6",
        table: "downlink_terminations",
        action: "downlink_forward6",
        words: &[OF_SESSION, OF_APPLICATION, TUNNEL, PEER, QFI, VIA, COUNTER, METER],
    },
    Kind {
        name: "downlink-closed",
        help: "drops an application's downlink packets",
        table: "downlink_terminations",
        action: "gate_closed",
        words: &[OF_SESSION, OF_APPLICATION, COUNTER],
    },
];
