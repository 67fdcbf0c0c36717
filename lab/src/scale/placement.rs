//! A plan of the machines for a number of UEs: which members run on which machine.
use std::fmt::Write as _;

/// The share of a CPU up to which a member is loaded.
pub(super) const PLANNED_LOAD: f64 = 0.6;

/// The name of the database among the functions.
pub(super) const DATABASE: &str = "database";

/// What a function needs for all UEs in the busy hour.
#[derive(Debug, Clone)]
pub(super) struct Need {
    pub function: String,
    pub cpus: f64,
    pub memory_gb: f64,
}

/// One member of a function, or a server of the database.
#[derive(Debug, Clone)]
struct Member {
    function: String,
    cpus: f64,
    memory_gb: f64,
}

impl Need {
    /// Members that bear the load. A function works on one thread, the database on all.
    pub fn members(&self) -> usize {
        match self.function == DATABASE {
            true => 1,
            // A few members: the number is small and positive.
            false => (self.cpus / PLANNED_LOAD).ceil().max(1.0) as usize,
        }
    }

    /// These and one more, each of such a size that the others bear the load of a lost one. Of the
    /// database, each server has everything: one is a synchronous replica.
    fn with_spare(&self) -> impl Iterator<Item = Member> {
        let needed = self.members();
        let share = |whole: f64| whole / needed as f64;
        let member = Member {
            function: self.function.clone(),
            cpus: share(self.cpus),
            memory_gb: share(self.memory_gb),
        };
        std::iter::repeat_n(member, needed + 1)
    }
}

/// A machine and its members.
#[derive(Debug, Clone, Default)]
pub(super) struct Machine(Vec<Member>);

impl Machine {
    fn has(&self, function: &str) -> bool {
        self.0.iter().any(|member| member.function == function)
    }

    pub fn cpus(&self) -> f64 {
        self.0.iter().map(|member| member.cpus).sum()
    }

    pub fn memory_gb(&self) -> f64 {
        self.0.iter().map(|member| member.memory_gb).sum()
    }
}

/// Places all members, the largest first, each on the machine with the least memory in use that has
/// no member of the same function: so the loss of a machine is the loss of one member of each.
/// `None` where a function has more members than there are machines.
pub(super) fn place(needs: &[Need], machines: usize) -> Option<Vec<Machine>> {
    let mut members: Vec<Member> = needs.iter().flat_map(Need::with_spare).collect();
    members.sort_by(|a, b| {
        let by_size = b.memory_gb.total_cmp(&a.memory_gb).then(b.cpus.total_cmp(&a.cpus));
        by_size.then_with(|| a.function.cmp(&b.function))
    });
    let mut placed = vec![Machine::default(); machines];
    for member in members {
        let free = placed.iter_mut().filter(|machine| !machine.has(&member.function));
        let chosen = free.min_by(|a, b| {
            let by_memory = a.memory_gb().total_cmp(&b.memory_gb());
            by_memory.then(a.cpus().total_cmp(&b.cpus()))
        });
        chosen?.0.push(member);
    }
    Some(placed)
}

/// The table of the machines.
pub(super) fn table(machines: &[Machine]) -> String {
    let mut text =
        String::from("| machine | members | CPUs | memory |\n| --- | --- | --- | --- |\n");
    for (number, machine) in (1..).zip(machines) {
        let mut names: Vec<&str> = machine.0.iter().map(|it| it.function.as_str()).collect();
        names.sort_unstable();
        let (cpus, memory) = (machine.cpus(), machine.memory_gb());
        let _ = writeln!(text, "| {number} | {} | {cpus:.2} | {memory:.1} GB |", names.join(", "));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn need(function: &str, cpus: f64, memory_gb: f64) -> Need {
        Need { function: function.into(), cpus, memory_gb }
    }

    /// A tenth of the plan for ten million UEs in `docs/measurements/scaling.md`, which gives five
    /// functions together.
    fn one_million() -> Vec<Need> {
        let mut needs = vec![
            need("amf", 0.61, 4.6),
            need("smf", 0.28, 3.0),
            need("upf", 0.12, 2.7),
            need("udm", 0.06, 0.0),
            need("udr", 0.05, 1.5),
            need(DATABASE, 0.19, 5.7),
        ];
        needs.extend(["ausf", "lmf", "nrf", "nssf", "pcf"].map(|name| need(name, 0.01, 0.18)));
        needs
    }

    #[test]
    fn the_loss_of_a_machine_leaves_enough_members() {
        let needs = one_million();
        let machines = place(&needs, 10).unwrap();
        for lost in 0..machines.len() {
            for need in &needs {
                let of = |machine: &Machine| {
                    machine.0.iter().filter(|it| it.function == need.function).count()
                };
                let counts: Vec<usize> = machines.iter().map(of).collect();
                assert!(counts.iter().all(|count| *count <= 1), "{} {counts:?}", need.function);
                let left = counts.iter().sum::<usize>() - counts[lost];
                assert!(left >= need.members(), "{}: {left} members", need.function);
            }
        }
        let all: f64 = machines.iter().map(Machine::memory_gb).sum();
        let max = machines.iter().map(Machine::memory_gb).fold(0.0, f64::max);
        assert!(max <= 5.7 && all / 10.0 > 0.5 * max, "{max} GB of {all}");
    }

    #[test]
    fn the_page_has_the_plan_for_one_million_ues() {
        let page = include_str!("../../../docs/measurements/scaling.md");
        let table = table(&place(&one_million(), 10).unwrap());
        assert!(page.contains(&table), "docs/measurements/scaling.md does not have:\n{table}");
    }

    #[test]
    fn more_members_than_machines_do_not_fit() {
        // 5 members bear 3 CPUs, and one is to spare.
        assert!(place(&[need("amf", 3.0, 1.0)], 5).is_none());
        assert_eq!(place(&[need("amf", 3.0, 1.0)], 6).unwrap().len(), 6);
    }
}
