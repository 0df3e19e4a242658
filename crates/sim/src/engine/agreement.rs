//! The receiver's side of block-ack agreements: reordering buffers, and when each is looked at next.

use airbound_control::frame::StationId;
use airbound_control::frame::TxDescriptor;
use airbound_units::Instant;
use airbound_wifi::edca::Category;

use super::Arrival;
use crate::flow::Direction;
use crate::packet::Packet;
use airbound_air::reorder::Reorder;

/// Agreements of a link: two ways, four categories, two traffic identifiers.
const OF_A_LINK: usize = 2 * 4 * 2;

/// The receiver's side of an agreement.
#[derive(Debug)]
pub(crate) struct Agreement {
    pub(crate) reorder: Reorder<Arrival>,
    /// When the buffer is looked at next; `Instant::MAX` for never.
    pub(crate) release: Instant,
}

/// Those of so many links, in the order of [`AgreementId::index`].
pub(super) fn of_links(links: usize) -> Vec<Agreement> {
    let none = || Agreement { reorder: Reorder::default(), release: Instant::MAX };
    std::iter::repeat_with(none).take(links * OF_A_LINK).collect()
}

/// Which agreement: one for each link, direction and traffic identifier.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AgreementId {
    /// The link, named by its lower end.
    link: StationId,
    way: Direction,
    category: Category,
    alternate: bool,
}

impl AgreementId {
    /// The agreement under which a descriptor travels over a link.
    pub(super) const fn of((link, way): (StationId, Direction), descriptor: &TxDescriptor<Packet>) -> Self {
        Self { link, way, category: descriptor.category, alternate: descriptor.alternate }
    }

    /// Its place among all.
    pub(super) const fn index(self) -> usize {
        let Self { link, way, category, alternate } = self;
        link.index() * OF_A_LINK + (way as usize * 4 + category.index()) * 2 + alternate as usize
    }
}
