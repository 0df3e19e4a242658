//! Arbitrary bytes, alone and behind the beginnings of each format.

use airbound_formats::draft::draft;
use airbound_formats::read;

use crate::files::bytes;

#[test]
fn any_bytes_are_a_measurement_or_an_error() {
    let files = [
        "iperf3-tcp.json",
        "iperf3-stream.json",
        "irtt.json",
        "tcp_download.flent",
        "call.pcapng",
        "call.pcap",
    ]
    .map(bytes);
    bolero::check!().with_type::<(u8, u16, Vec<u8>)>().for_each(|(file, place, bytes)| {
        let _ = read(bytes, "x");
        // A real file with some bytes overwritten.
        let mut whole = files[usize::from(*file) % files.len()].clone();
        let from = usize::from(*place) % whole.len();
        for (old, new) in whole.iter_mut().skip(from).zip(bytes) {
            *old = *new;
        }
        if let Ok(measured) = read(&whole, "x") {
            let _ = draft(&measured, "x", None);
        }
    });
}
