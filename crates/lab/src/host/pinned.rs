//! Pinned kernels: the release of a series that is taken, and the hashes of its image and packages (`lab/kernels`).

use std::fs;
use std::path::Path;

use super::arch::Arch;
use super::{program, run};
use crate::LabError;

const KERNELS: &str = include_str!("../../../../lab/kernels");

/// The pinned release of a series.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pin {
    pub(crate) release: String,
    /// SHA-256 of the kernel's image, in hexadecimal digits.
    image: String,
    /// Names of packages with version, and their SHA-256.
    packages: Vec<(String, String)>,
}

impl Pin {
    /// The pin of a series, such as `7.2`, for an architecture; `None` if it has none.
    pub(crate) fn of(series: &str, arch: Arch) -> Option<Self> {
        among(KERNELS, series, arch.debian())
    }

    /// Checks the downloaded packages of a folder.
    ///
    /// # Errors
    /// One of them is not the pinned one.
    pub(crate) fn check_packages(&self, archives: &Path) -> Result<(), LabError> {
        let shown = || archives.display().to_string();
        let entries = fs::read_dir(archives).map_err(LabError::io("list", shown()))?;
        for path in entries.filter_map(|entry| entry.ok().map(|entry| entry.path())) {
            // apt escapes the colon of an epoch only, which kernels have not.
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            let known = self.packages.iter().find(|(package, _)| {
                name.strip_prefix(package.as_str())
                    .is_some_and(|rest| rest.starts_with('_') && rest.ends_with(".deb"))
            });
            if let Some((_, wanted)) = known {
                check(&path, wanted)?;
            }
        }
        Ok(())
    }

    /// Checks the image of the kernel that is to be booted.
    ///
    /// # Errors
    /// It is not the pinned one.
    pub(crate) fn check_image(&self, image: &Path) -> Result<(), LabError> {
        check(image, &self.image)
    }
}

/// Whether a kernel is the one that is named in `lab/kernels`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pinned {
    /// It is, by its hash.
    Exact,
    /// The archive no longer has the pinned release, which is named here.
    Dropped(String),
    /// The series has no pinned release.
    None,
}

impl Pinned {
    /// A remark behind a kernel's release; empty for the pinned kernel.
    #[must_use]
    pub fn remark(&self) -> String {
        match self {
            Self::Exact => String::new(),
            Self::Dropped(wanted) => format!(", not the pinned {wanted}, which the archive no longer has"),
            Self::None => ", of a series without a pinned release".to_owned(),
        }
    }
}

fn check(path: &Path, wanted: &str) -> Result<(), LabError> {
    let output = run(program("sha256sum", "sudo apt-get install coreutils")?.arg("--").arg(path))?;
    let text = String::from_utf8_lossy(&output).into_owned();
    let found = text.trim_start_matches('\\').split_whitespace().next().unwrap_or_default();
    if found == wanted {
        return Ok(());
    }
    let path = path.display();
    Err(LabError::Missing {
        what: "the pinned kernel".to_owned(),
        how: format!(
            "{path} has the SHA-256 {found}, pinned is {wanted}; remove that file, and check the archive"
        ),
    })
}

fn among(text: &str, series: &str, debian: &str) -> Option<Pin> {
    let mut pin: Option<Pin> = None;
    let mut is_own = false;
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let words: Vec<&str> = line.split_whitespace().collect();
        match (words.as_slice(), &mut pin) {
            (["series", name, arch, release, _version], _) => {
                is_own = *name == series && *arch == debian;
                if is_own {
                    let (release, image) = ((*release).to_owned(), String::new());
                    pin = Some(Pin { release, image, packages: Vec::new() });
                }
            }
            (["image", hash], Some(pin)) if is_own => (*hash).clone_into(&mut pin.image),
            (["package", name, hash], Some(pin)) if is_own => {
                pin.packages.push(((*name).to_owned(), (*hash).to_owned()));
            }
            _ => {}
        }
    }
    pin
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_of_pins_is_complete() {
        for (series, arch) in
            [("6.12", Arch::X86_64), ("6.12", Arch::Arm64), ("7.2", Arch::X86_64), ("7.3", Arch::X86_64)]
        {
            let pin = Pin::of(series, arch).unwrap();
            assert!(pin.release.starts_with(&format!("{series}.")), "{pin:?}");
            assert!(pin.release.ends_with(&format!("-{}", arch.debian())), "{pin:?}");
            let is_hash = |text: &str| text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
            assert!(is_hash(&pin.image) && pin.packages.len() >= 4, "{pin:?}");
            for (name, hash) in &pin.packages {
                let (own, _) = pin.release.rsplit_once('-').unwrap();
                assert!(is_hash(hash) && name.contains(own), "{name}");
            }
        }
        assert_eq!((Pin::of("7.4", Arch::X86_64), Pin::of("7.2", Arch::Arm64)), (None, None));
        // Every line is understood.
        let heads = KERNELS.lines().filter_map(|line| line.split_whitespace().next());
        assert!(heads.filter(|head| *head != "#").all(|head| ["series", "image", "package"].contains(&head)));
    }

    #[test]
    fn a_file_with_another_hash_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        let text = format!(
            "series 9.9 mips a b\nimage c\nseries 9.9 arm64 9.9.1+x 1\nimage {empty}\npackage linux-x {empty}\n\
             series 9.8 arm64 a b\nimage c\n"
        );
        let pin = among(&text, "9.9", "arm64").unwrap();
        let (image, package) = (folder.path().join("vmlinuz"), folder.path().join("linux-x_9_all.deb"));
        for path in [&image, &package] {
            fs::write(path, "").unwrap();
        }
        // Another package, which is not pinned.
        fs::write(folder.path().join("linux-xy_9_all.deb"), "2").unwrap();
        pin.check_image(&image).unwrap();
        pin.check_packages(folder.path()).unwrap();
        for path in [&image, &package] {
            fs::write(path, "1").unwrap();
        }
        let wrong = pin.check_image(&image).unwrap_err().to_string();
        assert!(wrong.contains("vmlinuz has the SHA-256 6b86b273") && wrong.contains(empty), "{wrong}");
        assert!(pin.check_packages(folder.path()).is_err());
    }
}
