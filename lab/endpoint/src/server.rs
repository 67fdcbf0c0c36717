//! The LMF's end: it echoes.
use crate::exchange::{SESSION, echo};
use crate::{End, Way};
use anyhow::{Context, Result};
use martlet_lab_channels::{Channel, Identity, Listener, Options, listen};
use std::io::Write;
use std::net::{IpAddr, SocketAddr};

/// In the server's certificate.
pub const NAME: &str = "lmf.example";

/// Serves connections until its standard input ends. Its first line of output is its address, and
/// that of who takes octets with the first flight; what follows is its certificate.
///
/// # Errors
/// The channel cannot be made.
pub fn serve(at: IpAddr, end: &End) -> Result<()> {
    std::thread::spawn(|| {
        let _ = std::io::Read::read(&mut std::io::stdin(), &mut [0]);
        std::process::exit(0);
    });
    end.enter()?;
    let way = end.way;
    let identity = Identity::self_signed(&[NAME])?;
    let listen = |early_data| {
        let options = Options { early_data, ..end.options() };
        listen(way.kind(), SocketAddr::from((at, 0)), &identity, &options)
    };
    let (listener, early) = (listen(false)?, listen(true)?);
    println!(
        "{},{}\n{}\n",
        listener.local_addr(),
        early.local_addr(),
        identity.certificates.trim()
    );
    std::io::stdout().flush()?;
    std::thread::spawn(move || accept(way, early));
    accept(way, listener)
}

fn accept(way: Way, mut listener: Box<dyn Listener>) -> ! {
    loop {
        match listener.accept() {
            Ok(mut channel) => {
                std::thread::spawn(move || {
                    // A client that goes is no matter.
                    let _ = answer(way, &mut *channel);
                });
            }
            Err(error) => eprintln!("a connection was not brought up: {error}"),
        }
    }
}

fn answer(way: Way, channel: &mut dyn Channel) -> Result<()> {
    if way != Way::KernelModule {
        echo(channel)?;
    } else {
        let socket = channel.kernel_socket().context("a channel whose records the kernel makes")?;
        martlet_lcs_kernel::Device::open()?.answer(socket, &[0x5e; SESSION])?;
    }
    Ok(channel.close()?)
}
