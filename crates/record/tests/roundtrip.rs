//! A record is read as written, with each encoding, and replaces an earlier run only when complete.

use crate::example::{frame, hop, info, packet, performance, sender, series, summary, txop};
use airbound_record::{
    Component, DistributionRow, Encoding, Existing, FlowLatency, FrameRow, HopRow, PacketRow, RecordError,
    Recorder, RunFolder, SenderRow, SeriesRow, Split, Stage, TableReader, Tables, TxopRow, find_hops,
    find_packet,
};

const PACKETS: u64 = 300_000;

fn record(path: &std::path::Path, encoding: Encoding) -> RunFolder {
    let folder = RunFolder::create(path, Existing::Replace).unwrap();
    let mut recorder = Recorder::create(folder, &info(), Tables::ALL, encoding).unwrap();
    let mut latency = FlowLatency::new();
    for number in 0..PACKETS {
        let row = packet(number);
        if let Some(split) = Split::of(&row) {
            latency.record(&split);
        }
        recorder.packet(row);
        for relay in 0..number % 3 {
            recorder.hop(hop(number, relay));
        }
        if number.is_multiple_of(16) {
            recorder.txop(txop(number / 16));
            recorder.sender(sender(number / 16));
        }
        if number.is_multiple_of(100) {
            recorder.frame(frame(number / 100));
            recorder.series(series(number / 100));
        }
    }
    for row in latency.rows(0) {
        recorder.distribution(row);
    }
    recorder.finish("name = \"vr\"\n", &summary(), &performance()).unwrap()
}

#[test]
fn rows_come_back_as_they_were() {
    let dir = tempfile::tempdir().unwrap();
    let folder = record(&dir.path().join("deep/run"), Encoding::Thread);

    let packets = TableReader::<PacketRow>::open(&folder.file("packets.parquet")).unwrap();
    assert_eq!(packets.info(), &info());
    assert_eq!(packets.len(), PACKETS);
    let mut number = 0;
    for row in packets {
        assert_eq!(row.unwrap(), packet(number));
        number += 1;
    }
    assert_eq!(number, PACKETS);

    let txops: Vec<TxopRow> =
        TableReader::open(&folder.file("txops.parquet")).unwrap().map(Result::unwrap).collect();
    assert_eq!(txops.len() as u64, PACKETS / 16);
    assert!((0..).zip(&txops).all(|(number, row)| *row == txop(number)));
    let senders: Vec<SenderRow> =
        TableReader::open(&folder.file("senders.parquet")).unwrap().map(Result::unwrap).collect();
    assert!(!senders.is_empty() && (0..).zip(&senders).all(|(number, row)| *row == sender(number)));
    let hops: Vec<HopRow> =
        TableReader::open(&folder.file("hops.parquet")).unwrap().map(Result::unwrap).collect();
    assert_eq!(hops.len() as u64, PACKETS);
    for number in [0, 1, 2, PACKETS / 2, PACKETS - 1] {
        let own: Vec<HopRow> = (0..number % 3).map(|relay| hop(number, relay)).collect();
        assert_eq!(find_hops(&folder.file("hops.parquet"), number).unwrap(), own);
    }
    let frames: Vec<FrameRow> =
        TableReader::open(&folder.file("frames.parquet")).unwrap().map(Result::unwrap).collect();
    assert!(!frames.is_empty() && (0..).zip(&frames).all(|(number, row)| *row == frame(number)));
    let windows: Vec<SeriesRow> =
        TableReader::open(&folder.file("series.parquet")).unwrap().map(Result::unwrap).collect();
    assert!(!windows.is_empty() && (0..).zip(&windows).all(|(number, row)| *row == series(number)));

    assert_eq!(folder.summary().unwrap(), summary());
    assert_eq!(folder.performance().unwrap(), performance());
    assert_eq!(folder.scenario().unwrap(), "name = \"vr\"\n");
    assert!(
        std::fs::read_dir(folder.path())
            .unwrap()
            .all(|entry| { !entry.unwrap().file_name().to_string_lossy().ends_with(".partial") })
    );
}

#[test]
fn distributions_hold_every_sample_and_the_exact_means() {
    let dir = tempfile::tempdir().unwrap();
    let folder = record(dir.path(), Encoding::Inline);
    let rows: Vec<DistributionRow> =
        TableReader::open(&folder.file("distributions.parquet")).unwrap().map(Result::unwrap).collect();
    let splits: Vec<Split> = (0..PACKETS).filter_map(|number| Split::of(&packet(number))).collect();
    for stage in Stage::ALL {
        let own: Vec<_> = rows.iter().filter(|row| row.component == Component::Stage(stage)).collect();
        assert_eq!(own.iter().map(|row| row.count).sum::<u64>(), splits.len() as u64, "{stage:?}");
        let exact: u128 = splits.iter().map(|split| u128::from(split.stage(stage).as_nanos())).sum();
        assert_eq!(u128::from(own[0].mean.as_nanos()), exact / splits.len() as u128, "{stage:?}");
        assert!(own.windows(2).all(|pair| pair[0].high < pair[1].low), "{stage:?}");
    }
}

