//! Numbers of few bytes: seven bits per byte, the lowest first, the highest bit set in all but the last.

/// Appends a number.
#[inline]
pub(super) fn put(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Small differences of either sign as small numbers: 0, -1, 1, -2, ...
#[inline]
pub(super) const fn fold(difference: i64) -> u64 {
    ((difference << 1) ^ (difference >> 63)) as u64
}

/// The difference behind [`fold`].
#[inline]
pub(super) const fn unfold(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

/// Numbers one after the other.
#[derive(Debug)]
pub(super) struct Numbers<'a> {
    bytes: &'a [u8],
}

impl<'a> Numbers<'a> {
    pub(super) const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The next number; `None` where the bytes end, or hold more than 64 bits.
    #[inline]
    pub(super) fn next(&mut self) -> Option<u64> {
        let (&byte, rest) = self.bytes.split_first()?;
        if byte < 0x80 {
            self.bytes = rest;
            return Some(byte.into());
        }
        self.long()
    }

    fn long(&mut self) -> Option<u64> {
        let mut value = 0;
        for (index, &byte) in self.bytes.iter().enumerate().take(10) {
            let bits = u64::from(byte & 0x7f);
            if index == 9 && bits > 1 {
                return None;
            }
            value |= bits << (7 * index);
            if byte < 0x80 {
                self.bytes = &self.bytes[index + 1..];
                return Some(value);
            }
        }
        None
    }

    /// The next eight numbers where all of them are below 128, as they stand in memory.
    #[inline]
    pub(super) fn eight(&mut self) -> Option<[u8; 8]> {
        let (eight, rest) = self.bytes.split_first_chunk::<8>()?;
        if u64::from_le_bytes(*eight) & 0x8080_8080_8080_8080 != 0 {
            return None;
        }
        self.bytes = rest;
        Some(*eight)
    }

    /// Gives `count` numbers to `each`; `None` where there are fewer.
    #[inline]
    pub(super) fn each(&mut self, mut count: usize, mut each: impl FnMut(u64)) -> Option<()> {
        while count >= 8
            && let Some(eight) = self.eight()
        {
            for byte in eight {
                each(byte.into());
            }
            count -= 8;
        }
        while count > 0 {
            each(self.next()?);
            count -= 1;
            while count >= 8
                && let Some(eight) = self.eight()
            {
                for byte in eight {
                    each(byte.into());
                }
                count -= 8;
            }
        }
        Some(())
    }

    /// The next `count` bytes as they are.
    pub(super) fn bytes(&mut self, count: u64) -> Option<&'a [u8]> {
        let (bytes, rest) = self.bytes.split_at_checked(usize::try_from(count).ok()?)?;
        self.bytes = rest;
        Some(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back_and_longer_ones_are_refused() {
        let values = [0, 1, 127, 128, 300, u64::from(u32::MAX), u64::MAX - 1, u64::MAX];
        let mut bytes = Vec::new();
        for value in values {
            put(&mut bytes, value);
        }
        let mut numbers = Numbers::new(&bytes);
        assert_eq!(values.map(|_| numbers.next().unwrap()), values);
        assert!(numbers.is_empty() && numbers.next().is_none());
        let mut too_long = [0xff; 10];
        too_long[9] = 2;
        assert_eq!(Numbers::new(&too_long).next(), None);
        assert_eq!(Numbers::new(&[0x80]).next(), None);
    }

    #[test]
    fn differences_come_back() {
        for difference in [0, -1, 1, -64, 63, i64::MIN, i64::MAX] {
            assert_eq!(unfold(fold(difference)), difference);
        }
        assert_eq!([0, -1, 1, -2].map(fold), [0, 1, 2, 3]);
    }

    #[test]
    fn many_at_once_are_the_same_as_one_by_one() {
        let values: Vec<u64> = (0..100).map(|at| if at % 23 == 7 { at * 1000 } else { at }).collect();
        let mut bytes = Vec::new();
        for &value in &values {
            put(&mut bytes, value);
        }
        let mut found = Vec::new();
        let mut numbers = Numbers::new(&bytes);
        numbers.each(values.len(), |value| found.push(value)).unwrap();
        assert!(found == values && numbers.is_empty());
        assert!(Numbers::new(&bytes).each(101, |_| {}).is_none());
    }
}
