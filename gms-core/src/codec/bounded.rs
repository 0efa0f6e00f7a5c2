//! A layer between serde and bincode that takes memory only as bytes arrive.
//!
//! serde reserves up to 1 MiB for each list whose length is announced, however few bytes follow; bincode allocates a
//! string's announced length before it looks for its bytes. Here lists announce no length and grow element by
//! element, strings are borrowed from the input before they are copied, and the memory of all elements together is
//! bounded, since an element of two bytes on the wire may take fifty in memory.

use std::cell::Cell;
use std::fmt;
use std::marker::PhantomData;

use bincode::config::Config;
use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, EnumAccess, Error, SeqAccess, VariantAccess, Visitor,
};

use crate::codec::DecodeError;

/// Decodes a message from the front of `bytes`, with at most `memory` bytes for elements of lists; also says how many
/// bytes it consumed.
pub(super) fn decode<T: DeserializeOwned, C: Config>(
    bytes: &[u8],
    config: C,
    memory: usize,
) -> Result<(T, usize), DecodeError> {
    let budget = Cell::new(Some(memory));
    let seed = Bounded { inner: PhantomData::<T>, budget: &budget, is_list: false };
    bincode::serde::seed_decode_from_slice(seed, bytes, config).map_err(|error| match error {
        _ if budget.get().is_none() => DecodeError::TooMuchMemory,
        bincode::error::DecodeError::UnexpectedEnd { .. } => DecodeError::Truncated,
        bincode::error::DecodeError::LimitExceeded => DecodeError::TooMuchMemory,
        _ => DecodeError::Malformed,
    })
}

/// Any of serde's actors, with the budget that it passes on to those that it creates.
struct Bounded<'b, X> {
    inner: X,
    /// Bytes that elements of lists may still take; `None` once overdrawn.
    budget: &'b Cell<Option<usize>>,
    /// Whether this is the visitor of a list, or its elements: fields of structs lie within what holds the struct.
    is_list: bool,
}

impl<'b, X> Bounded<'b, X> {
    const fn pass<Y>(&self, inner: Y) -> Bounded<'b, Y> {
        Bounded { inner, budget: self.budget, is_list: false }
    }
}

impl<'de, X: DeserializeSeed<'de>> DeserializeSeed<'de> for Bounded<'_, X> {
    type Value = X::Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<X::Value, D::Error> {
        let deserializer = self.pass(deserializer);
        self.inner.deserialize(deserializer)
    }
}

macro_rules! forward_deserializer {
    ($($method:ident => $inner:ident ($($arg:ident: $type:ty),*))*) => {$(
        fn $method<V: Visitor<'de>>(self, $($arg: $type,)* visitor: V) -> Result<V::Value, X::Error> {
            let visitor = self.pass(visitor);
            self.inner.$inner($($arg,)* visitor)
        }
    )*};
}

impl<'de, X: Deserializer<'de>> Deserializer<'de> for Bounded<'_, X> {
    type Error = X::Error;

