//! `airbound-studies evening`: five lines on one ground.

use std::num::NonZeroUsize;

use airbound_console::{Steps, Verbosity, output};
use airbound_runs::jobs;
use airbound_runs::output::{Kind, Output, write_page};

use super::args::EveningArgs;
use super::error::CommandError;
use crate::evening::{Evening, EveningError};

/// Seeds of a full judgement, and of a quick one.
const SEEDS: [u32; 2] = [20, 1];

pub(super) fn evening(asked: &EveningArgs, verbosity: Verbosity) -> Result<(), CommandError> {
    let seeds = asked.seeds.unwrap_or(SEEDS[usize::from(asked.quick)]);
    let evening = Evening::new(&asked.schemes, &asked.channels, seeds, asked.quick)?;
    // A page that cannot be written should be known before the work is done.
    asked.out.as_deref().map_or(Ok(()), |path| Output::check(path, Kind::Page))?;
    let threads = NonZeroUsize::new(jobs::threads(asked.jobs)).unwrap_or(NonZeroUsize::MIN);
    let steps = Steps::new(verbosity, 1);
    steps.begin("judging the evening");
    let judgement = evening.judge(threads, &|done, count| steps.reach(done, count))?;
    drop(steps);
    if let Some(path) = &asked.out {
        write_page(path, &judgement.to_html()?)?;
    }
    if verbosity.json {
        return Ok(output::json(&judgement.to_json())?);
    }
    let text = if asked.markdown { judgement.to_markdown() } else { judgement.to_text(output::width()) };
    Ok(output::say(verbosity, &text)?)
}

impl From<EveningError> for CommandError {
    fn from(error: EveningError) -> Self {
        match error {
            EveningError::Input(sentence) => Self::Input(sentence),
            EveningError::Runs(error) => error.into(),
        }
    }
}
