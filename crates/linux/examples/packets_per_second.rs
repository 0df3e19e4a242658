//! Cost of holding packets: floods a queue between three network namespaces with UDP packets of 1000 B, releases them in batches, and
//! prints packets per second and CPU time per packet. Run as root:
//! `cargo run --release -p airbound-linux --example packets_per_second -- [SECONDS]`
#![allow(clippy::print_stdout, reason = "prints its results")]

#[cfg(target_os = "linux")]
#[path = "../tests/bed/mod.rs"]
mod bed;

#[cfg(target_os = "linux")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    use std::sync::atomic::{AtomicBool, Ordering};

    use airbound_linux::nfqueue::{PacketId, Queue, QueueConfig};
    use airbound_linux::packet::{Headers, PriorityMap};
    use airbound_units::Span;
    use rustix::event::{PollFd, PollFlags, poll};

    const QUEUE: u16 = 64_902;
    const PORT: u16 = 9101;
    let seconds = std::env::args().nth(1).map_or(Ok(3), |text| text.parse())?;
    let bed = bed::Bed::make('p')?;
    let _rule = bed.hold(QUEUE)?;
    let config = QueueConfig { number: QUEUE, ..QueueConfig::default() };
    let mut queue = bed.within(1, || Queue::open(&config))?;
    let (sender, receiver) = (bed.sender(PORT), bed.receiver(PORT));
    let done = AtomicBool::new(false);
    let mut hashes = 0u64;
    let (mut own, mut wakeups) = ([0; 2], 0u64);
    // User and kernel time of this thread, in ticks of 10 ms (proc(5), fields 14 and 15).
    let thread_time = || -> [u64; 2] {
        let text = std::fs::read_to_string("/proc/thread-self/stat").unwrap_or_default();
        let fields: Vec<&str> = text.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
        [11, 12].map(|place: usize| fields.get(place).and_then(|ticks| ticks.parse().ok()).unwrap_or(0))
    };
    std::thread::scope(|scope| -> Result<(), airbound_linux::LinuxError> {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                let _ = sender.send(&[1; 1000]);
            }
        });
        scope.spawn(|| {
            let mut buffer = [0; 2000];
            while !done.load(Ordering::Relaxed) {
                let _ = receiver.recv(&mut buffer);
            }
        });
        let begun = airbound_linux::now();
        let before = thread_time();
        let keys = std::hash::RandomState::new();
        let mut ids: Vec<PacketId> = Vec::with_capacity(1024);
        while airbound_linux::now().since(begun) < Span::from_secs(seconds) {
            let _ = poll(&mut [PollFd::new(&queue, PollFlags::IN)], None);
            wakeups += 1;
            queue.receive(1024, |packet| {
                if let Some(headers) = Headers::read(packet.head) {
                    let category =
                        PriorityMap::Rfc8325.category(packet.priority, packet.vlan, Some(headers.dscp));
                    hashes ^= headers.flow_hash(&keys) + category.index() as u64;
                }
                ids.push(packet.id);
            })?;
            for id in ids.drain(..) {
                queue.accept(id, Some(id.0))?;
            }
            queue.flush()?;
        }
        let after = thread_time();
        own = [0, 1].map(|place| after[place] - before[place]);
        done.store(true, Ordering::Relaxed);
        Ok(())
    })?;
    let counters = queue.counters();
    let packets = counters.packets.max(1) as f64;
    let each = own.map(|ticks| ticks as f64 * 10_000.0 / packets);
    println!(
        "{:.0} packets/s held and released; processor time a packet: {:.2} us here, {:.2} us in the kernel (with the packet's way to \
         the receiver); {:.1} packets a wake-up",
        packets / seconds as f64,
        each[0],
        each[1],
        packets / wakeups.max(1) as f64
    );
    println!("{counters:?}, {hashes:x}");
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn main() {}
