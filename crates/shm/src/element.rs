//! Elements of vectors, and how two are made one.

use half::{bf16, f16};

/// The type of a vector's elements, in the machine's byte order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
#[allow(missing_docs, reason = "the names say it")]
pub enum ElementType {
    F16 = 1,
    Bf16,
    F32,
    F64,
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
}

/// How contributions are combined. Integers wrap; `Minimum` and `Maximum` give NaN when one of both is NaN.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Reduction {
    Sum = 1,
    Product,
    Minimum,
    Maximum,
}

impl ElementType {
    /// All of them.
    pub const ALL: [Self; 12] = [
        Self::F16,
        Self::Bf16,
        Self::F32,
        Self::F64,
        Self::I8,
        Self::I16,
        Self::I32,
        Self::I64,
        Self::U8,
        Self::U16,
        Self::U32,
        Self::U64,
    ];

    /// Bytes of an element.
    pub const fn bytes(self) -> usize {
        match self {
            Self::I8 | Self::U8 => 1,
            Self::F16 | Self::Bf16 | Self::I16 | Self::U16 => 2,
            Self::F32 | Self::I32 | Self::U32 => 4,
            Self::F64 | Self::I64 | Self::U64 => 8,
        }
    }

    /// The name as NumPy and ml_dtypes write it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::F16 => "float16",
            Self::Bf16 => "bfloat16",
            Self::F32 => "float32",
            Self::F64 => "float64",
            Self::I8 => "int8",
            Self::I16 => "int16",
            Self::I32 => "int32",
            Self::I64 => "int64",
            Self::U8 => "uint8",
            Self::U16 => "uint16",
            Self::U32 => "uint32",
            Self::U64 => "uint64",
        }
    }

    /// The type of this [`Self::name`].
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|element| element.name() == name)
    }
}

impl Reduction {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Sum, Self::Product, Self::Minimum, Self::Maximum];

    /// The name in Python.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sum => "sum",
            Self::Product => "product",
            Self::Minimum => "min",
            Self::Maximum => "max",
        }
    }

    /// The reduction of this [`Self::name`].
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|reduction| reduction.name() == name)
    }

    /// `into[i] = reduce(into[i], from[i])`, element by element; float16 and bfloat16 are computed in float32 and
    /// rounded to nearest.
    ///
    /// # Panics
    /// When the lengths differ or are no whole number of elements.
    pub fn apply(self, element: ElementType, into: &mut [u8], from: &[u8]) {
        assert_eq!(into.len(), from.len(), "vectors of the same length");
        assert!(into.len().is_multiple_of(element.bytes()), "whole elements");
        macro_rules! integer {
            ($type:ty) => {
                match self {
                    Self::Sum => zip::<$type>(into, from, <$type>::wrapping_add),
                    Self::Product => zip::<$type>(into, from, <$type>::wrapping_mul),
                    Self::Minimum => zip::<$type>(into, from, <$type>::min),
                    Self::Maximum => zip::<$type>(into, from, <$type>::max),
                }
            };
        }
        macro_rules! float {
            ($type:ty, $wide:ty, $widen:expr, $narrow:expr) => {{
                let (widen, narrow) = ($widen, $narrow);
                match self {
                    Self::Sum => zip::<$type>(into, from, |a, b| narrow(widen(a) + widen(b))),
                    Self::Product => zip::<$type>(into, from, |a, b| narrow(widen(a) * widen(b))),
                    Self::Minimum => {
                        zip::<$type>(into, from, |a, b| pick(a, b, <$wide>::lt(&widen(b), &widen(a))))
                    }
                    Self::Maximum => {
                        zip::<$type>(into, from, |a, b| pick(a, b, <$wide>::gt(&widen(b), &widen(a))))
                    }
                }
            }};
        }
        match element {
            ElementType::F16 => float!(f16, f32, f16::to_f32, f16::from_f32),
            ElementType::Bf16 => float!(bf16, f32, bf16::to_f32, bf16::from_f32),
            ElementType::F32 => float!(f32, f32, |value: f32| value, |value: f32| value),
            ElementType::F64 => float!(f64, f64, |value: f64| value, |value: f64| value),
            ElementType::I8 => integer!(i8),
            ElementType::I16 => integer!(i16),
            ElementType::I32 => integer!(i32),
            ElementType::I64 => integer!(i64),
            ElementType::U8 => integer!(u8),
            ElementType::U16 => integer!(u16),
            ElementType::U32 => integer!(u32),
            ElementType::U64 => integer!(u64),
        }
    }
}

