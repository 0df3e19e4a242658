//! What holding costs: floods a queue between three network namespaces on this machine with UDP packets of 1000 B, releases them in
//! batches, and prints packets a second and processor time a packet. As root:
//! `cargo run --release -p airbound-linux --example packets_per_second -- [SECONDS]`
#![allow(clippy::print_stdout, reason = "that is what it is for")]

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
    use rustix::time::{ClockId, clock_gettime};

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
    let (mut own, mut wakeups) = (Span::ZERO, 0u64);
    let thread_time = || {
        let time = clock_gettime(ClockId::ThreadCPUTime);
        Span::from_nanos(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
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
        let mut ids: Vec<PacketId> = Vec::with_capacity(1024);
        while airbound_linux::now().since(begun) < Span::from_secs(seconds) {
            let _ = poll(&mut [PollFd::new(&queue, PollFlags::IN)], None);
            wakeups += 1;
            queue.receive(1024, |packet| {
                if let Some(headers) = Headers::read(packet.head) {
                    let category =
                        PriorityMap::Rfc8325.category(packet.priority, packet.vlan, Some(headers.dscp));
                    hashes ^= headers.flow_hash(7) + category.index() as u64;
                }
                ids.push(packet.id);
            })?;
            for id in ids.drain(..) {
                queue.accept(id, Some(id.0))?;
            }
            queue.flush()?;
        }
        own = thread_time().saturating_sub(before);
        done.store(true, Ordering::Relaxed);
        Ok(())
    })?;
    let counters = queue.counters();
    let each = |span: Span| span.as_nanos() as f64 / 1e3 / counters.packets.max(1) as f64;
    println!(
        "{:.0} packets/s held and released, {:.2} us of processor time each (user and kernel, {} threads share it), {:.1} packets a wake-up",
        counters.packets as f64 / seconds as f64,
        each(own),
        1,
        counters.packets as f64 / wakeups.max(1) as f64
    );
    println!("{counters:?}, {hashes:x}");
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn main() {}
