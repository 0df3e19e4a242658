//! Files that the real tools wrote, and arbitrary bytes.
//!
//! `tests/files`: iperf3 3.12 (`iperf3-stream.json`: 3.21+, c9b74229), irtt 0.9.0 and flent 2.3.0 over loopback (`tcp_download.flent` is made with flent's own `ResultSet`), captures by
//! dumpcap 4.0.17 of two Chromiums in a room, cut to 60 bytes a packet, and of irtt on the interface `any`.

mod arbitrary;
mod drafts;
mod files;
