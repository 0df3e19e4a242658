//! A page shown in the browser of the desktop.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::output;

/// Variable that names another browser.
const BROWSER: &str = "BROWSER";
/// Programs that open a file as the desktop does: freedesktop's, and that of macOS.
const OPENERS: [&str; 2] = ["xdg-open", "open"];

/// Opens a page in the browser, and waits for nothing. Where there is none, a remark says so: the page is written in any case.
pub fn open(page: &Path) {
    let named = std::env::var(BROWSER).ok().filter(|browser| !browser.is_empty());
    let programs: Vec<&str> = named.as_deref().into_iter().chain(OPENERS).collect();
    let begins = |program: &&str| {
        let mut command = Command::new(program);
        command.arg(page).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().is_ok()
    };
    if !programs.iter().any(begins) {
        let page = page.display();
        output::remark(&format!(
            "airbound: --open found no browser; open {page} yourself, or name a program in {BROWSER}"
        ));
    }
}
