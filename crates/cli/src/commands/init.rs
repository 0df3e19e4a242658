//! `airbound init`: a scenario of one's own from a few answers.

use std::collections::BTreeSet;
use std::io::{self, BufRead, Write as _};
use std::path::Path;

use airbound_console::{Verbosity, output};
use airbound_runs::folder::write_whole;
use airbound_scenario::draft::{Activity, Draft, Generation, Place};
use airbound_scenario::{Overrides, Scenario};
use airbound_units::BitRate;

use crate::args::Init;
use crate::error::CliError;

/// Stations of somebody who names none.
const USUAL: [&str; 4] = ["laptop:3:download", "phone:6:call", "television:5:film", "console:8:cloud-game"];

/// The answer that takes them.
const A_FLAT: &str = "laptop, phone, television and console of a flat";

pub(super) fn init(init: &Init, verbosity: Verbosity) -> Result<(), CliError> {
    let printed = init.file == Path::new("-");
    if !printed && init.file.symlink_metadata().is_ok() {
        let taken = init.file.display();
        return Err(CliError::Input(format!(
            "{taken} exists; name a file that does not, or - for standard output"
        )));
    }
    let draft = if init.is_answered() { answered(init)? } else { asked(&mut io::stdin().lock())? };
    refuse_twice(&draft.places)?;
    let text = draft.to_toml();
    // The file is right, or it is not written.
    Scenario::parse(&text, &init.file.display().to_string(), &Overrides::none())?;
    if printed {
        return Ok(output::print(&text)?);
    }
    write_whole(&init.file, &text)?;
    let file = init.file.display();
    Ok(output::say(verbosity, &format!("{file} is written. Next: airbound compare {file}\n"))?)
}

fn answered(init: &Init) -> Result<Draft, CliError> {
    let places = if init.place.is_empty() { USUAL.map(str::to_owned).to_vec() } else { init.place.clone() };
    let generation = generation(init.wifi.as_deref().unwrap_or("5")).map_err(CliError::Input)?;
    Ok(Draft {
        generation,
        width_mhz: init.width.unwrap_or(usual_width(generation)),
        streams: init.streams.unwrap_or(2),
        wire: wire(init.wire.as_deref().unwrap_or("250 Mbit/s")).map_err(CliError::Input)?,
        neighbours: init.neighbours.unwrap_or(1),
        places: places
            .iter()
            .map(|place| self::place(place))
            .collect::<Result<_, _>>()
            .map_err(CliError::Input)?,
    })
}

/// Refuses a name that two stations have.
fn refuse_twice(places: &[Place]) -> Result<(), CliError> {
    let mut names = BTreeSet::new();
    match places.iter().find(|place| !names.insert(&place.name)) {
        None => Ok(()),
        Some(place) => {
            let name = &place.name;
            Err(CliError::Input(format!(
                "two stations are named {name}; join their uses with +, or rename one"
            )))
        }
    }
}

fn generation(word: &str) -> Result<Generation, String> {
    Generation::named(word).ok_or_else(|| {
        format!("Wi-Fi {word:?} is unknown; allowed are 4 (802.11n), 5 (802.11ac), 6 (802.11ax)")
    })
}

const fn usual_width(generation: Generation) -> u32 {
    match generation {
        Generation::Four => 40,
        Generation::Five | Generation::Six => 80,
    }
}

fn wire(text: &str) -> Result<Option<BitRate>, String> {
    match text {
        "none" => Ok(None),
        rate => rate.parse().map(Some).map_err(|_| {
            format!("the line's rate {rate:?} is no rate; allowed are \"250 Mbit/s\", \"1 Gbit/s\" or none")
        }),
    }
}

fn whole(text: &str, what: &str, allowed: std::ops::RangeInclusive<u32>) -> Result<u32, String> {
    let number = text.parse().ok().filter(|number| allowed.contains(number));
    number.ok_or_else(|| {
        format!("{what} {text:?} is not allowed; allowed is {} to {}", allowed.start(), allowed.end())
    })
}

/// `NAME:DISTANCE:USE+USE`.
fn place(text: &str) -> Result<Place, String> {
    let mut parts = text.split(':');
    let (Some(name), Some(distance), Some(uses), None) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return Err(format!(
            "{text:?} is no place; one is NAME:DISTANCE:USE+USE, such as laptop:3:download+call"
        ));
    };
    Ok(Place {
        name: self::name(name)?,
        distance: self::distance(distance)?,
        activities: activities(uses, '+')?,
    })
}

