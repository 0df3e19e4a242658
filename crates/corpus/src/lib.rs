//! Fuzz targets with a corpus: inputs that a fuzzer found, which the ordinary tests replay.
//!
//! The corpus of a test is the file `tests/corpus/PATH/OF/TEST.txt` of its crate: an input a line, in hexadecimal digits, and comments
//! after `#`. `scripts/fuzz.py` unpacks it for libFuzzer, and packs the smallest set of inputs that covers as much.

use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind};

#[doc(hidden)]
pub use bolero;
use bolero::generator::TypeGenerator;
use bolero::generator::bolero_generator::driver::{ByteSliceDriver, Options};

/// A fuzz target: the type of its inputs, how many are drawn (without a number, as many as a second allows), and the test of one.
/// The corpus is replayed first. `[u8]` stands for the bytes as they are.
///
/// ```no_run
/// airbound_corpus::check!(Vec<u8>, 2000, |bytes| {
///     let _ = std::str::from_utf8(bytes);
/// });
/// ```
#[macro_export]
macro_rules! check {
    ([u8], $draws:expr, $test:expr) => {{
        $crate::replay($crate::corpus_file!(), Some, |bytes: &Vec<u8>| $test(bytes));
        $crate::bolero::check!().with_iterations($draws).for_each($test);
    }};
    ($input:ty, $draws:expr, $test:expr) => {{
        let test = $crate::replayed!($input, $test);
        $crate::bolero::check!().with_type::<$input>().with_iterations($draws).for_each(test);
    }};
    ($input:ty, $test:expr) => {{
        let test = $crate::replayed!($input, $test);
        $crate::bolero::check!().with_type::<$input>().for_each(test);
    }};
}

/// Replays the corpus on a test, and returns the test.
#[doc(hidden)]
#[macro_export]
macro_rules! replayed {
    ($input:ty, $test:expr) => {{
        let test = $crate::test_of::<$input, _>($test);
        $crate::replay($crate::corpus_file!(), $crate::value::<$input>, &test);
        test
    }};
}

/// The corpus of the test in which this stands.
#[doc(hidden)]
#[macro_export]
macro_rules! corpus_file {
    () => {{
        fn here() {}
        $crate::file_of(env!("CARGO_MANIFEST_DIR"), ::std::any::type_name_of_val(&here))
    }};
}

/// The corpus of a test of the crate in `folder`. The path of an item within the test begins with the program.
#[doc(hidden)]
pub fn file_of(folder: &str, item: &str) -> String {
    let parts: Vec<&str> = item.split("::").collect();
    format!("{folder}/tests/corpus/{}.txt", parts[1..parts.len() - 1].join("/"))
}

/// Says what type a closure takes.
#[doc(hidden)]
pub fn test_of<T, F: Fn(&T)>(test: F) -> F {
    test
}

/// The value that bolero makes of a fuzzer's bytes.
#[doc(hidden)]
pub fn value<T: TypeGenerator>(bytes: Vec<u8>) -> Option<T> {
    T::generate(&mut ByteSliceDriver::new(&bytes, &Options::default()))
}

/// Passes each input of a corpus to a test.
///
/// # Panics
/// If the test does, with the input and its line; if the file is missing or is no corpus.
#[doc(hidden)]
pub fn replay<T: Debug>(file: String, read: impl Fn(Vec<u8>) -> Option<T>, test: impl Fn(&T)) {
    // A fuzzer has the inputs in a folder.
    if cfg!(fuzzing) {
        return;
    }
    let text = std::fs::read_to_string(&file).unwrap_or_else(|error| {
        panic!("{file}: {error}; `make fuzz-merge` with its TARGET and PACKAGE writes it")
    });
    for (number, line) in (1..).zip(text.lines()) {
        let digits = line.split('#').next().unwrap_or_default().trim();
        if digits.is_empty() {
            continue;
        }
        let bytes =
            bytes(digits).unwrap_or_else(|| panic!("{file}:{number}: not pairs of hexadecimal digits"));
        if let Some(input) = read(bytes)
            && catch_unwind(AssertUnwindSafe(|| test(&input))).is_err()
        {
            panic!("{file}:{number}: the test fails with {input:?}");
        }
    }
}

fn bytes(digits: &str) -> Option<Vec<u8>> {
    let value = |digit: u8| char::from(digit).to_digit(16);
    let pair = |pair: &[u8]| Some((value(pair[0])? * 16 + value(*pair.get(1)?)?) as u8);
    digits.as_bytes().chunks(2).map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_bytes() {
        assert_eq!(bytes("00fF1a"), Some(vec![0, 255, 26]));
        assert_eq!((bytes("0"), bytes("0g"), bytes("é")), (None, None, None));
    }

    #[test]
    fn each_input_is_replayed_and_a_failure_names_its_line() {
        let file = crate::corpus_file!();
        assert!(
            file.ends_with("/tests/corpus/tests/each_input_is_replayed_and_a_failure_names_its_line.txt"),
            "{file}"
        );
        let inputs = std::cell::RefCell::new(Vec::new());
        replay(file.clone(), value::<(u8, Vec<u8>)>, |input| inputs.borrow_mut().push(input.clone()));
        assert_eq!(inputs.borrow().iter().map(|(first, _)| *first).collect::<Vec<_>>(), [7, 9]);
        let failure = catch_unwind(|| replay(file, Some, |bytes| assert!(bytes[0] != 9))).expect_err("fails");
        let words = failure.downcast_ref::<String>().expect("a text");
        assert!(words.ends_with(".txt:3: the test fails with [9, 1]"), "{words}");
    }
}
