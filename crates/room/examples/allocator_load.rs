//! Load for `airbound allocator`: one room of 200, then 1000 rooms of 10 with five decisions a second each.
//!
//! `allocator_load SOCKET PID [SECONDS]` prints the time of a decision as its caller sees it, and the processor time of the process.

#![allow(clippy::print_stdout, reason = "prints its results")]

use std::error::Error;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// Views of each member.
const VIEWS: u16 = 24;

struct Caller {
    read: BufReader<UnixStream>,
    write: UnixStream,
    line: String,
}

impl Caller {
    fn new(socket: &str) -> std::io::Result<Self> {
        let write = UnixStream::connect(socket)?;
        Ok(Self { read: BufReader::new(write.try_clone()?), write, line: String::new() })
    }

    fn ask(&mut self, question: &Value) -> Result<(Value, Duration), Box<dyn Error>> {
        let text = format!("{question}\n");
        let began = Instant::now();
        self.write.write_all(text.as_bytes())?;
        self.line.clear();
        self.read.read_line(&mut self.line)?;
        let took = began.elapsed();
        let reply: Value = serde_json::from_str(&self.line)?;
        if reply["error"].is_string() {
            return Err(self.line.clone().into());
        }
        Ok((reply, took))
    }
}

fn filled(members: u16) -> Vec<Value> {
    let mut inputs = Vec::new();
    for member in 1..=members {
        inputs.push(json!({"join": {"member": member}}));
        inputs.push(json!({"layers": {"source": member, "rates": [120_000, 360_000, 1_000_000]}}));
        let near = (1..=VIEWS.min(members - 1)).map(|step| (member + step - 1) % members + 1);
        let views: Vec<Value> = near.map(|from| json!({"from": from, "largest": 2})).collect();
        inputs.push(json!({"views": {"viewer": member, "views": views}}));
    }
    inputs
}

/// Estimates of one member that vary from decision to decision, as a congestion control's do.
fn estimates(member: u16, step: u64) -> [Value; 2] {
    let vary = |base: u64| base + (u64::from(member) * 7919 + step * 104_729) % base;
    let (up, down) = (vary(900_000), vary(4_000_000));
    [
        json!({"up": {"member": member, "rate": up, "kind": if member.is_multiple_of(3) { "at-least" } else { "exact" }}}),
        json!({"down": {"member": member, "rate": down, "kind": if member.is_multiple_of(3) { "at-least" } else { "exact" }}}),
    ]
}

/// Acknowledges the notices of an answer, as clients do.
fn acknowledge(reply: &Value) -> Vec<Value> {
    let actions = reply["actions"].as_array().map(Vec::as_slice).unwrap_or_default();
    let holds = actions.iter().filter(|one| one["hold"].is_object());
    holds
        .map(|one| json!({"ack": {"member": one["hold"]["member"], "sequence": one["hold"]["sequence"]}}))
        .collect()
}

fn processor_time(process: u32) -> Result<f64, Box<dyn Error>> {
    let text = std::fs::read_to_string(format!("/proc/{process}/stat"))?;
    let fields: Vec<&str> = text.rsplit(')').next().unwrap_or("").split_whitespace().collect();
    Ok((fields[11].parse::<f64>()? + fields[12].parse::<f64>()?) / 100.0)
}

fn quantile(times: &mut [f64], share: f64) -> f64 {
    times.sort_unstable_by(f64::total_cmp);
    times[((times.len() as f64 * share) as usize).min(times.len() - 1)]
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let (socket, process) = (arguments[1].as_str(), arguments[2].parse()?);
    let seconds: u64 = arguments.get(3).map_or(Ok(10), |text| text.parse())?;
    let mut caller = Caller::new(socket)?;

    caller.ask(&json!({"room": "large", "at": 0, "inputs": filled(200)}))?;
    let (mut times, mut before) = (Vec::new(), Vec::new());
    for step in 1..=500_u64 {
        let mut inputs = std::mem::take(&mut before);
        inputs.extend(
            (1..=200)
                .filter(|member| u64::from(member % 5) == step % 5)
                .flat_map(|member| estimates(member, step)),
        );
        let (reply, took) = caller.ask(&json!({"room": "large", "at": step * 200, "inputs": inputs}))?;
        before = acknowledge(&reply);
        times.push(took.as_secs_f64() * 1e3);
    }
    let most = times.iter().copied().fold(0.0, f64::max);
    println!(
        "200 participants, 500 decisions: p50 {:.2} ms, p99 {:.2} ms, longest {most:.2} ms",
        quantile(&mut times, 0.5),
        quantile(&mut times, 0.99)
    );
    caller.ask(&json!({"room": "large", "at": 200_000, "inputs": [{"end": {}}]}))?;

    for room in 0..1000 {
        caller.ask(&json!({"room": format!("r{room}"), "at": 0, "inputs": filled(10)}))?;
    }
    let (began, used) = (Instant::now(), processor_time(process)?);
    let mut times = Vec::new();
    let mut acks: Vec<Vec<Value>> = vec![Vec::new(); 1000];
    for step in 1..=seconds * 5 {
        let due = began + Duration::from_millis(200) * step as u32;
        for (room, acks) in acks.iter_mut().enumerate() {
            let mut inputs = std::mem::take(acks);
            inputs.extend((1..=10).flat_map(|member| estimates(member, step + room as u64)));
            let (reply, took) =
                caller.ask(&json!({"room": format!("r{room}"), "at": step * 200, "inputs": inputs}))?;
            *acks = acknowledge(&reply);
            times.push(took.as_secs_f64() * 1e3);
        }
        thread::sleep(due.saturating_duration_since(Instant::now()));
    }
    let wall = began.elapsed().as_secs_f64();
    let cores = (processor_time(process)? - used) / wall;
    println!(
        "1000 rooms of 10, {} decisions in {wall:.1} s ({:.0} a second of 5000): {cores:.2} cores of the allocator, p50 {:.3} ms, p99 {:.3} ms",
        times.len(),
        times.len() as f64 / wall,
        quantile(&mut times, 0.5),
        quantile(&mut times, 0.99)
    );
    Ok(())
}
