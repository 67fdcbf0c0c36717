//! The pages of `martlet top`.
use super::Order;
use super::figures::{Figures, short};
use super::theme::{Meaning, Theme};
use clap::ValueEnum;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Cell, Paragraph, Row, Sparkline, Table};

/// A page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Page {
    /// Throughput and counts
    Overview,
    /// Network functions
    Functions,
    /// gNBs
    Gnbs,
    /// UEs
    Ues,
    /// Dropped packets by reason
    Drops,
    /// UPFs
    Upfs,
}

impl Page {
    /// All pages, in the order of their keys.
    pub const ALL: [Page; 6] =
        [Page::Overview, Page::Functions, Page::Gnbs, Page::Ues, Page::Drops, Page::Upfs];

    /// The title.
    pub fn title(self) -> &'static str {
        match self {
            Page::Overview => "Overview",
            Page::Functions => "Functions",
            Page::Gnbs => "gNBs",
            Page::Ues => "UEs",
            Page::Drops => "Drops",
            Page::Upfs => "UPFs",
        }
    }

    /// The page that many places further.
    pub fn further(self, places: usize) -> Page {
        let at = Page::ALL.iter().position(|page| *page == self).unwrap_or(0);
        Page::ALL[(at + places) % Page::ALL.len()]
    }
}

/// What a page shows.
#[derive(Clone, Copy)]
pub struct View<'a> {
    pub figures: &'a Figures,
    pub order: Order,
    /// Rows that are scrolled away.
    pub offset: usize,
    pub theme: Theme,
}

/// Draws a page.
pub fn draw(frame: &mut Frame<'_>, area: Rect, page: Page, view: View<'_>) {
    match page {
        Page::Overview => overview(frame, area, view),
        Page::Functions => functions(frame, area, view),
        Page::Gnbs => gnbs(frame, area, view),
        Page::Ues => ues(frame, area, view),
        Page::Drops => drops(frame, area, view),
        Page::Upfs => upfs(frame, area, view),
    }
}

/// A column: its title, its width, and the width of the terminal from which it is shown.
struct Column(&'static str, u16, u16);

/// Draws a table whose less important columns narrow terminals do not have.
fn table(
    frame: &mut Frame<'_>,
    area: Rect,
    title: String,
    columns: &[Column],
    rows: Vec<Vec<Cell<'static>>>,
    view: View<'_>,
) {
    let is_shown = |column: &Column| area.width >= column.2;
    let shown: Vec<&Column> = columns.iter().filter(|column| is_shown(column)).collect();
    let last = shown.len().saturating_sub(1);
    let widths = shown.iter().enumerate().map(|(n, column)| match n == last {
        true => Constraint::Fill(1),
        false => Constraint::Length(column.1),
    });
    let head = Row::new(shown.iter().map(|column| column.0)).style(view.theme.head());
    let count = rows.len();
    let row = |cells: Vec<Cell<'static>>| {
        let cells = cells.into_iter().zip(columns).filter(|(_, column)| is_shown(column));
        Row::new(cells.map(|(cell, _)| cell))
    };
    // The last row stays.
    let offset = view.offset.min(count.saturating_sub(1));
    let rows: Vec<Row<'_>> = rows.into_iter().skip(offset).map(row).collect();
    let title = match offset {
        0 => format!("{title} ({count})"),
        _ => format!("{title} ({count}, from {})", offset + 1),
    };
    let table = Table::new(rows, widths).header(head).column_spacing(1);
    frame.render_widget(table.block(Block::bordered().title(title)), area);
}

/// A mark and a text in the colour of their meaning.
fn marked(theme: Theme, meaning: Meaning, text: &str) -> Cell<'static> {
    Cell::from(format!("{} {text}", meaning.mark())).style(theme.of(meaning))
}

/// A rate in the colour of its direction, if it is not 0.
fn rate(theme: Theme, meaning: Meaning, value: f64) -> Cell<'static> {
    let cell = Cell::from(short(value).trim_end().to_string());
    if value > 0.0 { cell.style(theme.of(meaning)) } else { cell }
}

/// A rate; `-` where it is not known.
fn rate_if_known(theme: Theme, meaning: Meaning, value: Option<f64>) -> Cell<'static> {
    value.map_or_else(|| Cell::from("-"), |value| rate(theme, meaning, value))
}

fn number(theme: Theme, meaning: Meaning, value: u64) -> Cell<'static> {
    let cell = Cell::from(value.to_string());
    if value > 0 { cell.style(theme.of(meaning)) } else { cell }
}

