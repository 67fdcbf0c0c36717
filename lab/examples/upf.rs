//! `martlet lab upf` without the rest of the program, which is built sooner.
use clap::Parser;
use martlet_lab::upf::{UpfArgs, run};

#[derive(Parser)]
struct Arguments {
    #[command(flatten)]
    args: UpfArgs,
}

fn main() -> anyhow::Result<()> {
    print!("{}", run(&Arguments::parse().args)?);
    Ok(())
}
