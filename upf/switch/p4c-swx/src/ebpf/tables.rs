//! Tables: lookup and action.
use super::Emitter;
use crate::error::Result;

/// Name prefix of actions that hold packets: a convention with the control plane.
const HOLDING: &str = "hold_";

impl Emitter {
    /// Applies a table. Sets `hit`.
    pub(super) fn apply(&mut self, name: &str) -> Result<()> {
        let info = &self.program.info;
        let number = info.tables.iter().position(|table| table.alias == name).expect("a table");
        let (table, layout) = (info.tables[number].clone(), self.layout.tables[number].clone());
        let written = self.tables[name].clone();
        let mut words: Vec<Vec<String>> = vec![Vec::new(); layout.words.max(1) as usize];
        for (key, (word, shift)) in written.keys.iter().zip(&layout.fields) {
            let (field, _) = self.lowering.field(&key.field)?;
            words[*word as usize].push(format!("(u64){} << {shift}", self.read(&field)));
        }
        let keys: Vec<String> = words.into_iter().map(|of| of.join(" | ")).collect();
        let default = self.program.spec.tables[number].default_action.clone();
        self.line("{");
        self.depth += 1;
        self.line(&format!("const void *found = find_{name}(copy, {});", keys.join(", ")));
        let of = |id: &u32| {
            self.program.info.actions.iter().find(|action| action.id == *id).expect("an action")
        };
        let holds = table.actions.iter().any(|(id, ..)| of(id).alias.starts_with(HOLDING));
        if holds {
            self.line("if (found && has_to_wait(found, after_release))");
            self.line("\treturn JOIN;");
            // A deleted entry remains while packets that matched it are held.
            self.line("if (found && is_deleted(found))");
            self.line("\tfound = NULL;");
        }
        self.line("hit = found != NULL;");
        if table.constant_default.is_none() {
            self.line("if (!found)");
            self.line(&format!("\tfound = default_of_{name}(copy);"));
        }
        self.line("if (found) {");
        self.depth += 1;
        if holds {
            self.line("switch (*(const u32 *)found & ~MARKS) {");
        } else {
            self.line("switch (*(const u32 *)found) {");
        }
        for (id, ..) in &table.actions {
            let action = self
                .program
                .info
                .actions
                .iter()
                .position(|action| action.id == *id)
                .expect("an action");
            let alias = self.program.info.actions[action].alias.clone();
            if self.lowering.actions[&alias].body.is_empty() {
                continue;
            }
            self.line(&format!("case {action}: {{"));
            self.depth += 1;
            if !self.lowering.actions[&alias].parameters.is_empty() {
                self.line(&format!("const struct args_{alias} *a = found;"));
            }
            self.action(&alias)?;
            self.line("break;");
            self.depth -= 1;
            self.line("}");
        }
        self.line("}");
        self.depth -= 1;
        if table.constant_default.is_some() && !self.lowering.actions[&default].body.is_empty() {
            self.line("} else {");
            self.depth += 1;
            self.action(&default)?;
            self.depth -= 1;
        }
        self.line("}");
        self.depth -= 1;
        self.line("}");
        Ok(())
    }
}
