//! A group cut into equal parts, each of which runs a collective of its own: the rows or columns of a grid of ranks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How members of a collective are cut into groups, each of which runs it on its own: `{ size = 8 }` are members 0 to 7, 8 to 15
/// and so on (tensor parallelism of 8), `{ size = 16, stride = 8 }` members 0, 8, ..., 120, then 1, 9, ..., 121 and so
/// on (16 replicas of those).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Division {
    /// Members of each group.
    pub size: u32,
    /// How far its members are from each other in the list of all.
    #[serde(default = "one")]
    pub stride: u32,
}

fn one() -> u32 {
    1
}

impl Division {
    /// How many groups `members` make.
    ///
    /// # Errors
    /// The key and what is wrong with it, where they do not make whole ones.
    pub fn groups(self, members: u32) -> Result<u32, (&'static str, String)> {
        let Self { size, stride } = self;
        if size == 0 || stride == 0 {
            let key = if size == 0 { "size" } else { "stride" };
            return Err((key, "0 make no group; give at least 1".to_owned()));
        }
        let block = u64::from(size) * u64::from(stride);
        if u64::from(members) % block != 0 {
            let what = match stride {
                1 => format!("{size}"),
                _ => format!("{size} x {stride} = {block}"),
            };
            return Err(("size", format!("{members} members are no multiple of {what}")));
        }
        Ok(members / size)
    }

    /// The group of member `index`, and its place there.
    pub fn place(self, index: u32) -> (u32, u32) {
        let Self { size, stride } = self;
        let (block, within) = (index / (size * stride), index % (size * stride));
        (block * stride + within % stride, within / stride)
    }

    /// The member that has a place of a group; the other way round.
    pub fn member(self, group: u32, place: u32) -> u32 {
        let Self { size, stride } = self;
        group / stride * size * stride + place * stride + group % stride
    }
}

/// The groups of a program into which another one is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Subgroups {
    /// How.
    pub division: Division,
    /// The first of them; the others follow.
    pub first: u32,
    /// How many there are.
    pub count: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_member_is_in_one_place() {
        for (size, stride, members) in
            [(8, 1, 32), (4, 8, 32), (4, 2, 32), (2, 4, 24), (1, 3, 9), (32, 1, 32)]
        {
            let division = Division { size, stride };
            let groups = division.groups(members).unwrap();
            assert_eq!(groups * size, members);
            let mut found: Vec<u32> = Vec::new();
            for group in 0..groups {
                let list: Vec<u32> = (0..size).map(|place| division.member(group, place)).collect();
                assert!(list.windows(2).all(|pair| pair[1] - pair[0] == stride), "{list:?}");
                for (place, &member) in (0..).zip(&list) {
                    assert_eq!(division.place(member), (group, place));
                }
                found.extend(list);
            }
            found.sort_unstable();
            assert!(found.into_iter().eq(0..members));
        }
    }

    #[test]
    fn parts_of_groups_and_empty_ones_are_refused() {
        let wrong = |size, stride| Division { size, stride }.groups(32).unwrap_err();
        assert_eq!(wrong(0, 1).0, "size");
        assert_eq!(wrong(4, 0).0, "stride");
        assert_eq!(wrong(5, 1), ("size", "32 members are no multiple of 5".to_owned()));
        assert_eq!(wrong(4, 3), ("size", "32 members are no multiple of 4 x 3 = 12".to_owned()));
        assert_eq!(wrong(u32::MAX, u32::MAX).0, "size");
    }
}