/// A graph of the latest values, which fill it from the right.
fn graph(frame: &mut Frame<'_>, area: Rect, view: View<'_>, of: usize) {
    let (meaning, name, unit) = [
        (Meaning::Uplink, "uplink", "bit/s"),
        (Meaning::Downlink, "downlink", "bit/s"),
        (Meaning::Fault, "dropped", "/s"),
    ][of];
    let width = usize::from(area.width.saturating_sub(2));
    let mut values: Vec<f64> =
        view.figures.history().rev().take(width).map(|point| point[of]).collect();
    let peak = values.iter().copied().fold(0.0, f64::max);
    let now = values.first().copied().unwrap_or(0.0);
    values.resize(width, 0.0);
    values.reverse();
    // Small values are not 0 in the graph, and large ones fit.
    let scale = if peak > 0.0 { 1000.0 / peak } else { 0.0 };
    let bars: Vec<u64> = values.iter().map(|value| (value * scale).ceil() as u64).collect();
    let title = Line::from(vec![
        Span::styled(format!("{} {name} ", meaning.mark()), view.theme.of(meaning)),
        Span::raw(format!("{}{unit}, peak {}{unit}", short(now), short(peak))),
    ]);
    let graph = Sparkline::default().data(bars).max(1000).style(view.theme.of(meaning));
    frame.render_widget(graph.block(Block::bordered().title(title)), area);
}

fn overview(frame: &mut Frame<'_>, area: Rect, view: View<'_>) {
    let (figures, theme) = (view.figures, view.theme);
    let [gnbs, registered, connected, sessions] = figures.counts();
    let functions = figures.functions();
    let missing = functions.iter().filter(|function| !function.is_running).count();
    let mut lines = vec![
        Line::from(vec![
            Span::raw(format!("gNBs {gnbs}   UEs {registered} registered, ")),
            Span::styled(
                format!("{} {connected} connected", Meaning::Good.mark()),
                theme.of(Meaning::Good),
            ),
            Span::raw(format!("   sessions {sessions}")),
        ]),
        match missing {
            0 => Line::styled(
                format!("{} {} functions run", Meaning::Good.mark(), functions.len()),
                theme.of(Meaning::Good),
            ),
            _ => Line::styled(
                format!(
                    "{} {missing} of {} functions do not run: see page 2",
                    Meaning::Fault.mark(),
                    functions.len()
                ),
                theme.of(Meaning::Fault),
            ),
        },
    ];
    match figures.has_user_plane() {
        true => lines.extend(figures.head().into_iter().map(Line::from)),
        false => lines.push(Line::from("no UPF runs in this core")),
    }
    for (name, used, capacity) in figures.tables() {
        if capacity > 0 && used * 10 >= capacity * 8 {
            let meaning = if used >= capacity { Meaning::Fault } else { Meaning::Warning };
            let text = format!("{} the table {name} has {used} of {capacity}", meaning.mark());
            lines.push(Line::styled(text, theme.of(meaning)));
        }
    }
    let [top, rest] =
        Layout::vertical([Constraint::Length(lines.len() as u16), Constraint::Min(0)]).areas(area);
    frame.render_widget(Paragraph::new(lines), top);
    let [throughput, lost] =
        Layout::vertical([Constraint::Fill(2), Constraint::Fill(1)]).areas(rest);
    let halves = [Constraint::Fill(1), Constraint::Fill(1)];
    let [up, down] = match area.width >= 80 {
        true => Layout::horizontal(halves).areas(throughput),
        false => Layout::vertical(halves).areas(throughput),
    };
    graph(frame, up, view, 0);
    graph(frame, down, view, 1);
    graph(frame, lost, view, 2);
}

fn functions(frame: &mut Frame<'_>, area: Rect, view: View<'_>) {
    let theme = view.theme;
    let rows = view.figures.functions().into_iter().map(|function| {
        let state = match (function.is_running, function.restarts) {
            (true, 0) => marked(theme, Meaning::Good, "runs"),
            (true, _) => marked(theme, Meaning::Warning, "runs"),
            (false, _) => marked(theme, Meaning::Fault, "restarts"),
        };
        vec![
            Cell::from(function.name.to_uppercase()),
            state,
            number(theme, Meaning::Warning, function.restarts),
            Cell::from(function.details),
            Cell::from(function.address),
        ]
    });
    let columns = [
        Column("function", 8, 0),
        Column("state", 10, 0),
        Column("restarts", 8, 50),
        Column("has", 46, 40),
        Column("address", 21, 100),
    ];
    table(frame, area, "functions".into(), &columns, rows.collect(), view);
}

fn gnbs(frame: &mut Frame<'_>, area: Rect, view: View<'_>) {
    let theme = view.theme;
    let rows = view.figures.gnbs().into_iter().map(|gnb| {
        let state = match gnb.deviates {
            true => marked(theme, Meaning::Warning, "deviates"),
            false => marked(theme, Meaning::Good, "set up"),
        };
        vec![
            Cell::from(if gnb.name.is_empty() { gnb.id.clone() } else { gnb.name }),
            state,
            Cell::from(gnb.ues.to_string()),
            rate_if_known(theme, Meaning::Uplink, gnb.bits.map(|bits| bits[0])),
            rate_if_known(theme, Meaning::Downlink, gnb.bits.map(|bits| bits[1])),
            number(theme, Meaning::Warning, gnb.unverified),
            Cell::from(short(gnb.messages).trim_end().to_string()),
            Cell::from(gnb.id),
            Cell::from(gnb.address),
            Cell::from(gnb.tracking_areas),
        ]
    });
    let columns = [
        Column("gNB", 16, 0),
        Column("state", 10, 0),
        Column("UEs", 6, 0),
        Column("↑ bit/s", 8, 46),
        Column("↓ bit/s", 8, 56),
        Column("unverified", 10, 86),
        Column("NGAP/s", 7, 66),
        Column("identity", 14, 98),
        Column("address", 21, 116),
        Column("PLMN-TAC", 10, 130),
    ];
    table(frame, area, "gNBs".into(), &columns, rows.collect(), view);
}

