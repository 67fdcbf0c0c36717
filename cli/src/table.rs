//! Tables on standard output.
use comfy_table::{Cell, Table, presets};

/// A table without lines: columns are two spaces apart.
pub fn table<C: AsRef<str>>(header: &[C], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING);
    table.set_header(header.iter().map(|cell| Cell::new(cell.as_ref())));
    table.add_rows(rows);
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
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
}