    forward_deserializer! {
        deserialize_any => deserialize_any()
        deserialize_bool => deserialize_bool()
        deserialize_i8 => deserialize_i8()
        deserialize_i16 => deserialize_i16()
        deserialize_i32 => deserialize_i32()
        deserialize_i64 => deserialize_i64()
        deserialize_u8 => deserialize_u8()
        deserialize_u16 => deserialize_u16()
        deserialize_u32 => deserialize_u32()
        deserialize_u64 => deserialize_u64()
        deserialize_f32 => deserialize_f32()
        deserialize_f64 => deserialize_f64()
        deserialize_char => deserialize_char()
        deserialize_str => deserialize_str()
        deserialize_string => deserialize_str()
        deserialize_bytes => deserialize_bytes()
        deserialize_byte_buf => deserialize_bytes()
        deserialize_option => deserialize_option()
        deserialize_unit => deserialize_unit()
        deserialize_unit_struct => deserialize_unit_struct(name: &'static str)
        deserialize_newtype_struct => deserialize_newtype_struct(name: &'static str)
        deserialize_tuple => deserialize_tuple(len: usize)
        deserialize_tuple_struct => deserialize_tuple_struct(name: &'static str, len: usize)
        deserialize_map => deserialize_map()
        deserialize_struct => deserialize_struct(name: &'static str, fields: &'static [&'static str])
        deserialize_enum => deserialize_enum(name: &'static str, variants: &'static [&'static str])
        deserialize_identifier => deserialize_identifier()
        deserialize_ignored_any => deserialize_ignored_any()
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, X::Error> {
        let visitor = Bounded { inner: visitor, budget: self.budget, is_list: true };
        self.inner.deserialize_seq(visitor)
    }

    fn is_human_readable(&self) -> bool {
        self.inner.is_human_readable()
    }
}

macro_rules! forward_visitor {
    ($($method:ident: $type:ty)*) => {$(
        fn $method<E: Error>(self, value: $type) -> Result<X::Value, E> {
            self.inner.$method(value)
        }
    )*};
}

/// Maps are not forwarded: no message has one.
impl<'de, X: Visitor<'de>> Visitor<'de> for Bounded<'_, X> {
    type Value = X::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.expecting(f)
    }

    forward_visitor! {
        visit_bool: bool
        visit_i8: i8
        visit_i16: i16
        visit_i32: i32
        visit_i64: i64
        visit_u8: u8
        visit_u16: u16
        visit_u32: u32
        visit_u64: u64
        visit_f32: f32
        visit_f64: f64
        visit_char: char
        visit_str: &str
        visit_borrowed_str: &'de str
        visit_bytes: &[u8]
        visit_borrowed_bytes: &'de [u8]
    }

    fn visit_none<E: Error>(self) -> Result<X::Value, E> {
        self.inner.visit_none()
    }

    fn visit_unit<E: Error>(self) -> Result<X::Value, E> {
        self.inner.visit_unit()
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<X::Value, D::Error> {
        let deserializer = self.pass(deserializer);
        self.inner.visit_some(deserializer)
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<X::Value, D::Error> {
        let deserializer = self.pass(deserializer);
        self.inner.visit_newtype_struct(deserializer)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<X::Value, A::Error> {
        let seq = Bounded { inner: seq, budget: self.budget, is_list: self.is_list };
        self.inner.visit_seq(seq)
    }

    fn visit_enum<A: EnumAccess<'de>>(self, data: A) -> Result<X::Value, A::Error> {
        let data = self.pass(data);
        self.inner.visit_enum(data)
    }
}

impl<'de, X: SeqAccess<'de>> SeqAccess<'de> for Bounded<'_, X> {
    type Error = X::Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, X::Error> {
        let seed = self.pass(seed);
        let element = self.inner.next_element_seed(seed)?;
        if self.is_list && element.is_some() {
            let left = self.budget.get().and_then(|budget| budget.checked_sub(size_of::<T::Value>().max(1)));
            self.budget.set(left);
            if left.is_none() {
                return Err(X::Error::custom("too much memory"));
            }
        }
        Ok(element)
    }

    fn size_hint(&self) -> Option<usize> {
        None
    }
}

impl<'de, 'b, X: EnumAccess<'de>> EnumAccess<'de> for Bounded<'b, X> {
    type Error = X::Error;
    type Variant = Bounded<'b, X::Variant>;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self::Variant), X::Error> {
        let (value, variant) = self.inner.variant_seed(seed)?;
        Ok((value, Bounded { inner: variant, budget: self.budget, is_list: false }))
    }
}

impl<'de, X: VariantAccess<'de>> VariantAccess<'de> for Bounded<'_, X> {
    type Error = X::Error;

    fn unit_variant(self) -> Result<(), X::Error> {
        self.inner.unit_variant()
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, X::Error> {
        let seed = self.pass(seed);
        self.inner.newtype_variant_seed(seed)
    }

    fn tuple_variant<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value, X::Error> {
        let visitor = self.pass(visitor);
        self.inner.tuple_variant(len, visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, X::Error> {
        let visitor = self.pass(visitor);
        self.inner.struct_variant(fields, visitor)
    }
}
