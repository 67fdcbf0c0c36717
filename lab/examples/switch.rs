//! `martlet lab switch` without the rest of the program, which is built sooner.
use clap::Parser;
use martlet_lab::switch::{SwitchArgs, run};

#[derive(Parser)]
struct Arguments {
    #[command(flatten)]
    args: SwitchArgs,
}

fn main() -> anyhow::Result<()> {
    print!("{}", run(&Arguments::parse().args)?);
    Ok(())
}
