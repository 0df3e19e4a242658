//! The URI of Debian's package archive: by environment variable, else by the host's apt configuration.

use super::{program, run};
use crate::LabError;

/// The environment variable that overrides the archive.
const VARIABLE: &str = "AIRBOUND_DEBIAN_ARCHIVE";

/// The URI of a Debian archive.
///
/// # Errors
/// Neither the environment nor the host's apt gives one, or the environment's is not a URI.
pub(crate) fn uri() -> Result<String, LabError> {
    if let Some(named) = std::env::var_os(VARIABLE) {
        let named = named.to_string_lossy().into_owned();
        return checked(&named).ok_or_else(|| LabError::Missing {
            what: format!("a Debian archive, but {VARIABLE} is \"{}\"", named.escape_debug()),
            how: "allowed is a URI with http:, https: or file: and without white space".to_owned(),
        });
    }
    let known = run(program("apt-get", "part of Debian and Ubuntu")?.args([
        "indextargets",
        "--format",
        "$(REPO_URI)",
    ]))?;
    among(&String::from_utf8_lossy(&known)).ok_or_else(|| LabError::Missing {
        what: "a Debian archive, but the host's apt has none".to_owned(),
        how: format!("set {VARIABLE} to a URI as in /etc/apt of a Debian system"),
    })
}

/// The Debian archive among apt's URIs, one per line. The archive of security updates is skipped.
fn among(known: &str) -> Option<String> {
    let trimmed = known.lines().map(|line| line.trim().trim_end_matches('/'));
    trimmed.filter(|uri| uri.ends_with("/debian")).find_map(checked)
}

fn checked(uri: &str) -> Option<String> {
    let known = ["http:", "https:", "file:"].iter().any(|scheme| uri.starts_with(scheme));
    let plain = !uri.contains(|c: char| c.is_whitespace() || c.is_control());
    (known && plain).then(|| uri.trim_end_matches('/').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debians_own_archive_is_found_among_others() {
        let known = "http://mirror.example/debian-security/\nhttps://other.example/tool\nhttp://mirror.example/debian/\n";
        assert_eq!(among(known).as_deref(), Some("http://mirror.example/debian"));
        assert_eq!(among("http://mirror.example/ubuntu/\n"), None);
        assert_eq!(among(""), None);
    }

    #[test]
    fn text_that_is_not_a_uri_is_refused() {
        assert_eq!(
            checked("https://mirror.example/debian/").as_deref(),
            Some("https://mirror.example/debian")
        );
        for wrong in ["", "mirror.example", "http://a b", "http://a\ndeb http://b", "ftp://a"] {
            assert_eq!(checked(wrong), None, "{wrong}");
        }
    }
}
