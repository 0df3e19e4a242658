//! `libairbound`: low-delay rate allocation for C and C++.
//!
//! A thin layer over [`airbound_senders::stream`]: pointers, sizes of structs and panics end here, all decisions are made there. The
//! header `include/airbound.h` is generated from this crate; `docs/use/library.md` explains its use.
//!
//! | file | holds |
//! |---|---|
//! | `status` | results of calls, the message of the last one |
//! | `handle` | objects behind pointers; a panic breaks the object, not the program |
//! | `structs` | structs of the interface and their sizes |
//! | `sender`, `receiver` | the functions |

mod handle;
mod receiver;
mod sender;
mod status;
mod structs;

pub use handle::{airbound_receiver, airbound_sender};
pub use receiver::*;
pub use sender::*;
pub use status::*;
pub use structs::*;
