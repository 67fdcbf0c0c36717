//! How true to the paper a measured figure is. A figure that was not measured has no mark: it is
//! absent.

/// How true to the paper a figure is. Each measured figure has exactly one mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mark {
    /// All of its parts are real and of the paper's kind: the paper's board with its sensors, or
    /// the paper's libraries and kernel parts in one run with the paper's real-time properties.
    True,
    /// Measured on other hardware, or with other programs, than the paper's.
    OtherTestbed,
    /// A part of it is a model.
    ModelledPart,
    /// Series of the paper are absent, or others stand for them.
    Incomplete,
}

impl Mark {
    fn name(self) -> &'static str {
        match self {
            Mark::True => "true",
            Mark::OtherTestbed => "other testbed",
            Mark::ModelledPart => "modelled part",
            Mark::Incomplete => "incomplete",
        }
    }
}

/// The word of a report for a mark, or for a figure without one.
pub(super) fn mark_name(mark: Option<Mark>) -> &'static str {
    mark.map_or("absent", Mark::name)
}
