//! Messages made of chance: a serde deserializer that answers every request from a seeded generator, so that each
//! kind and each field of the catalogue is covered without a line per kind.

use serde::de::value::U32Deserializer;
use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, EnumAccess, IntoDeserializer, SeqAccess, VariantAccess,
    Visitor,
};

type Failure = serde::de::value::Error;

/// A message drawn from `seed`.
pub(crate) fn message_of_seed<T: DeserializeOwned>(seed: u64) -> T {
    T::deserialize(&mut Chance::new(seed, None)).expect("every drawn value is a valid one")
}

/// A message whose outermost variant is `kind`, drawn from `seed`.
pub(crate) fn message_of_kind<T: DeserializeOwned>(kind: u8, seed: u64) -> T {
    T::deserialize(&mut Chance::new(seed, Some(u32::from(kind)))).expect("every drawn value is a valid one")
}

/// How many variants the enum `T` has.
pub(crate) fn variants_of<T: DeserializeOwned>() -> usize {
    let mut chance = Chance::new(0, Some(0));
    let _ = T::deserialize(&mut chance);
    chance.outermost_variants
}

struct Chance {
    random: Random,
    next_variant: Option<u32>,
    outermost_variants: usize,
}

impl Chance {
    fn new(seed: u64, next_variant: Option<u32>) -> Self {
        Self { random: Random(seed), next_variant, outermost_variants: 0 }
    }

    /// A number of random length, so that each form of the wire occurs.
    fn number(&mut self) -> u64 {
        self.random.next() >> self.random.below(64)
    }

    fn word(&mut self) -> String {
        (0..self.random.below(9)).map(|_| char::from(b'a' + self.random.below(26) as u8)).collect()
    }
}

/// SplitMix64 (Steele, Lea and Flood, 2014): the golden bytes must not change with a dependency.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }
}

macro_rules! draw {
    ($($method:ident => $visit:ident $draw:expr;)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
            let draw: fn(&mut Chance) -> _ = $draw;
            visitor.$visit(draw(self))
        }
    )*};
}

impl<'de> Deserializer<'de> for &mut Chance {
    type Error = Failure;

    draw! {
        deserialize_bool => visit_bool |c| c.random.below(2) == 1;
        deserialize_u8 => visit_u8 |c| c.random.below(101) as u8;
        deserialize_u16 => visit_u16 |c| c.number() as u16;
        deserialize_u32 => visit_u32 |c| c.number() as u32;
        deserialize_u64 => visit_u64 |c| c.number();
        deserialize_str => visit_string |c| c.word();
        deserialize_string => visit_string |c| c.word();
    }

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Failure> {
        unreachable!("the wire format does not describe itself")
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        if self.random.below(2) == 1 { visitor.visit_some(self) } else { visitor.visit_none() }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Failure> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        let left = self.random.below(4) as usize;
        visitor.visit_seq(Elements { chance: self, left })
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, left: usize, visitor: V) -> Result<V::Value, Failure> {
        visitor.visit_seq(Elements { chance: self, left })
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        left: usize,
        visitor: V,
    ) -> Result<V::Value, Failure> {
        visitor.visit_seq(Elements { chance: self, left })
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Failure> {
        if name == "Duration" {
            let parts = [self.number() as u32, self.random.below(1_000_000_000) as u32];
            return visitor.visit_seq(serde::de::value::SeqDeserializer::new(parts.into_iter()));
        }
        visitor.visit_seq(Elements { chance: self, left: fields.len() })
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Failure> {
        if self.outermost_variants == 0 {
            self.outermost_variants = variants.len();
        }
        let count = u32::try_from(variants.len()).expect("few variants");
        let variant = self.next_variant.take().unwrap_or_else(|| self.random.below(u64::from(count)) as u32);
        visitor.visit_enum(Variant { chance: self, variant })
    }

    fn is_human_readable(&self) -> bool {
        false
    }

    serde::forward_to_deserialize_any! {
        i8 i16 i32 i64 f32 f64 char bytes byte_buf unit unit_struct map identifier ignored_any
    }
}

struct Elements<'c> {
    chance: &'c mut Chance,
    left: usize,
}

impl<'de> SeqAccess<'de> for Elements<'_> {
    type Error = Failure;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Failure> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        seed.deserialize(&mut *self.chance).map(Some)
    }
}

struct Variant<'c> {
    chance: &'c mut Chance,
    variant: u32,
}

impl<'de> EnumAccess<'de> for Variant<'_> {
    type Error = Failure;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self), Failure> {
        let index: U32Deserializer<Failure> = self.variant.into_deserializer();
        Ok((seed.deserialize(index)?, self))
    }
}

impl<'de> VariantAccess<'de> for Variant<'_> {
    type Error = Failure;

    fn unit_variant(self) -> Result<(), Failure> {
        Ok(())
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Failure> {
        seed.deserialize(self.chance)
    }

    fn tuple_variant<V: Visitor<'de>>(self, left: usize, visitor: V) -> Result<V::Value, Failure> {
        visitor.visit_seq(Elements { chance: self.chance, left })
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Failure> {
        visitor.visit_seq(Elements { chance: self.chance, left: fields.len() })
    }
}
