//! An SCTP echo: `echo listen 127.0.0.5 5000` returns each message, `echo send 127.0.0.5:5000 text`
//! sends one and prints the answer.
use martlet_sctp::{Association, Options, SctpStack, StackChoice};
use std::error::Error;

/// Payload protocol identifier of the messages (RFC 9260, 14.5): unspecified.
const PPID: u32 = 0;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let stack = SctpStack::open(StackChoice::Auto)?;
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["listen", address, port] => {
            let listener =
                stack.listen(&[address.parse()?], port.parse()?, &Options::default()).await?;
            println!("{} listens on {}", stack.kind(), listener.local_addr());
            loop {
                tokio::spawn(echo(listener.accept().await?));
            }
        }
        ["send", peer, text] => {
            let association = stack.connect(None, peer.parse()?, &Options::default()).await?;
            association.send(0, PPID, text.as_bytes().to_vec().into()).await?;
            if let Some(answer) = association.recv().await? {
                println!("{}", String::from_utf8_lossy(&answer.data));
            }
            association.shutdown().await;
            Ok(())
        }
        _ => Err("usage: echo listen ADDRESS PORT | echo send ADDRESS:PORT TEXT".into()),
    }
}

async fn echo(association: Association) {
    while let Ok(Some(message)) = association.recv().await {
        if association.send(message.stream, message.ppid, message.data).await.is_err() {
            return;
        }
    }
}
