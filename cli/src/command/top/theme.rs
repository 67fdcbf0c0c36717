//! Colours with a meaning. Each one has a mark beside it, so that no meaning needs its colour:
//! with `NO_COLOR` (https://no-color.org) there are the marks only.
use ratatui::style::{Color, Modifier, Style};

/// What a colour means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meaning {
    /// It works.
    Good,
    /// It may become a fault.
    Warning,
    /// It does not work, or packets are lost.
    Fault,
    /// It rests.
    Idle,
    /// From UEs.
    Uplink,
    /// To UEs.
    Downlink,
}

/// The meanings of the legend.
pub const LEGEND: [(Meaning, &str); 6] = [
    (Meaning::Good, "works"),
    (Meaning::Warning, "warning"),
    (Meaning::Fault, "fault"),
    (Meaning::Idle, "idle"),
    (Meaning::Uplink, "uplink"),
    (Meaning::Downlink, "downlink"),
];

impl Meaning {
    /// The mark beside the colour.
    pub fn mark(self) -> &'static str {
        match self {
            Meaning::Good => "●",
            Meaning::Warning => "▲",
            Meaning::Fault => "✖",
            Meaning::Idle => "○",
            Meaning::Uplink => "↑",
            Meaning::Downlink => "↓",
        }
    }

    fn color(self) -> Color {
        match self {
            Meaning::Good => Color::Green,
            Meaning::Warning => Color::Yellow,
            Meaning::Fault => Color::Red,
            Meaning::Idle => Color::DarkGray,
            Meaning::Uplink => Color::Cyan,
            Meaning::Downlink => Color::Magenta,
        }
    }
}

/// Whether there are colours.
#[derive(Debug, Clone, Copy)]
pub struct Theme {
    has_colors: bool,
}

impl Theme {
    /// Of the environment.
    pub fn of_environment() -> Self {
        Theme::new(std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()))
    }

    /// With colours or without.
    pub fn new(has_colors: bool) -> Self {
        Theme { has_colors }
    }

    /// The style of a meaning.
    pub fn of(self, meaning: Meaning) -> Style {
        match self.has_colors {
            true => Style::new().fg(meaning.color()),
            false if meaning == Meaning::Fault => Style::new().add_modifier(Modifier::BOLD),
            false => Style::new(),
        }
    }

    /// Titles and heads of tables.
    pub fn head(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }
}
