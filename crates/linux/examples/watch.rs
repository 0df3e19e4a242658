//! Prints the completions of a Wi-Fi interface: `cargo run -p airbound-linux --example watch -- wlan0 10 [polled]`, as root.
#![allow(clippy::print_stdout, reason = "prints its results")]

#[cfg(target_os = "linux")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    use airbound_linux::completions::{CompletionConfig, Completions, Source};
    use airbound_linux::nl80211::Wireless;
    use airbound_units::Span;

    let mut arguments = std::env::args().skip(1);
    let name = arguments.next().ok_or("name a Wi-Fi interface")?;
    let seconds = arguments.next().map_or(Ok(10), |text| text.parse())?;
    let source = arguments.next().map(|word| if word == "polled" { Source::Polled } else { Source::Traced });
    let interface = Wireless::open()?.interface(&name)?;
    let begun = airbound_linux::now();
    let config = CompletionConfig { source, ..CompletionConfig::default() };
    let mut completions = Completions::open(&interface, &config)?;
    println!("{:?}, open after {} us", completions.source(), airbound_linux::now().since(begun).as_micros());
    if let Some(why) = completions.why_polled() {
        println!("{why}");
    }
    while airbound_linux::now().since(begun) < Span::from_secs(seconds) {
        completions.drain(airbound_linux::now(), |completion| {
            let one = completion;
            print!(
                "{} {:?} {} frames {} B {} tries airtime {:?} us",
                one.station,
                one.fate,
                one.frames,
                one.bytes.as_u64(),
                one.tries,
                one.airtime.map(Span::as_micros)
            );
            if let Some(more) = one.details {
                let steps: Vec<String> = more
                    .rates
                    .iter()
                    .flatten()
                    .map(|step| format!("{}x{}/{:x}", step.index, step.tries, step.flags))
                    .collect();
                print!(
                    " mark {} tid {} host {:?} us driver {:?} us rates {}",
                    more.mark,
                    more.tid,
                    more.in_host.map(Span::as_micros),
                    more.in_driver.map(Span::as_micros),
                    steps.join(" ")
                );
            }
            println!();
        })?;
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    println!("{:?}", completions.counters());
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn main() {}
