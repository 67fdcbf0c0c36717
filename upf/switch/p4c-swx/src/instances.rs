//! Counters and meters.
use crate::ast::*;
use crate::error::error;
use crate::lower::{Lowering, Result};
use crate::p4info::{self, Numbers, P4Info};

/// Maximum size of a table, counter or meter array.
const LARGEST: u64 = 1 << 22;

impl Lowering {
    pub(crate) fn instances(
        &mut self,
        control: &Control,
        info: &mut P4Info,
        numbers: &mut Numbers,
    ) -> Result<()> {
        for instance in &control.instances {
            self.names.take(&instance.name)?;
            let Some(size) = instance.arguments.first() else {
                return error(instance.name.at, "write the size: Counter<bit<32>>(1024) name;");
            };
            let size = self.size(size)?;
            if let Some(more) = instance.arguments.get(1) {
                return error(
                    more.at(),
                    "counters count packets and bytes, meters bytes: write the size only",
                );
            }
            let alias = instance.name.text.clone();
            let name = control.full_name(&alias);
            let entry = (alias.clone(), size);
            match instance.of.text.as_str() {
                "Counter" => {
                    info.counters.push(p4info::Array {
                        id: numbers.of(p4info::COUNTER, &name),
                        name,
                        alias,
                        size,
                    });
                    self.counters.push(entry);
                }
                "Meter" => {
                    info.meters.push(p4info::Array {
                        id: numbers.of(p4info::METER, &name),
                        name,
                        alias,
                        size,
                    });
                    self.meters.push(entry);
                }
                other => {
                    return error(
                        instance.of.at,
                        format!("{other:?} is not within the subset: Counter and Meter are"),
                    );
                }
            }
        }
        Ok(())
    }

    pub(crate) fn size(&self, size: &Expression) -> Result<u32> {
        match self.names.number(size, None)? {
            0 => error(size.at(), "the size has to be at least 1"),
            size_ if size_ > LARGEST => {
                error(size.at(), format!("{size_} exceeds the maximum of {LARGEST}"))
            }
            size_ => Ok(size_ as u32),
        }
    }
}
