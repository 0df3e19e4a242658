//! Metrics in the text format of Prometheus.

use std::fmt;
use std::io::Write;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use airbound_linux::service::exposition::Family;
use airbound_linux::service::http::{self, METRICS, TEXT};

use super::error::RelayError;
use crate::protocol::{ClientCounts, ClientRow, EdgeCounts};

/// The current text, shared with the server's thread.
pub(super) type Shared = Arc<Mutex<String>>;

/// Says on standard error that an address is open to others, if it is.
pub(super) fn warn(address: Option<SocketAddr>) {
    if let Some(address) = address.filter(|address| !address.ip().is_loopback()) {
        // A closed standard error leaves nobody to tell.
        let _ =
            writeln!(std::io::stderr(), "{address} shows names and rates of clients to whoever reaches it");
    }
}

/// Serves metrics at an address.
pub(super) fn serve(address: SocketAddr) -> Result<Shared, RelayError> {
    let shared = Shared::default();
    let text = Arc::clone(&shared);
    let respond = move |path: &[u8]| match path {
        b"/metrics" => ("200 OK", METRICS, text.lock().unwrap_or_else(PoisonError::into_inner).clone()),
        _ => ("404 Not Found", TEXT, "not found; allowed is /metrics\n".to_owned()),
    };
    http::serve(address, respond).map_err(|error| {
        RelayError::Input(format!(
            "metrics cannot be served at {address}: {error}; choose another address, or off"
        ))
    })?;
    Ok(shared)
}

/// Replaces the text.
pub(super) fn put(shared: &Shared, text: String) {
    *shared.lock().unwrap_or_else(PoisonError::into_inner) = text;
}

/// Reads a metric's value from a client's row; `None` if it is unknown.
type OfClient = fn(&ClientRow) -> Option<f64>;

/// Figures of an edge's program around the protocol.
#[derive(Debug, Clone, Copy)]
pub(super) struct OfDriver {
    /// Datagrams that the kernel did not take.
    pub(super) refused: u64,
    /// Sockets towards the backend that the kernel did not give.
    pub(super) unopened: u64,
    /// Clients without such a socket.
    pub(super) without: usize,
    /// CPU time in s.
    pub(super) cpu: f64,
}

/// The metrics of an edge.
pub(super) fn of_edge(rows: &[ClientRow], counts: &EdgeCounts, driver: &OfDriver) -> String {
    let mut out = String::with_capacity(4096);
    // Writing to a string does not fail.
    let _ = write_edge(rows, counts, driver, &mut out);
    out
}

fn write_edge(rows: &[ClientRow], counts: &EdgeCounts, driver: &OfDriver, out: &mut String) -> fmt::Result {
    Family::new(out, "relay_clients", "gauge", "Clients that have joined.")?
        .sample(&[], rows.len() as f64)?;
    for (name, kind, help, value) in [
        ("relay_cpu_seconds_total", "counter", "CPU time of the edge.", driver.cpu),
        (
            "relay_backend_failures_total",
            "counter",
            "Sockets to the backend not given.",
            driver.unopened as f64,
        ),
        ("relay_clients_without_backend", "gauge", "Clients without such a socket.", driver.without as f64),
    ] {
        Family::new(out, name, kind, help)?.sample(&[], value)?;
    }
    let mut family =
        Family::new(out, "relay_refused_packets_total", "counter", "Packets not taken, by reason.")?;
    for (reason, count) in [
        ("stranger", counts.strangers),
        ("forged", counts.forged),
        ("replayed", counts.replayed),
        ("undeliverable", counts.undeliverable),
        ("kernel", driver.refused),
    ] {
        family.sample(&[("reason", reason)], count as f64)?;
    }
    let families: [(&'static str, &str, &str, OfClient); 12] = [
        ("relay_rate_bits_per_second", "gauge", "Rate allocated to a client.", |row| {
            Some(row.rate.as_bps() as f64)
        }),
        ("relay_level_packets", "gauge", "Aggregation level of the last report.", |row| row.level),
        ("relay_queue_packets", "gauge", "Packets that wait for a client.", |row| Some(row.queued as f64)),
        ("relay_dropped_packets_total", "counter", "Packets dropped from a client's queue.", |row| {
            Some(row.dropped as f64)
        }),
        ("relay_too_large_total", "counter", "Datagrams too large for a client's path.", |row| {
            Some(row.too_large as f64)
        }),
        ("relay_down_packets_total", "counter", "Packets sent to a client.", |row| Some(row.down.0 as f64)),
        ("relay_down_bytes_total", "counter", "Bytes sent to a client.", |row| Some(row.down.1 as f64)),
        ("relay_up_packets_total", "counter", "Packets received from a client.", |row| Some(row.up.0 as f64)),
        ("relay_up_bytes_total", "counter", "Bytes received from a client.", |row| Some(row.up.1 as f64)),
        ("relay_reports_total", "counter", "Reports taken.", |row| Some(f64::from(row.reports))),
        ("relay_refused_reports_total", "counter", "Reports not believed.", |row| {
            Some(row.refused_reports as f64)
        }),
        ("relay_mtu_bytes", "gauge", "Size of datagrams that a client's path carries.", |row| {
            Some(f64::from(row.mtu))
        }),
    ];
    for (name, kind, help, value) in families {
        let mut family = Family::new(out, name, kind, help)?;
        for row in rows {
            family.sample(&[("client", &row.name)], value(row))?;
        }
    }
    let mut family = Family::new(out, "relay_limit", "gauge", "1 for what limits a client's rate.")?;
    for row in rows {
        family.sample(&[("client", &row.name), ("reason", row.reason.text())], 1.0)?;
    }
    Ok(())
}

/// The metrics of a client.
pub(super) fn of_client(counts: &ClientCounts, joined: bool, mtu: u16, cpu: f64) -> String {
    let mut out = String::with_capacity(1024);
    // Writing to a string does not fail.
    let _ = write_client(counts, joined, mtu, cpu, &mut out);
    out
}

fn write_client(counts: &ClientCounts, joined: bool, mtu: u16, cpu: f64, out: &mut String) -> fmt::Result {
    for (name, kind, help, value) in [
        ("relay_joined", "gauge", "Whether there is a session.", f64::from(u8::from(joined))),
        ("relay_mtu_bytes", "gauge", "Size of datagrams that the path carries.", f64::from(mtu)),
        ("relay_cpu_seconds_total", "counter", "CPU time of the client.", cpu),
        ("relay_up_packets_total", "counter", "Packets sent.", counts.up.0 as f64),
        ("relay_up_bytes_total", "counter", "Bytes sent.", counts.up.1 as f64),
        ("relay_down_packets_total", "counter", "Packets received.", counts.down.0 as f64),
        ("relay_down_bytes_total", "counter", "Bytes received.", counts.down.1 as f64),
        ("relay_reports_total", "counter", "Reports sent.", counts.reports as f64),
        ("relay_unsent_total", "counter", "Datagrams while there was no session.", counts.unsent as f64),
        ("relay_dropped_packets_total", "counter", "Datagrams too large or too many.", counts.dropped as f64),
    ] {
        Family::new(out, name, kind, help)?.sample(&[], value)?;
    }
    let mut family =
        Family::new(out, "relay_refused_packets_total", "counter", "Packets not taken, by reason.")?;
    family.sample(&[("reason", "forged")], counts.forged as f64)?;
    family.sample(&[("reason", "replayed")], counts.replayed as f64)
}

/// CPU time of this process in s.
pub(super) fn cpu_seconds() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}
