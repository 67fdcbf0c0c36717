//! The members of structs, known by the numbers of their names: to find out which member a name is, no text has to be
//! compared.
//!
//! A `Deserialize` that is derived takes the place of a member in its list as well as its name (`visit_u64`). Members
//! are written in the order of the list, so the next one is nearly always the next in the list, or one soon after it
//! where members are absent.
use super::names::{NONE, number};
use std::sync::OnceLock;

/// The members of the struct that is being read.
#[derive(Clone, Copy)]
pub(super) struct Fields {
    numbers: &'static [u16],
    /// Where the next member is looked for first.
    next: usize,
}

/// Structs of the standard library whose `Deserialize` knows names alone.
const BY_NAME: [&str; 4] = ["Duration", "SystemTime", "Range", "RangeInclusive"];

/// What is known of a list of members: where it lies, and the numbers of the names. Lists are `'static`, so what lies
/// at an address never changes.
type Known = (usize, &'static [u16]);

const PLACES: usize = 1024;
static LISTS: [OnceLock<Known>; PLACES] = [const { OnceLock::new() }; PLACES];

impl Fields {
    /// The members of a struct; none where they can only be told apart by text.
    #[inline]
    pub(super) fn of(name: &'static str, list: &'static [&'static str]) -> Option<Fields> {
        let at = list.as_ptr() as usize;
        let place = (at as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 54;
        // A few places side by side, then none: the table is larger than there are types.
        for place in &LISTS[place as usize..PLACES.min(place as usize + 4)] {
            let (known, numbers) = place.get_or_init(|| (at, learn(name, list)));
            if *known == at {
                return (numbers.len() == list.len()).then_some(Fields { numbers, next: 0 });
            }
        }
        None
    }

    /// The place of a name in the list.
    #[inline]
    pub(super) fn find(&mut self, name: u16) -> Option<u64> {
        let (before, after) = self.numbers.split_at_checked(self.next)?;
        let found = after.iter().position(|number| *number == name).map(|n| n + self.next);
        let found = found.or_else(|| before.iter().position(|number| *number == name))?;
        self.next = found + 1;
        Some(found as u64)
    }
}

#[cold]
fn learn(name: &'static str, list: &'static [&'static str]) -> &'static [u16] {
    let numbers: Vec<u16> = list.iter().map(|name| number(name)).collect();
    let told_apart = (0..numbers.len()).all(|n| numbers[n] == NONE || !numbers[..n].contains(&numbers[n]));
    if BY_NAME.contains(&name) || !told_apart {
        return &[];
    }
    Box::leak(numbers.into_boxed_slice())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_found_in_any_order() {
        const LIST: &[&str] = &["mcc", "no name of the list", "sst", "sd"];
        let mut fields = Fields::of("Thing", LIST).unwrap();
        for (name, place) in [("sst", Some(2)), ("sd", Some(3)), ("mcc", Some(0)), ("nid", None), ("sst", Some(2))] {
            assert_eq!(fields.find(number(name)), place, "{name}");
        }
        assert!(Fields::of("Range", &["start", "end"]).is_none());
        assert!(Fields::of("Twice", &["mcc", "mcc"]).is_none());
    }
}