fn name(text: &str) -> Result<String, String> {
    let is_sign = |sign: char| sign.is_ascii_alphanumeric() || matches!(sign, '-' | '_');
    if (1..=40).contains(&text.len()) && text.chars().all(is_sign) {
        return Ok(text.to_owned());
    }
    Err(format!("the name {text:?} is not allowed; allowed are 1 to 40 letters, digits, - and _"))
}

fn distance(text: &str) -> Result<f64, String> {
    let metres =
        text.trim_end_matches('m').trim().parse().ok().filter(|metres| (0.1..=1000.0).contains(metres));
    metres.ok_or_else(|| format!("the distance {text:?} is not allowed; allowed is 0.1 to 1000, in m"))
}

fn activities(text: &str, between: char) -> Result<Vec<Activity>, String> {
    let mut activities = Vec::new();
    for word in text.split(between).map(str::trim) {
        let Some(activity) = Activity::named(word) else {
            let known = Activity::ALL.map(Activity::name).join(", ");
            return Err(format!("the use {word:?} is unknown; there are {known}"));
        };
        if !activities.contains(&activity) {
            activities.push(activity);
        }
    }
    Ok(activities)
}

/// Asks on standard error and reads answers; an empty one takes what stands in brackets. Who answers at a terminal is asked again
/// after a wrong answer, a file of answers ends with it.
fn asked(answers: &mut impl BufRead) -> Result<Draft, CliError> {
    let generation = ask(answers, "Which Wi-Fi is the access point, 4, 5 or 6", "5", generation)?;
    let usual = usual_width(generation).to_string();
    let width = ask(answers, "Width of the channel in MHz", &usual, crate::args::width)?;
    let streams = ask(answers, "Spatial streams (antennas used at once)", "2", |text| {
        whole(text, "the number of streams", 1..=4)
    })?;
    let wire = ask(answers, "Rate of the line to the internet, or none", "250 Mbit/s", wire)?;
    let neighbours = ask(answers, "Networks of neighbours on the channel", "1", |text| {
        whole(text, "the number of neighbours", 0..=20)
    })?;
    let known = Activity::ALL.map(Activity::name).join(", ");
    say(&format!("Stations and their uses: {known}.\n"))?;
    let mut places: Vec<Place> = Vec::new();
    loop {
        let end = if places.is_empty() { A_FLAT } else { "no more" };
        let name = ask(answers, "Name of a station", end, |text| {
            if text == end { Ok(text.to_owned()) } else { self::name(text) }
        })?;
        if name == end {
            break;
        }
        let distance = ask(answers, "  its distance in m", "5", distance)?;
        let activities =
            ask(answers, "  its uses, with commas between", "web", |text| activities(text, ','))?;
        places.push(Place { name, distance, activities });
    }
    if places.is_empty() {
        places = USUAL.iter().map(|usual| place(usual)).collect::<Result<_, _>>().map_err(CliError::Input)?;
    }
    Ok(Draft { generation, width_mhz: width, streams, wire, neighbours, places })
}

fn ask<T>(
    answers: &mut impl BufRead,
    question: &str,
    usual: &str,
    read: impl Fn(&str) -> Result<T, String>,
) -> Result<T, CliError> {
    loop {
        say(&format!("{question} [{usual}]: "))?;
        let mut answer = String::new();
        let count =
            answers.read_line(&mut answer).map_err(CliError::io("read", Path::new("standard input")))?;
        let answer = answer.trim();
        match read(if answer.is_empty() { usual } else { answer }) {
            Ok(value) => {
                if count == 0 {
                    say("\n")?;
                }
                return Ok(value);
            }
            Err(problem) if output::is_answered() => say(&format!("{problem}\n"))?,
            Err(problem) => return Err(CliError::Input(problem)),
        }
    }
}

fn say(text: &str) -> Result<(), CliError> {
    let mut error = io::stderr().lock();
    error
        .write_all(text.as_bytes())
        .and_then(|()| error.flush())
        .map_err(CliError::io("write", Path::new("standard error")))
}
