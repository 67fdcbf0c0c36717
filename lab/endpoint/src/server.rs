//! The LMF's end, which echoes messages.
use crate::exchange::{SESSION, echo};
use crate::{End, Variant};
use anyhow::{Context, Result};
use martlet_lab_channels::{Channel, Identity, Listener, Options, listen};
use std::io::Write;
use std::net::{IpAddr, SocketAddr};

/// The name in the server's certificate.
pub const NAME: &str = "lmf.example";

/// Serves connections until its standard input ends. It writes a line with its address and the one
/// that accepts 0-RTT data, then its certificate.
///
/// # Errors
/// The channel cannot be created.
pub fn serve(at: IpAddr, end: &End) -> Result<()> {
    std::thread::spawn(|| {
        let _ = std::io::Read::read(&mut std::io::stdin(), &mut [0]);
        std::process::exit(0);
    });
    end.enter()?;
    let variant = end.variant;
    let identity = Identity::self_signed(&[NAME])?;
    let listen = |early_data| {
        let options = Options { early_data, ..end.options() };
        listen(variant.kind(), SocketAddr::from((at, 0)), &identity, &options)
    };
    let (listener, early) = (listen(false)?, listen(true)?);
    println!(
        "{},{}\n{}\n",
        listener.local_addr(),
        early.local_addr(),
        identity.certificates.trim()
    );
    std::io::stdout().flush()?;
    std::thread::spawn(move || accept(variant, early));
    accept(variant, listener)
}

fn accept(variant: Variant, mut listener: Box<dyn Listener>) -> ! {
    loop {
        match listener.accept() {
            Ok(mut channel) => {
                std::thread::spawn(move || {
                    // A client may disconnect at any time.
                    let _ = answer(variant, &mut *channel);
                });
            }
            Err(error) => eprintln!("handshake failed: {error}"),
        }
    }
}

fn answer(variant: Variant, channel: &mut dyn Channel) -> Result<()> {
    if variant != Variant::KernelModule {
        echo(channel)?;
    } else {
        let socket = channel.kernel_socket().context("a kernel TLS channel")?;
        martlet_lcs_kernel::Device::open()?.answer(socket, &[0x5e; SESSION])?;
    }
    Ok(channel.close()?)
}
