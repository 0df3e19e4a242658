//! Where Debian's packages come from: the archive that this host's own apt is set up for.

use super::{program, run};
use crate::LabError;

/// Names another archive.
const VARIABLE: &str = "AIRBOUND_DEBIAN_ARCHIVE";

/// The URI of an archive of Debian.
///
/// # Errors
/// Neither the environment nor this host's apt names one, or what the environment names is none.
pub(crate) fn uri() -> Result<String, LabError> {
    if let Some(named) = std::env::var_os(VARIABLE) {
        let named = named.to_string_lossy().into_owned();
        return checked(&named).ok_or_else(|| LabError::Missing {
            what: format!("an archive of Debian, and {VARIABLE} is \"{}\"", named.escape_debug()),
            how: "allowed is a URI that begins with http:, https: or file: and has no blanks".to_owned(),
        });
    }
    let known = run(program("apt-get", "it comes with Debian and Ubuntu")?.args([
        "indextargets",
        "--format",
        "$(REPO_URI)",
    ]))?;
    among(&String::from_utf8_lossy(&known)).ok_or_else(|| LabError::Missing {
        what: "an archive of Debian, and this host's apt knows none".to_owned(),
        how: format!("name one, as the URIs in a Debian's /etc/apt, with {VARIABLE}"),
    })
}

/// The archive among the URIs that apt knows, one in each line. Security updates have one of their own.
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
    fn what_is_no_uri_is_refused() {
        assert_eq!(
            checked("https://mirror.example/debian/").as_deref(),
            Some("https://mirror.example/debian")
        );
        for wrong in ["", "mirror.example", "http://a b", "http://a\ndeb http://b", "ftp://a"] {
            assert_eq!(checked(wrong), None, "{wrong}");
        }
    }
}