#[test]
fn the_encoding_thread_leaves_the_same_bytes() {
    let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let one = record(one.path(), Encoding::Inline);
    let other = record(other.path(), Encoding::Thread);
    for name in ["packets", "hops", "senders", "txops", "frames", "series", "distributions"] {
        let name = format!("{name}.parquet");
        assert!(
            std::fs::read(one.file(&name)).unwrap() == std::fs::read(other.file(&name)).unwrap(),
            "{name}"
        );
    }
}

#[test]
fn a_packet_is_found_by_its_number() {
    let dir = tempfile::tempdir().unwrap();
    let folder = record(dir.path(), Encoding::Inline);
    let path = folder.file("packets.parquet");
    for number in [0, 131_071, 131_072, PACKETS - 1] {
        assert_eq!(find_packet(&path, number).unwrap(), Some(packet(number)));
    }
    assert_eq!(find_packet(&path, PACKETS).unwrap(), None);
    assert_eq!(find_packet(&path, u64::MAX).unwrap(), None);
}

#[test]
fn an_unfinished_run_leaves_the_earlier_one_alone() {
    let dir = tempfile::tempdir().unwrap();
    let earlier = record(dir.path(), Encoding::Inline);
    let bytes = std::fs::read(earlier.file("packets.parquet")).unwrap();
    for encoding in [Encoding::Inline, Encoding::Thread] {
        let folder = RunFolder::create(dir.path(), Existing::Replace).unwrap();
        let mut recorder = Recorder::create(folder, &info(), Tables::ALL, encoding).unwrap();
        (0..10_000).for_each(|number| recorder.packet(packet(number)));
        drop(recorder);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 10);
        assert!(bytes == std::fs::read(earlier.file("packets.parquet")).unwrap());
    }
}

#[test]
fn a_run_with_fewer_tables_removes_those_of_the_earlier_one() {
    let dir = tempfile::tempdir().unwrap();
    let earlier = record(dir.path(), Encoding::Inline);
    std::fs::write(earlier.file("report.html"), "old").unwrap();
    let folder = RunFolder::create(dir.path(), Existing::Replace).unwrap();
    let recorder = Recorder::create(folder, &info(), Tables::SMALL, Encoding::Inline).unwrap();
    let folder = recorder.finish("", &summary(), &performance()).unwrap();
    assert!(folder.existing("series.parquet").is_some());
    assert!(folder.existing("packets.parquet").is_none());
    assert!(folder.existing("report.html").is_none());
}

#[test]
fn a_folder_with_other_things_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("thesis.tex"), "precious").unwrap();
    let error = RunFolder::create(dir.path(), Existing::Replace).unwrap_err();
    assert!(matches!(error, RecordError::Occupied { .. }), "{error}");
    assert!(error.to_string().contains("not a run of Airbound"), "{error}");
    assert!(matches!(RunFolder::open(dir.path()), Err(RecordError::NotARun { .. })));

    let run = tempfile::tempdir().unwrap();
    record(run.path(), Encoding::Inline);
    assert!(matches!(RunFolder::create(run.path(), Existing::Keep), Err(RecordError::Exists { .. })));
    let file = run.path().join("summary.json/deeper");
    assert!(matches!(RunFolder::create(&file, Existing::Replace), Err(RecordError::Io { .. })));
}

#[test]
fn two_recorders_do_not_share_a_folder() {
    let dir = tempfile::tempdir().unwrap();
    let create = || RunFolder::create(dir.path(), Existing::Replace).unwrap();
    let first = Recorder::create(create(), &info(), Tables::SMALL, Encoding::Inline).unwrap();
    let second = Recorder::create(create(), &info(), Tables::SMALL, Encoding::Inline);
    assert!(matches!(second.err(), Some(RecordError::Busy { .. })));
    let folder = first.finish("", &summary(), &performance()).unwrap();
    assert_eq!(folder.summary().unwrap(), summary());
    assert!(!dir.path().join(".lock").exists());
}

#[test]
fn the_summary_of_something_else_is_not_replaced() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("summary.json"), "{ \"sales\": 12 }").unwrap();
    let error = RunFolder::create(dir.path(), Existing::Replace).unwrap_err();
    assert!(matches!(error, RecordError::Occupied { .. }), "{error}");
}

#[test]
fn a_file_that_no_run_has_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let folder = record(dir.path(), Encoding::Inline);
    assert_eq!(folder.stranger().unwrap(), None);
    std::fs::write(dir.path().join("notes.txt"), "Remember").unwrap();
    assert_eq!(folder.stranger().unwrap(), Some("notes.txt".into()));
}
