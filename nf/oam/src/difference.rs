//! The lines that differ between two texts.

/// Lines of the changed part that are compared with each other; a longer part is shown whole.
const MAX_COMPARED: usize = 2000;

/// Removed lines with `- ` and added ones with `+ `, in their order.
pub fn difference(before: &str, after: &str) -> Vec<String> {
    let (mut old, mut new): (Vec<&str>, Vec<&str>) =
        (before.lines().collect(), after.lines().collect());
    let same = old.iter().zip(&new).take_while(|(one, other)| one == other).count();
    (old, new) = (old.split_off(same), new.split_off(same));
    let both = old.iter().rev().zip(new.iter().rev());
    let same = both.take_while(|(one, other)| one == other).count();
    old.truncate(old.len() - same);
    new.truncate(new.len() - same);
    let removed = |line: &&str| format!("- {line}");
    let added = |line: &&str| format!("+ {line}");
    if old.len() > MAX_COMPARED || new.len() > MAX_COMPARED {
        return old.iter().map(removed).chain(new.iter().map(added)).collect();
    }
    // The length of the longest common subsequence of the rests from each pair of lines.
    let width = new.len() + 1;
    let mut longest = vec![0_u16; (old.len() + 1) * width];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            longest[i * width + j] = match old[i] == new[j] {
                true => longest[(i + 1) * width + j + 1] + 1,
                false => longest[(i + 1) * width + j].max(longest[i * width + j + 1]),
            };
        }
    }
    let (mut i, mut j, mut lines) = (0, 0, Vec::new());
    while i < old.len() || j < new.len() {
        if i < old.len() && j < new.len() && old[i] == new[j] {
            (i, j) = (i + 1, j + 1);
        } else if j == new.len()
            || i < old.len() && longest[(i + 1) * width + j] >= longest[i * width + j + 1]
        {
            lines.push(removed(&old[i]));
            i += 1;
        } else {
            lines.push(added(&new[j]));
            j += 1;
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::difference;

    #[test]
    fn a_moved_and_a_changed_line_are_shown() {
        assert_eq!(difference("a\nb\nc\n", "a\nb\nc\n"), [""; 0]);
        assert_eq!(difference("a\nb\nc\nd\n", "a\nx\nc\nb\nd\n"), ["- b", "+ x", "+ b"]);
        assert_eq!(difference("", "a\n"), ["+ a"]);
        assert_eq!(difference("a\na\n", "a\n"), ["- a"]);
    }
}
