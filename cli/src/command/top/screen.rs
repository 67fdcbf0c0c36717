//! `martlet top` in a terminal.
use super::Order;
use super::figures::{Figures, short};
use crate::command::upf::request;
use crate::oam_client::Endpoint;
use anyhow::Result;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEventKind, KeyModifiers};
use ratatui::layout::{Constraint, Layout};
use ratatui::style::{Modifier, Style};
use ratatui::text::Line;
use ratatui::widgets::{Block, Paragraph, Row, Table};
use ratatui::{DefaultTerminal, Frame};
use std::time::{Duration, Instant};

/// Polling interval of the keyboard.
const KEY_INTERVAL: Duration = Duration::from_millis(50);

/// Shows figures until the user presses `q`.
pub async fn show(
    mut figures: Figures,
    endpoints: &[Endpoint],
    interval: Duration,
    mut order: Order,
) -> Result<()> {
    let mut terminal = ratatui::try_init()?;
    let outcome = watch(&mut terminal, &mut figures, endpoints, interval, &mut order).await;
    ratatui::restore();
    outcome
}

async fn watch(
    terminal: &mut DefaultTerminal,
    figures: &mut Figures,
    endpoints: &[Endpoint],
    interval: Duration,
    order: &mut Order,
) -> Result<()> {
    let mut due = Instant::now() + interval;
    let mut problem = None;
    loop {
        terminal.draw(|frame| draw(frame, figures, *order, problem.as_deref()))?;
        while Instant::now() < due {
            if event::poll(Duration::ZERO)?
                && let Event::Key(key) = event::read()?
                && key.kind == KeyEventKind::Press
            {
                match key.code {
                    KeyCode::Char('q') | KeyCode::Esc => return Ok(()),
                    KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => {
                        return Ok(());
                    }
                    KeyCode::Char('r') => *order = Order::Rate,
                    KeyCode::Char('d') => *order = Order::Drops,
                    KeyCode::Char('u') => *order = Order::Ue,
                    _ => continue,
                }
                terminal.draw(|frame| draw(frame, figures, *order, problem.as_deref()))?;
            }
            tokio::time::sleep(KEY_INTERVAL).await;
        }
        due = Instant::now() + interval;
        match request(endpoints, "top").await {
            Ok(answer) => {
                figures.update(answer, Instant::now());
                problem = None;
            }
            // A restarting UPF answers again soon.
            Err(error) => problem = Some(format!("{error:#}")),
        }
    }
}

fn draw(frame: &mut Frame<'_>, figures: &Figures, order: Order, problem: Option<&str>) {
    let mut head: Vec<Line<'_>> = figures.head().into_iter().map(Line::from).collect();
    if let Some(problem) = problem {
        head.push(Line::styled(problem.to_string(), Style::new().add_modifier(Modifier::REVERSED)));
    }
    let reasons = figures.reasons();
    let parts = [
        Constraint::Length(head.len() as u16),
        Constraint::Length((reasons.len() as u16 + 3).min(12)),
        Constraint::Min(4),
        Constraint::Length(1),
    ];
    let [top, middle, rest, foot] = Layout::vertical(parts).areas(frame.area());
    frame.render_widget(Paragraph::new(head), top);
    let bold = Style::new().add_modifier(Modifier::BOLD);
    let rows = reasons
        .iter()
        .map(|(reason, n, rate)| Row::new([reason.clone(), n.to_string(), short(*rate)]));
    let widths = [Constraint::Length(20), Constraint::Length(12), Constraint::Length(12)];
    let table =
        Table::new(rows, widths).header(Row::new(["reason", "dropped", "per second"]).style(bold));
    frame.render_widget(table.block(Block::bordered().title("drops")), middle);
    let rows = figures.ues(order).into_iter().map(|ue| {
        Row::new([
            ue.address,
            short(ue.bits[0]),
            short(ue.bits[1]),
            short(ue.packets[0]),
            short(ue.packets[1]),
            ue.waiting.to_string(),
            ue.drops.to_string(),
            ue.reasons,
        ])
    });
    let mut widths = vec![Constraint::Length(24)];
    widths.extend([Constraint::Length(11); 6]);
    widths.push(Constraint::Min(10));
    let names =
        ["UE", "up bit/s", "down bit/s", "up pkt/s", "down pkt/s", "waiting", "dropped", "why"];
    let table = Table::new(rows, widths).header(Row::new(names).style(bold));
    frame.render_widget(table.block(Block::bordered().title("UEs")), rest);
    frame.render_widget(Line::from("q quit   r by rate   d by drops   u by address"), foot);
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    #[test]
    fn the_screen_shows_figures_and_errors() {
        let mut figures = Figures::default();
        let answer = serde_json::json!({"datapath": "xdp", "sessionCount": 1, "drops": {"rate": 3},
            "sessions": [{"seid": "0x1", "ue": "10.45.0.2", "drops": {"rate": 3}}]});
        figures.update(answer, Instant::now());
        let mut terminal = Terminal::new(TestBackend::new(120, 20)).expect("a terminal");
        terminal
            .draw(|frame| draw(frame, &figures, Order::Rate, Some("no answer")))
            .expect("drawn");
        let text = terminal.backend().to_string();
        for expected in ["UPF xdp", "10.45.0.2", "rate 3", "no answer", "q quit"] {
            assert!(text.contains(expected), "{expected}: {text}");
        }
    }
}
