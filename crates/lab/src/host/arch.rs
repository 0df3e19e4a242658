//! Processor architectures of the machine: names of Debian, QEMU and the C library, and what of QEMU's arguments depends on them.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use object::elf::{EM_AARCH64, EM_X86_64};

use super::brought::elf;
use super::program;
use crate::LabError;

/// A processor architecture of the machine. The host's is x86_64.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Arch {
    /// x86-64: that of the host, and of the documents' figures.
    #[default]
    X86_64,
    /// 64-bit ARM, as in most access points.
    Arm64,
}

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::X86_64 => "x86_64",
            Self::Arm64 => "arm64",
        })
    }
}

impl FromStr for Arch {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = [Self::X86_64, Self::Arm64];
        let found = known.into_iter().find(|arch| arch.to_string() == text);
        found.ok_or_else(|| "the machine's architecture is x86_64 or arm64".to_owned())
    }
}

impl Arch {
    /// Debian's name.
    pub(crate) const fn debian(self) -> &'static str {
        match self {
            Self::X86_64 => "amd64",
            Self::Arm64 => "arm64",
        }
    }

    /// The architectures that apt fetches for: the machine's, and the host's, whose tools build the driver.
    pub(crate) const fn fetched(self) -> &'static [&'static str] {
        match self {
            Self::X86_64 => &["amd64"],
            Self::Arm64 => &["arm64", "amd64"],
        }
    }

    /// The folder of its libraries below `lib` and `usr/lib`.
    pub(crate) const fn triplet(self) -> &'static str {
        match self {
            Self::X86_64 => "x86_64-linux-gnu",
            Self::Arm64 => "aarch64-linux-gnu",
        }
    }

    /// The path of the C library's loader, and its name among the libraries.
    pub(crate) const fn loader(self) -> (&'static str, &'static str) {
        match self {
            Self::X86_64 => ("lib64/ld-linux-x86-64.so.2", "ld-linux-x86-64.so.2"),
            Self::Arm64 => ("lib/ld-linux-aarch64.so.1", "ld-linux-aarch64.so.1"),
        }
    }

    /// Its number in ELF files.
    pub(crate) const fn elf(self) -> u16 {
        match self {
            Self::X86_64 => EM_X86_64,
            Self::Arm64 => EM_AARCH64,
        }
    }

    /// QEMU's program, and the Debian package that has it.
    pub(crate) const fn qemu(self) -> (&'static str, &'static str) {
        match self {
            Self::X86_64 => ("qemu-system-x86_64", "qemu-system-x86"),
            Self::Arm64 => ("qemu-system-aarch64", "qemu-system-arm"),
        }
    }

    /// The prefix of the names of compiler and `strip` that build modules on the host.
    pub(crate) const fn prefix(self) -> &'static str {
        match self {
            Self::X86_64 => "",
            Self::Arm64 => "aarch64-linux-gnu-",
        }
    }

    /// The kernel's name of the serial line.
    pub(crate) const fn console(self) -> &'static str {
        match self {
            Self::X86_64 => "ttyS0",
            Self::Arm64 => "ttyAMA0",
        }
    }

    /// The device in the machine by which the record leaves.
    pub(crate) const fn record_device(self) -> &'static str {
        match self {
            Self::X86_64 => "/dev/pmem0",
            Self::Arm64 => "/dev/vda",
        }
    }

    /// The modules of that device. They are loaded at the end of a run.
    pub(crate) const fn record_modules(self) -> &'static [&'static str] {
        match self {
            Self::X86_64 => &["nfit", "nd_pmem"],
            Self::Arm64 => &["virtio_mmio", "virtio_blk"],
        }
    }

    /// Machine and processor, in QEMU's arguments. Neither gives the guest a random seed or random numbers, so that runs repeat: machine
    /// types of x86 do after QEMU 7.1, `virt` does in its device tree, `max` of both architectures has instructions for them.
    pub(crate) const fn machine(self) -> [&'static str; 4] {
        match self {
            Self::X86_64 => ["-machine", "pc-q35-7.1,nvdimm=on", "-cpu", "max,-rdrand,-rdseed"],
            Self::Arm64 => ["-machine", "virt-7.1,dtb-randomness=off,gic-version=3", "-cpu", "cortex-a72"],
        }
    }

    /// The record's image of `size` bytes as a device, in QEMU's arguments.
    ///
    /// On x86 it is memory and not a disk, whose responses depend on the host's time, so that runs would not repeat. `virt` has no such
    /// memory without firmware: it has a disk, whose driver is loaded once all else has been recorded.
    pub(crate) fn record(self, image: &Path, size: u64) -> Vec<String> {
        // A comma in a path would begin the next option.
        let path = image.display().to_string().replace(',', ",,");
        let words = match self {
            Self::X86_64 => [
                "-object".to_owned(),
                format!("memory-backend-file,id=record,share=on,size={size},mem-path={path}"),
                "-device".to_owned(),
                "nvdimm,memdev=record".to_owned(),
            ],
            Self::Arm64 => [
                "-drive".to_owned(),
                format!("if=none,id=record,format=raw,cache=unsafe,file={path}"),
                "-device".to_owned(),
                "virtio-blk-device,drive=record".to_owned(),
            ],
        };
        words.into()
    }

    /// The memory of the machine in QEMU's arguments, MB; on x86 with room for that of the record.
    pub(crate) fn memory(self, mb: u64) -> String {
        match self {
            Self::X86_64 => format!("{mb}M,slots=1,maxmem={}M", mb + 2048),
            Self::Arm64 => format!("{mb}M"),
        }
    }

    /// The program `airbound` for the machine: on x86_64 `own`; on arm64 a static one, `airbound-aarch64` beside it, in the folder
    /// `static` of the same target folder, or on `PATH`.
    pub(crate) fn program(self, own: &Path) -> Result<PathBuf, LabError> {
        if self == Self::X86_64 {
            return Ok(own.to_owned());
        }
        let name = "airbound-aarch64";
        let how = "`make static PROCESSORS=aarch64` in the repository makes it; it may lie on PATH, or beside airbound";
        let folder = own.parent().unwrap_or(own);
        let built = folder.parent().unwrap_or(folder).join("static");
        let near = [folder, &built].map(|folder| folder.join(name)).into_iter().find(|path| path.is_file());
        let found = match near {
            Some(path) => path,
            None => PathBuf::from(program(name, how)?.get_program()),
        };
        match elf::read(&found, self.elf())? {
            Some(facts) if !facts.is_foreign && facts.loader.is_none() => Ok(found),
            _ => Err(LabError::Missing {
                what: format!("{name}, a statically linked program"),
                how: format!("{} is none; {how}", found.display()),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_architecture_is_one_of_two() {
        for arch in [Arch::X86_64, Arch::Arm64] {
            assert_eq!(arch.to_string().parse(), Ok(arch));
        }
        for text in ["", "mips", "aarch64", "amd64", "ARM64"] {
            assert!(text.parse::<Arch>().is_err_and(|why| why.contains("x86_64 or arm64")), "{text}");
        }
    }

    #[test]
    fn a_machine_has_no_random_numbers_and_a_device_for_the_record() {
        assert!(Arch::Arm64.machine().contains(&"cortex-a72"));
        assert!(Arch::Arm64.machine()[1].contains("dtb-randomness=off"));
        assert!(Arch::X86_64.machine()[3].contains("-rdrand,-rdseed"));
        let path = Path::new("/tmp/a,b/record.img");
        let x86 = Arch::X86_64.record(path, 4096);
        assert_eq!(x86[1], "memory-backend-file,id=record,share=on,size=4096,mem-path=/tmp/a,,b/record.img");
        let arm = Arch::Arm64.record(path, 4096);
        assert!(arm[1].ends_with(",file=/tmp/a,,b/record.img") && arm[3].starts_with("virtio-blk-device"));
        assert_eq!(Arch::X86_64.memory(2048), "2048M,slots=1,maxmem=4096M");
        assert_eq!(Arch::Arm64.memory(2048), "2048M");
    }

    #[test]
    fn the_program_of_another_architecture_is_looked_for() {
        let folder = tempfile::tempdir().unwrap();
        let own = folder.path().join("release/airbound");
        assert_eq!(Arch::X86_64.program(&own).unwrap(), own);
        let missing = Arch::Arm64.program(&own).unwrap_err().to_string();
        assert!(missing.contains("needs airbound-aarch64: `make static PROCESSORS=aarch64`"), "{missing}");
        let path = folder.path().join("static/airbound-aarch64");
        // This very program is for the host, and not static.
        super::super::write(&path, std::fs::read("/proc/self/exe").unwrap()).unwrap();
        let wrong = Arch::Arm64.program(&own).unwrap_err().to_string();
        assert!(wrong.contains("static/airbound-aarch64 is none"), "{wrong}");
        // The head of an ELF file of 64 bits, little endian, without program headers.
        let mut head = b"\x7fELF\x02\x01\x01".to_vec();
        head.resize(64, 0);
        head[16] = 2;
        head[18] = 183;
        std::fs::write(&path, head).unwrap();
        assert_eq!(Arch::Arm64.program(&own).unwrap(), path);
    }
}
