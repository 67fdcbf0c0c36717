//! Tables on standard output.
use comfy_table::{Cell, CellAlignment, Table, presets};
use std::ops::Range;

/// A table without lines: columns are two spaces apart. Cells may have text of other network
/// functions and of radios, so control characters, which a terminal would obey, become `?`.
pub fn table<C: AsRef<str>>(header: &[C], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    table_with_numbers(header, 0..0, rows)
}

/// The same, with these columns aligned to the right.
pub fn table_with_numbers<C: AsRef<str>>(
    header: &[C],
    numbers: Range<usize>,
    rows: impl IntoIterator<Item = Vec<String>>,
) -> String {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING);
    table.set_header(header.iter().map(|cell| Cell::new(cell.as_ref())));
    let printable = |cell: String| {
        let hide = |c: char| if c.is_control() && c != '\n' { '?' } else { c };
        cell.chars().map(hide).collect::<String>()
    };
    table.add_rows(rows.into_iter().map(|row| row.into_iter().map(printable).collect::<Vec<_>>()));
    for (index, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, 2));
        if numbers.contains(&index) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table.trim_fmt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let rows = [vec!["gnb-1".to_string(), "2".into()], vec!["g".into(), "10".into()]];
        assert_eq!(table(&["name", "UEs"], rows), "name   UEs\ngnb-1  2\ng      10");
    }

    #[test]
    fn numbers_are_aligned_to_the_right() {
        let rows = [vec!["gate".to_string(), "21".into(), "-".into()]];
        let text = table_with_numbers(&["reason", "dropped", "note"], 1..2, rows);
        assert_eq!(text, "reason  dropped  note\ngate         21  -");
    }

    #[test]
    fn control_characters_do_not_reach_the_terminal() {
        let rows = [vec!["\u{1b}]0;x\u{7}set\u{9b}1".to_string()]];
        assert_eq!(table(&["set"], rows), "set\n?]0;x?set?1");
    }
}
