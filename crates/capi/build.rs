//! Names the shared library for the dynamic linker: programs ask for the version of its interface, not for a file.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") {
        println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libairbound.so.1");
    }
}