/// `b` when it is on the wanted side of `a`, or is not a number; `a` otherwise.
#[expect(clippy::eq_op, reason = "only what is not a number differs from itself")]
fn pick<T: Copy + PartialEq>(a: T, b: T, wanted: bool) -> T {
    if wanted || b != b { b } else { a }
}

/// Elements from and to bytes of any alignment.
trait Plain: Sized {
    fn read(bytes: &[u8]) -> Self;
    fn write(self, bytes: &mut [u8]);
}

macro_rules! plain {
    ($($type:ty),*) => {$(
        impl Plain for $type {
            #[inline(always)]
            fn read(bytes: &[u8]) -> Self {
                Self::from_ne_bytes(bytes.try_into().expect("a whole element"))
            }
            #[inline(always)]
            fn write(self, bytes: &mut [u8]) {
                bytes.copy_from_slice(&self.to_ne_bytes());
            }
        }
    )*};
}

plain!(f16, bf16, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64);

#[inline(always)]
fn zip<T: Plain>(into: &mut [u8], from: &[u8], combine: impl Fn(T, T) -> T) {
    let size = size_of::<T>();
    for (into, from) in into.chunks_exact_mut(size).zip(from.chunks_exact(size)) {
        combine(T::read(into), T::read(from)).write(into);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reduced<T: Plain + Copy, const SIZE: usize>(
        reduction: Reduction,
        element: ElementType,
        a: T,
        b: T,
    ) -> T {
        let (mut into, mut from) = ([0; SIZE], [0; SIZE]);
        a.write(&mut into);
        b.write(&mut from);
        reduction.apply(element, &mut into, &from);
        T::read(&into)
    }

    #[test]
    fn halves_are_rounded_to_nearest_even() {
        let f = |a: f32, b: f32| {
            reduced::<f16, 2>(Reduction::Sum, ElementType::F16, f16::from_f32(a), f16::from_f32(b)).to_f32()
        };
        // above 2048 a half counts in twos: 2049 lies between 2048 and 2052 / 2, to the even one
        assert_eq!((f(2048.0, 1.0), f(2050.0, 1.0)), (2048.0, 2052.0));
        assert_eq!(f(65504.0, 65504.0), f32::INFINITY);
        let b = |a: f32, b: f32| {
            reduced::<bf16, 2>(Reduction::Sum, ElementType::Bf16, bf16::from_f32(a), bf16::from_f32(b))
                .to_f32()
        };
        assert_eq!((b(256.0, 1.0), b(258.0, 1.0)), (256.0, 260.0));
    }

    #[test]
    fn integers_wrap_and_what_is_no_number_stays() {
        assert_eq!(reduced::<i8, 1>(Reduction::Sum, ElementType::I8, 127, 1), -128);
        assert_eq!(reduced::<u16, 2>(Reduction::Product, ElementType::U16, 256, 257), 256);
        for reduction in [Reduction::Minimum, Reduction::Maximum] {
            for (a, b) in [(f64::NAN, 1.0), (1.0, f64::NAN)] {
                assert!(reduced::<f64, 8>(reduction, ElementType::F64, a, b).is_nan());
            }
        }
        assert_eq!(reduced::<f32, 4>(Reduction::Minimum, ElementType::F32, 2.0, -3.0), -3.0);
        assert_eq!(reduced::<i64, 8>(Reduction::Maximum, ElementType::I64, 2, -3), 2);
    }

    #[test]
    fn names_come_back() {
        assert!(ElementType::ALL.iter().all(|&element| ElementType::named(element.name()) == Some(element)));
        assert!(
            Reduction::ALL.iter().all(|&reduction| Reduction::named(reduction.name()) == Some(reduction))
        );
        assert_eq!(ElementType::named("float8"), None);
    }
}
