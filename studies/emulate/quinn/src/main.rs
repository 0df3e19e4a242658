//! `transfer-over-quinn serve`, and `transfer-over-quinn get HOST MEGABYTES`, which prints bytes, seconds and Mb/s as JSON.

use std::error::Error;
use std::net::{Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Instant;

use quinn::crypto::rustls::QuicClientConfig;
use quinn::rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use quinn::rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer, ServerName, UnixTime};
use quinn::rustls::{self, DigitallySignedStruct, SignatureScheme};
use quinn::{ClientConfig, Endpoint, ServerConfig};

const PORT: u16 = 4434;

type Outcome = Result<(), Box<dyn Error + Send + Sync>>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Outcome {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["serve"] => serve().await,
        ["get", host, megabytes] => get(host, megabytes.parse()?).await,
        _ => Err("the command is `serve`, or `get HOST MEGABYTES`".into()),
    }
}

/// Answers the number on each stream with so many bytes.
async fn serve() -> Outcome {
    let made = rcgen::generate_simple_self_signed(vec!["server".to_owned()])?;
    let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    let config = ServerConfig::with_single_cert(vec![made.cert.der().clone()], key.into())?;
    let endpoint = Endpoint::server(config, SocketAddr::from((Ipv6Addr::UNSPECIFIED, PORT)))?;
    while let Some(coming) = endpoint.accept().await {
        tokio::spawn(async move {
            let connection = coming.await?;
            while let Ok((mut answer, mut asked)) = connection.accept_bi().await {
                let mut left: usize = String::from_utf8(asked.read_to_end(20).await?)?.parse()?;
                let piece = vec![0; 1 << 16];
                while left > 0 {
                    let size = left.min(piece.len());
                    answer.write_all(&piece[..size]).await?;
                    left -= size;
                }
                answer.finish()?;
            }
            Outcome::Ok(())
        });
    }
    Ok(())
}

async fn get(host: &str, megabytes: f64) -> Outcome {
    let server = tokio::net::lookup_host((host, PORT)).await?.next().ok_or("the host has no address")?;
    let tls = rustls::ClientConfig::builder()
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Anybody))
        .with_no_client_auth();
    let any: SocketAddr = if server.is_ipv6() { "[::]:0".parse()? } else { "0.0.0.0:0".parse()? };
    let mut endpoint = Endpoint::client(any)?;
    endpoint.set_default_client_config(ClientConfig::new(Arc::new(QuicClientConfig::try_from(tls)?)));
    let connection = endpoint.connect(server, "server")?.await?;
    let begun = Instant::now();
    let (mut ask, mut answer) = connection.open_bi().await?;
    ask.write_all(((megabytes * 1e6) as u64).to_string().as_bytes()).await?;
    ask.finish()?;
    let mut size = 0;
    while let Some(chunk) = answer.read_chunk(1 << 16, true).await? {
        size += chunk.bytes.len();
    }
    let seconds = begun.elapsed().as_secs_f64();
    println!("{{\"bytes\": {size}, \"seconds\": {seconds:.3}, \"mbps\": {:.2}}}", 8e-6 * size as f64 / seconds);
    connection.close(0_u32.into(), b"");
    endpoint.wait_idle().await;
    Ok(())
}

/// Takes every certificate: the server makes one for the occasion.
#[derive(Debug)]
struct Anybody;

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Err(rustls::Error::General("QUIC has TLS 1.3 only".to_owned()))
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        rustls::crypto::ring::default_provider().signature_verification_algorithms.supported_schemes()
    }
}
