//! A member of an NF set (TS 23.501, 5.21 and 5.22), as the section `set` of a function names it:
//! the name of the set at the NRF, the name of the member in the shared database, and numbers that
//! no other member allocates.
use martlet_config::Finding;
use std::time::{SystemTime, UNIX_EPOCH};

/// Lowest bit of the member's number in an allocated number.
const MEMBER_SHIFT: u32 = 56;
/// The largest number of a member.
const MAX_MEMBER: u8 = 127;

/// A member of an NF set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SetMember<'a> {
    /// NF type of the set in lower case, such as `smf`.
    pub nf: &'static str,
    /// Identity of the set: letters and digits.
    pub id: &'a str,
    /// Number of the function in the set, 0 to 127.
    pub member: u8,
    /// MCC and MNC without a separator, such as `00101`.
    pub plmn: &'a str,
}

impl SetMember<'_> {
    /// NF set identity (TS 23.003, 28.12).
    pub fn set_name(&self) -> String {
        let (mcc, mnc) = self.plmn.split_at_checked(3).unwrap_or((self.plmn, ""));
        format!("set{}.{}set.5gc.mnc{mnc:0>3}.mcc{mcc}", self.id, self.nf)
    }

    /// The common prefix of the members' names in the database that they share.
    pub fn owner_prefix(&self) -> String {
        format!("{}-{}-", self.nf, self.id)
    }

    /// The name under which this member stores its contexts.
    pub fn owner(&self) -> String {
        format!("{}{}", self.owner_prefix(), self.member)
    }

    /// What is wrong, with paths relative to the section `set`.
    pub fn check(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        let mut wrong = |path: &str, message: &str| findings.push(Finding::new(path, message));
        let is_identity = |id: &str| id.chars().all(|c| c.is_ascii_alphanumeric());
        if !(1..=32).contains(&self.id.len()) || !is_identity(self.id) {
            wrong("id", "not an identity of a set: write 1 to 32 letters and digits");
        }
        if self.member > MAX_MEMBER {
            wrong("member", "not a member number: write 0 to 127");
        }
        if !matches!(self.plmn.len(), 5 | 6) || !self.plmn.chars().all(|c| c.is_ascii_digit()) {
            wrong("plmn", "write MCC and MNC in five or six digits, such as \"00101\"");
        }
        findings
    }
}

/// The value of `set.plmn` where it is left out.
pub fn default_plmn() -> String {
    "00101".into()
}

/// The number before the first one that a process of this member allocates. The numbers of all
/// members and of their former processes differ.
pub fn last_number(member: u8) -> u64 {
    let epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::from(member & MAX_MEMBER) << MEMBER_SHIFT | (epoch.as_secs() & 0xffff_ffff) << 24
}

/// The number before the first one of a process that is in no set. Its former processes allocated
/// lower numbers, since none of them allocated a million in a second.
pub fn last_number_without_set() -> u64 {
    let epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(epoch.as_micros()).unwrap_or(u64::MAX >> 1)
}

/// The member that allocated a number.
pub fn member_of(number: u64) -> u8 {
    // Seven bits.
    (number >> MEMBER_SHIFT) as u8 & MAX_MEMBER
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member(id: &str, member: u8, plmn: &str) -> (String, String, Vec<String>) {
        let set = SetMember { nf: "chf", id, member, plmn };
        let paths = set.check().into_iter().map(|finding| finding.path).collect();
        (set.set_name(), set.owner(), paths)
    }

    #[test]
    fn a_set_has_a_name_and_its_members_have_names_of_their_own() {
        let (name, owner, wrong) = member("1", 3, "00101");
        assert_eq!(name, "set1.chfset.5gc.mnc001.mcc001");
        assert_eq!((owner.as_str(), wrong.as_slice()), ("chf-1-3", &[][..]));
        assert_eq!(member("a", 127, "310410").0, "seta.chfset.5gc.mnc410.mcc310");
        assert_eq!(member("a-b", 128, "1").2, ["id", "member", "plmn"]);
    }

    #[test]
    fn a_number_names_the_member_that_allocated_it() {
        for member in [0, 3, 127] {
            assert_eq!(member_of(last_number(member) + 1), member);
        }
    }

    #[test]
    fn a_later_process_without_a_set_allocates_higher_numbers() {
        let earlier = last_number_without_set();
        std::thread::sleep(std::time::Duration::from_millis(1));
        assert!(last_number_without_set() >= earlier + 1000);
        assert_eq!(member_of(earlier), 0);
    }
}
