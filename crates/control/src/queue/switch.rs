//! An optional part of a configuration: `false`, `true` for its defaults, or a table of its keys.
//!
//! TOML has no null, so an `Option` that is `Some` by default could neither be cleared nor written.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde::ser::{Serialize, Serializer};

pub(super) fn serialize<T: Serialize, S: Serializer>(
    part: &Option<T>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match part {
        Some(part) => part.serialize(serializer),
        None => serializer.serialize_bool(false),
    }
}

pub(super) fn deserialize<'de, T: Deserialize<'de> + Default, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    struct Switch<T>(PhantomData<T>);

    impl<'de, T: Deserialize<'de> + Default> Visitor<'de> for Switch<T> {
        type Value = Option<T>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("true, false or a table")
        }

        fn visit_bool<E>(self, on: bool) -> Result<Self::Value, E> {
            Ok(on.then(T::default))
        }

        fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
            T::deserialize(MapAccessDeserializer::new(map)).map(Some)
        }
    }

    deserializer.deserialize_any(Switch(PhantomData))
}
