//! Accepts each packet of an interface at once, all those that wait together: the least that a program over NFQUEUE costs, for comparison
//! with the agent.
//!
//! In the laboratory, 15 s of 2 Mb/s under the program, and then under the agent; the processor time of each in us a packet:
//!
//! ```text
//! cargo build --release -p airbound-linux --example accept_all
//! airbound lab shell lab-weak --with target/release/examples/accept_all --with crates/linux/examples/accept_all.sh \
//!     --command 'rate=2M . /files/accept_all.sh'
//! ```
//!
//! Under the load of a scenario, in the place of the agent (`agent-cpu.txt` of the run; the first words let the agent itself end):
//!
//! ```text
//! airbound lab exec lab-vr --with target/release/examples/accept_all --with crates/linux/examples/accept_all_load.sh \
//!     --agent '--dry-run & exec sh /host/files/accept_all_load.sh' --out runs/floor -- sleep 10
//! ```
#![allow(clippy::print_stdout, reason = "prints its results")]

#[cfg(target_os = "linux")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    use airbound_linux::nfqueue::{Queue, QueueConfig};
    use airbound_linux::nftables::{Plane, Rules, Table};
    use airbound_units::Span;
    use rustix::event::{PollFd, PollFlags, poll};

    let mut arguments = std::env::args().skip(1);
    let name = arguments.next().ok_or("name an interface")?;
    let seconds = arguments.next().map_or(Ok(10), |text| text.parse())?;
    let mut queue = Queue::open(&QueueConfig::default())?;
    let table = Table::install(&Rules::of(&name, queue.number(), [Plane::Routed]))?;
    let end = airbound_linux::now() + Span::from_secs(seconds);
    let mut pending = Vec::new();
    while airbound_linux::now() < end {
        poll(&mut [PollFd::new(&queue, PollFlags::IN)], None)?;
        queue.receive(1, |packet| pending.push(packet.id))?;
        pending.drain(..).try_for_each(|id| queue.accept(id, None))?;
        queue.flush()?;
    }
    table.detach()?;
    table.remove()?;
    println!("{} packets", queue.counters().packets);
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn main() {}
