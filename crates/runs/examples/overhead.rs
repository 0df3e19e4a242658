//! Overhead that a sweep adds to its runs: `cargo run --release -p airbound-runs --example overhead`.
//!
//! Many tiny runs, first alone, then as a sweep with one thread and with two, in processor time, which others on the machine change
//! little.
#![allow(clippy::print_stdout, reason = "it is a program")]

use std::path::Path;

use airbound_runs::sweep::{Changes, Folder, Grid, Plan, Sweep, local};
use airbound_scenario::{Overrides, Scenario};
use airbound_sim::Run;

/// Cells and seeds.
const CELLS: usize = 1000;
const SEEDS: usize = 4;

/// Processor time of this process so far, ms: fields 14 and 15 of proc(5), in ticks of 10 ms.
fn processor_ms() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after = text.rsplit(')').next().unwrap_or_default();
    let ticks = after.split_whitespace().skip(11).take(2).filter_map(|field| field.parse::<f64>().ok());
    ticks.sum::<f64>() * 10.0
}

fn rate(cell: usize) -> String {
    format!("{} kbit/s", 1000 + 10 * cell)
}

fn alone() {
    for cell in 0..CELLS {
        let sets = [("duration", "100 ms"), ("warm-up", "0 s"), ("flow.stream.rate", &rate(cell))];
        let scenario = Scenario::open("hello", &Overrides::from_pairs(&sets)).expect("a shipped scenario");
        for seed in 1..=SEEDS as u64 {
            let run = Run::new("hello", &scenario, &scenario.scheme, seed).expect("a run");
            run.finish().expect("balanced books");
        }
    }
}

fn swept(folder: &Path, threads: usize) {
    let text = format!(
        "scenario = \"hello\"\nschemes = [\"linux\"]\nseeds = {SEEDS}\n[set]\nduration = \"100 ms\"\nwarm-up = \"0 s\"\n\
         [axes]\n\"flow.stream.rate\" = {{ from = \"1000 kbit/s\", to = \"{}\", step = 10 }}\n",
        rate(CELLS - 1)
    );
    let grid = Grid::parse(&text, "overhead", Path::new(""), &Changes::default()).expect("a grid");
    let plan = Plan::check(grid, threads, &()).expect("a plan");
    let folder = Folder::open(&folder.join(threads.to_string())).expect("a folder");
    let mut sweep = Sweep::begin(plan, folder, false).expect("a sweep");
    local(&mut sweep, threads, &()).expect("all runs");
    sweep.finish().expect("a report");
}

fn main() {
    let temporary = tempfile::tempdir().expect("a folder");
    let folder = temporary.path();
    let mut before = processor_ms();
    let mut spent = || {
        let now = processor_ms();
        let spent = (now - before) / (CELLS * SEEDS) as f64;
        before = now;
        spent
    };
    alone();
    let alone = spent();
    swept(folder, 1);
    let (one, begun) = (spent(), std::time::Instant::now());
    swept(folder, 2);
    let (two, wall) = (spent(), begun.elapsed());
    println!("{} runs, processor time of each:", CELLS * SEEDS);
    println!("  alone            {alone:.3} ms");
    println!("  sweep, 1 thread  {one:.3} ms, {:.3} ms more", one - alone);
    println!(
        "  sweep, 2 threads {two:.3} ms, {:.1} % of that with 1 thread; wall {:.1} s",
        100.0 * two / one,
        wall.as_secs_f64()
    );
}
