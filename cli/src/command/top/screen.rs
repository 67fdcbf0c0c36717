//! `martlet top` in a terminal: the loop, and the frame around a page.
use super::figures::Figures;
use super::page::{self, Page, View};
use super::theme::{LEGEND, Meaning, Theme};
use super::{Order, read};
use crate::core_client::CoreClient;
use anyhow::Result;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::layout::{Constraint, Layout};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Clear, Paragraph};
use ratatui::{DefaultTerminal, Frame};
use std::time::{Duration, Instant};

/// Polling interval of the keyboard.
const KEY_INTERVAL: Duration = Duration::from_millis(50);
/// Rows of a page that PageUp and PageDown scroll.
const SCROLL: usize = 10;

/// The state of the screen.
struct Screen {
    figures: Figures,
    page: Page,
    order: Order,
    /// Rows that are scrolled away.
    offset: usize,
    theme: Theme,
    has_legend: bool,
    problem: Option<String>,
}

/// Shows figures until the user presses `q`.
pub async fn show(
    figures: Figures,
    core: &CoreClient,
    interval: Duration,
    page: Page,
    order: Order,
) -> Result<()> {
    let theme = Theme::of_environment();
    let mut screen =
        Screen { figures, page, order, offset: 0, theme, has_legend: false, problem: None };
    let mut terminal = ratatui::try_init()?;
    let outcome = watch(&mut terminal, &mut screen, core, interval).await;
    ratatui::restore();
    outcome
}

async fn watch(
    terminal: &mut DefaultTerminal,
    screen: &mut Screen,
    core: &CoreClient,
    interval: Duration,
) -> Result<()> {
    let mut due = Instant::now() + interval;
    loop {
        terminal.draw(|frame| screen.draw(frame))?;
        while Instant::now() < due {
            while event::poll(Duration::ZERO)? {
                match event::read()? {
                    Event::Key(key) if key.kind == KeyEventKind::Press => {
                        if !screen.press(key) {
                            return Ok(());
                        }
                    }
                    Event::Resize(..) => {}
                    _ => continue,
                }
                terminal.draw(|frame| screen.draw(frame))?;
            }
            tokio::time::sleep(KEY_INTERVAL).await;
        }
        due = Instant::now() + interval;
        match read(core).await {
            Ok(reading) => {
                screen.figures.update(reading, Instant::now());
                screen.problem = None;
            }
            // A restarting core answers again soon.
            Err(error) => screen.problem = Some(format!("{error:#}")),
        }
    }
}

impl Screen {
    /// Handles a key. Returns whether the command continues.
    fn press(&mut self, key: KeyEvent) -> bool {
        let before = self.page;
        match key.code {
            KeyCode::Char('q') => return false,
            KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => return false,
            KeyCode::Esc if !self.has_legend => return false,
            KeyCode::Char('?' | 'h') => self.has_legend = !self.has_legend,
            KeyCode::Esc => self.has_legend = false,
            KeyCode::Char(digit @ '1'..='6') => {
                self.page = Page::ALL[digit as usize - '1' as usize];
            }
            KeyCode::Tab | KeyCode::Right => self.page = self.page.further(1),
            KeyCode::BackTab | KeyCode::Left => {
                self.page = self.page.further(Page::ALL.len() - 1);
            }
            KeyCode::Char('r') => self.order = Order::Rate,
            KeyCode::Char('d') => self.order = Order::Drops,
            KeyCode::Char('u') => self.order = Order::Ue,
            KeyCode::Char('i') => self.order = Order::Imsi,
            KeyCode::Down => self.offset += 1,
            KeyCode::Up => self.offset = self.offset.saturating_sub(1),
            KeyCode::PageDown => self.offset += SCROLL,
            KeyCode::PageUp => self.offset = self.offset.saturating_sub(SCROLL),
            KeyCode::Home => self.offset = 0,
            _ => {}
        }
        if self.page != before {
            self.offset = 0;
        }
        true
    }

    fn draw(&self, frame: &mut Frame<'_>) {
        let problem = u16::from(self.problem.is_some());
        let parts = [
            Constraint::Length(1),
            Constraint::Length(problem),
            Constraint::Min(3),
            Constraint::Length(1),
        ];
        let [tabs, errors, middle, foot] = Layout::vertical(parts).areas(frame.area());
        let is_narrow = frame.area().width < 60;
        let tab = |(n, page): (usize, &Page)| {
            // A narrow terminal has the name of the shown page alone.
            let text = match is_narrow && *page != self.page {
                true => format!(" {} ", n + 1),
                false => format!(" {} {} ", n + 1, page.title()),
            };
            let shown = Style::new().add_modifier(Modifier::REVERSED);
            Span::styled(text, if *page == self.page { shown } else { Style::new() })
        };
        frame.render_widget(Line::from_iter(Page::ALL.iter().enumerate().map(tab)), tabs);
        if let Some(problem) = &self.problem {
            let text = format!("{} {problem}", Meaning::Fault.mark());
            frame.render_widget(Line::styled(text, self.theme.of(Meaning::Fault)), errors);
        }
        let Screen { figures, order, offset, theme, .. } = self;
        let view = View { figures, order: *order, offset: *offset, theme: *theme };
        page::draw(frame, middle, self.page, view);
        let keys = match (is_narrow, self.page) {
            (true, _) => "q quit  1-6 page  ? help",
            (false, Page::Ues) => {
                "q quit  1-6 page  r rate  d drops  u address  i IMSI  ↑↓ scroll  ? legend"
            }
            (false, _) => "q quit  1-6, Tab page  ↑↓ scroll  ? legend",
        };
        frame.render_widget(Line::from(keys), foot);
        if self.has_legend {
            self.draw_legend(frame);
        }
    }

