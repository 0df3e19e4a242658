//! Where the rows of a network go.

use airbound_record::{FrameRow, SenderRow};

use super::{Audience, Event, Numbers};

/// The audience of a network's rows, with the numbers of the run.
pub(crate) struct Rows {
    pub(crate) audience: Audience,
    pub(crate) numbers: Numbers,
}

impl Rows {
    /// Passes on the row of a frame, if wanted.
    pub(super) fn frame(&self, row: &FrameRow) {
        if self.audience.wants.frames {
            let row = FrameRow { flow: self.numbers.flow(row.flow), ..*row };
            self.audience.notify(Event::Frame(&row));
        }
    }

    /// Passes on the state of a sender, if wanted.
    pub(crate) fn sender(&self, state: impl FnOnce() -> SenderRow) {
        if self.audience.wants.senders {
            let row = state();
            let row = SenderRow { flow: self.numbers.flow(row.flow), ..row };
            self.audience.notify(Event::Sender(&row));
        }
    }
}
