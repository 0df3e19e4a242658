//! Dependencies of kernel modules, read from the modules themselves, since the packages have no list.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::{program, read, run};
use crate::LabError;

/// A decompressed module.
#[derive(Debug, Clone)]
pub(crate) struct Module {
    pub(crate) name: String,
    pub(crate) content: Vec<u8>,
}

/// The modules of a kernel.
#[derive(Debug)]
pub(crate) struct Modules {
    paths: BTreeMap<String, PathBuf>,
    built_in: String,
}

impl Modules {
    /// All modules in a folder of a kernel.
    pub(crate) fn find(folder: &Path) -> Result<Self, LabError> {
        let mut paths = BTreeMap::new();
        let mut folders = vec![folder.join("kernel")];
        while let Some(folder) = folders.pop() {
            let entries =
                fs::read_dir(&folder).map_err(LabError::io("list", folder.display().to_string()))?;
            for path in entries.filter_map(|entry| entry.ok().map(|entry| entry.path())) {
                if path.is_dir() {
                    folders.push(path);
                } else if let Some(name) = path.file_name().and_then(|name| name.to_str())
                    && let Some((name, _)) = name.split_once(".ko")
                {
                    paths.insert(name.replace('-', "_"), path);
                }
            }
        }
        let built_in = String::from_utf8_lossy(&read(&folder.join("modules.builtin"))?).replace('-', "_");
        Ok(Self { paths, built_in })
    }

    /// Whether the kernel has a module as a file.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.paths.contains_key(&name.replace('-', "_"))
    }

    /// Appends a module after its dependencies to the load order.
    pub(crate) fn need(&self, name: &str, order: &mut Vec<Module>) -> Result<(), LabError> {
        let name = name.replace('-', "_");
        if order.iter().any(|module| module.name == name) || self.built_in.contains(&format!("/{name}.ko")) {
            return Ok(());
        }
        let path = self.paths.get(&name).ok_or_else(|| LabError::Missing {
            what: format!("the kernel module {name}"),
            how: "not in the kernel's package".to_owned(),
        })?;
        let content = match path.extension().and_then(|ending| ending.to_str()) {
            Some("xz") => run(program("xz", "sudo apt-get install xz-utils")?.arg("-dc").arg(path))?,
            Some("zst") => run(program("zstd", "sudo apt-get install zstd")?.arg("-dc").arg(path))?,
            _ => read(path)?,
        };
        for needed in needs(&content) {
            self.need(&needed, order)?;
        }
        order.push(Module { name, content });
        Ok(())
    }
}

/// The names in `depends=` of a module's information.
fn needs(content: &[u8]) -> Vec<String> {
    let key = b"\0depends=";
    let Some(at) = content.windows(key.len()).position(|window| window == key) else { return Vec::new() };
    let rest = &content[at + key.len()..];
    let end = rest.iter().position(|byte| *byte == 0).unwrap_or(0);
    let text = String::from_utf8_lossy(&rest[..end]).into_owned();
    text.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn needs_are_read_from_the_module() {
        assert_eq!(
            needs(b"xx\0license=GPL\0depends=cfg80211,libarc4\0retpoline=Y\0"),
            ["cfg80211", "libarc4"]
        );
        assert!(needs(b"\0depends=\0").is_empty());
        assert!(needs(b"nothing").is_empty());
    }
}
