//! Type information of the kernel (BTF): any bytes are read or refused.

use super::tests::kernel;
use super::*;

#[test]
fn any_bytes_are_read_without_panic() {
    airbound_corpus::check!((bool, Vec<u8>), 5000, |(likely, bytes)| {
        let kernel = kernel();
        let mut all = kernel.finish();
        if *likely {
            // Damages valid type information.
            for pair in bytes.chunks_exact(2).take(8) {
                let at = 8 + usize::from(pair[0]) * 2 % (all.len() - 8);
                all[at] = pair[1];
            }
        } else {
            all.truncate(24);
            all.extend_from_slice(bytes);
        }
        if let Some(types) = Types::read(&all, None) {
            let _ = (types.offset("outer", &["named", "x"]), types.constant("THIRD"));
            for function in [0, 8, u32::MAX] {
                let _ = types.argument(function, "outer");
            }
            if let Some(module) = Types::read(bytes, Some(&types)) {
                let _ = module.offset("mine", &["y"]);
            }
        }
    });
}