fn upfs(frame: &mut Frame<'_>, area: Rect, view: View<'_>) {
    let theme = view.theme;
    let rows = view.figures.upfs().into_iter().map(|upf| {
        let state = match upf.is_associated {
            true => marked(theme, Meaning::Good, "associated"),
            false => marked(theme, Meaning::Fault, "lost"),
        };
        let traffic = upf.traffic.as_ref();
        let bits = |n: usize| traffic.map(|traffic| traffic.bits[n]);
        let packets = |n: usize| traffic.map(|traffic| traffic.packets[n]);
        let sessions = traffic.map(|traffic| traffic.sessions.to_string());
        vec![
            Cell::from(upf.n4),
            state,
            rate_if_known(theme, Meaning::Uplink, bits(0)),
            rate_if_known(theme, Meaning::Downlink, bits(1)),
            Cell::from(sessions.unwrap_or_else(|| "-".into())),
            rate_if_known(theme, Meaning::Fault, traffic.map(|traffic| traffic.drops)),
            rate_if_known(theme, Meaning::Uplink, packets(0)),
            rate_if_known(theme, Meaning::Downlink, packets(1)),
            Cell::from(traffic.map_or_else(String::new, |traffic| traffic.networks.clone())),
        ]
    });
    let columns = [
        Column("N4", 21, 0),
        Column("state", 12, 0),
        Column("↑ bit/s", 8, 44),
        Column("↓ bit/s", 8, 54),
        Column("sessions", 8, 64),
        Column("drops/s", 8, 74),
        Column("↑ pkt/s", 8, 96),
        Column("↓ pkt/s", 8, 96),
        Column("data networks, bit/s", 30, 110),
    ];
    table(frame, area, "UPFs".into(), &columns, rows.collect(), view);
}

fn ues(frame: &mut Frame<'_>, area: Rect, view: View<'_>) {
    let theme = view.theme;
    let rows = view.figures.ues(view.order).into_iter().map(|ue| {
        let state = match ue.state.as_str() {
            "registered, connected" => marked(theme, Meaning::Good, "connected"),
            "registered, idle" => marked(theme, Meaning::Idle, "idle"),
            "" => Cell::from("?"),
            other => marked(theme, Meaning::Warning, other),
        };
        vec![
            Cell::from(ue.imsi().to_string()),
            state,
            rate(theme, Meaning::Uplink, ue.bits[0]),
            rate(theme, Meaning::Downlink, ue.bits[1]),
            Cell::from(ue.address),
            number(theme, Meaning::Fault, ue.drops),
            number(theme, Meaning::Warning, ue.waiting),
            rate(theme, Meaning::Uplink, ue.packets[0]),
            rate(theme, Meaning::Downlink, ue.packets[1]),
            Cell::from(ue.gnb),
            Cell::from(ue.reasons),
        ]
    });
    let columns = [
        Column("IMSI", 15, 0),
        Column("state", 11, 0),
        Column("↑ bit/s", 8, 0),
        Column("↓ bit/s", 8, 48),
        Column("address", 15, 66),
        Column("dropped", 8, 76),
        Column("waiting", 7, 100),
        Column("↑ pkt/s", 8, 116),
        Column("↓ pkt/s", 8, 116),
        Column("gNB", 12, 90),
        Column("why", 10, 132),
    ];
    let order = match view.order {
        Order::Rate => "by rate",
        Order::Drops => "by drops",
        Order::Ue => "by address",
        Order::Imsi => "by IMSI",
    };
    table(frame, area, format!("UEs {order}"), &columns, rows.collect(), view);
}

fn drops(frame: &mut Frame<'_>, area: Rect, view: View<'_>) {
    let theme = view.theme;
    let [top, rest] = Layout::vertical([Constraint::Length(6), Constraint::Min(4)]).areas(area);
    graph(frame, top, view, 2);
    let reasons = view.figures.reasons();
    let all: u64 = reasons.iter().map(|(_, n, _)| n).sum();
    let rows = reasons.into_iter().map(|(reason, n, per_second)| {
        // A reason that still drops packets, and one that did.
        let meaning = if per_second > 0.0 { Meaning::Fault } else { Meaning::Idle };
        vec![
            marked(theme, meaning, &reason),
            Cell::from(n.to_string()),
            rate(theme, Meaning::Fault, per_second),
            Cell::from(format!("{:.1} %", n as f64 * 100.0 / all.max(1) as f64)),
        ]
    });
    let columns = [
        Column("reason", 24, 0),
        Column("dropped", 12, 0),
        Column("per second", 10, 50),
        Column("share", 8, 62),
    ];
    table(frame, rest, "drops by reason".into(), &columns, rows.collect(), view);
}