    fn draw_legend(&self, frame: &mut Frame<'_>) {
        let meaning = |(meaning, name): &(Meaning, &str)| {
            Line::styled(format!("{} {name}", meaning.mark()), self.theme.of(*meaning))
        };
        let lines: Vec<Line<'_>> = LEGEND.iter().map(meaning).collect();
        let [area] = Layout::vertical([Constraint::Length(lines.len() as u16 + 2)])
            .flex(ratatui::layout::Flex::Center)
            .areas(frame.area());
        let [area] = Layout::horizontal([Constraint::Length(24)])
            .flex(ratatui::layout::Flex::Center)
            .areas(area);
        frame.render_widget(Clear, area);
        frame.render_widget(Paragraph::new(lines).block(Block::bordered().title("legend")), area);
    }
}

#[cfg(test)]
mod tests {
    use super::super::figures::Reading;
    use super::*;
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;
    use ratatui::style::Color;

    fn screen(page: Page, has_colors: bool) -> Screen {
        let mut figures = Figures::default();
        let user_plane = serde_json::json!({
            "datapath": "xdp", "sessionCount": 1, "drops": {"rate": 3},
            "sessions": [{"seid": "0x1", "ue": "10.45.0.2", "supi": "imsi-001010000000001",
                "drops": {"rate": 3}}]});
        let status = serde_json::json!({"nfs": [{"name": "amf", "status": {"ues": {"first": [
                {"supi": "imsi-001010000000001", "state": "registered, connected"}]}}},
                {"name": "smf", "status": {"upfs": [{"n4": "127.0.0.8:8805"},
                    {"n4": "127.0.0.9:8805", "associated": true}]}}],
            "processes": [{"name": "lmf", "state": "restarting", "restarts": 2}]});
        let gnbs = serde_json::json!([{"id": "00101-000001", "name": "gnb-1"}]);
        figures.update(Reading { user_plane, status, gnbs }, Instant::now());
        let theme = Theme::new(has_colors);
        let problem = Some("no answer".into());
        let (order, offset, has_legend) = (Order::Rate, 0, false);
        Screen { figures, page, order, offset, theme, has_legend, problem }
    }

    fn drawn(screen: &Screen, width: u16) -> TestBackend {
        let mut terminal = Terminal::new(TestBackend::new(width, 20)).expect("a terminal");
        terminal.draw(|frame| screen.draw(frame)).expect("drawn");
        terminal.backend().clone()
    }

    #[test]
    fn each_page_shows_its_figures_on_wide_and_narrow_terminals() {
        for (page, wanted) in [
            (Page::Overview, &["1 of 3 functions do not run", "uplink"][..]),
            (Page::Functions, &["LMF", "✖ restarts", "AMF"]),
            (Page::Gnbs, &["gnb-1", "● set up"]),
            (Page::Ues, &["001010000000001", "● connected"]),
            (Page::Drops, &["○ rate", "3"]),
            (Page::Upfs, &["127.0.0.9:8805", "● associated", "✖ lost"]),
        ] {
            for width in [120, 40] {
                let text = drawn(&screen(page, true), width).to_string();
                for wanted in wanted.iter().chain(&["no answer", page.title(), "q quit"]) {
                    assert!(text.contains(wanted), "{wanted} at {width}: {text}");
                }
            }
        }
        let text = drawn(&screen(Page::Ues, true), 120).to_string();
        assert!(text.contains("10.45.0.2"), "{text}");
    }

    #[test]
    fn colours_have_a_legend_and_no_color_has_none() {
        let colors = |screen: &Screen| {
            let backend = drawn(screen, 100);
            let cells = backend.buffer().content().iter();
            cells.map(|cell| cell.fg).filter(|color| *color != Color::Reset).collect::<Vec<_>>()
        };
        let mut coloured = screen(Page::Functions, true);
        coloured.has_legend = true;
        let seen = colors(&coloured);
        for color in [Color::Green, Color::Yellow, Color::Red, Color::Cyan, Color::Magenta] {
            assert!(seen.contains(&color), "{color}");
        }
        let mut plain = screen(Page::Functions, false);
        plain.has_legend = true;
        assert_eq!(colors(&plain), []);
        let text = drawn(&plain, 100).to_string();
        assert!(
            LEGEND
                .iter()
                .all(|(meaning, name)| { text.contains(&format!("{} {name}", meaning.mark())) })
        );
    }

    #[test]
    fn keys_change_page_and_order_and_quit() {
        let mut screen = screen(Page::Overview, true);
        let press = |screen: &mut Screen, code| screen.press(KeyEvent::from(code));
        assert!(press(&mut screen, KeyCode::Char('4')) && screen.page == Page::Ues);
        assert!(press(&mut screen, KeyCode::Down) && screen.offset == 1);
        assert!(press(&mut screen, KeyCode::Char('i')) && screen.order == Order::Imsi);
        assert!(press(&mut screen, KeyCode::Tab) && screen.page == Page::Drops);
        assert_eq!(screen.offset, 0);
        assert!(press(&mut screen, KeyCode::Tab) && screen.page == Page::Upfs);
        assert!(press(&mut screen, KeyCode::Tab) && screen.page == Page::Overview);
        assert!(press(&mut screen, KeyCode::Char('?')) && screen.has_legend);
        assert!(press(&mut screen, KeyCode::Esc) && !screen.has_legend);
        assert!(!press(&mut screen, KeyCode::Esc) && !press(&mut screen, KeyCode::Char('q')));
    }
}
