//! Memory is independent of the run's length.

#![cfg(target_os = "linux")]
#![allow(clippy::print_stdout)]

mod example;

use airbound_record::{Encoding, Existing, Recorder, RunFolder, TableReader, Tables};

/// Largest resident memory of this process so far, kB.
fn peak_kb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[test]
fn millions_of_packets_take_less_than_64_mb() {
    const PACKETS: u64 = 4_000_000;
    let before = peak_kb();
    let dir = tempfile::tempdir().unwrap();
    let folder = RunFolder::create(dir.path(), Existing::Replace).unwrap();
    let mut recorder = Recorder::create(folder, &example::info(), Tables::ALL, Encoding::Thread).unwrap();
    (0..PACKETS).for_each(|number| recorder.packet(example::packet(number)));
    let folder = recorder.finish("", &example::summary(), &example::performance()).unwrap();
    let written = peak_kb() - before;
    assert!(written < 64_000, "writing took {written} kB");

    let path = folder.file("packets.parquet");
    let rows = TableReader::<airbound_record::PacketRow>::open(&path).unwrap();
    assert_eq!(rows.map(|row| u64::from(row.is_ok())).sum::<u64>(), PACKETS);
    let read = peak_kb() - before;
    assert!(read < 100_000, "writing and reading took {read} kB");
    // The same rows in small groups: what a run of hours adds.
    let folder = RunFolder::create(&dir.path().join("steady"), Existing::Replace).unwrap();
    let mut recorder = Recorder::create(folder, &example::info(), Tables::ALL, Encoding::Steady).unwrap();
    let mut sizes = Vec::new();
    for number in 0..400_000 {
        recorder.packet(example::packet(number));
        if number % 40_000 == 0 {
            let size = std::fs::metadata(dir.path().join("steady/packets.parquet.partial")).unwrap().len();
            sizes.push(size);
        }
    }
    assert!(sizes.windows(2).skip(2).all(|pair| pair[0] < pair[1]), "rows leave the memory: {sizes:?}");
    let folder = recorder.finish("", &example::summary(), &example::performance()).unwrap();
    let rows = TableReader::<airbound_record::PacketRow>::open(&folder.file("packets.parquet")).unwrap();
    assert_eq!(rows.map(|row| u64::from(row.is_ok())).sum::<u64>(), 400_000);
    println!(
        "written {written} kB, read {read} kB, file {} B per packet",
        std::fs::metadata(path).unwrap().len() as f64 / PACKETS as f64
    );
}
