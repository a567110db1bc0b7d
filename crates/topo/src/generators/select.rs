//! Which nodes and links a combinator means: by name, by kind, by chance.

use rand::Rng;
use stratasim_core::error::nearest;
use stratasim_core::random::Stream;
use stratasim_core::{BuildError, LinkId, NodeId};

use super::inline_graph::NodeRole;
use super::{Generator, TopologySpec};
use crate::graph::{NodeKind, Topology};

/// Combinators inside one another.
const MOST_NESTED: usize = 64;

/// How many combinators are inside this one.
///
/// # Errors
/// More than [`MOST_NESTED`]: building recurses.
pub(super) fn depth(combinator: &dyn Generator) -> Result<usize, BuildError> {
    let mut depth = 0;
    let mut inner = combinator.of();
    while let Some(spec) = inner {
        depth += 1;
        if depth > MOST_NESTED {
            let what = format!("topologies are nested deeper than {MOST_NESTED}");
            return Err(BuildError::new("of", what));
        }
        inner = spec.plugin().of();
    }
    Ok(depth)
}

/// Whether `name` is what `pattern` describes; `*` stands for any text, `?` for one character.
pub(super) fn matches(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
    let (mut p, mut n) = (0, 0);
    // where to go on when the text after the last star does not fit
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        if p < pattern.len() && pattern[p] == '*' {
            star = Some((p, n));
            p += 1;
        } else if p < pattern.len() && (pattern[p] == '?' || pattern[p] == name[n]) {
            p += 1;
            n += 1;
        } else if let Some((at, tried)) = star {
            star = Some((at, tried + 1));
            p = at + 1;
            n = tried + 1;
        } else {
            return false;
        }
    }
    pattern[p..].iter().all(|&c| c == '*')
}

/// The links whose names match one of `patterns`.
///
/// # Errors
/// A pattern that matches nothing.
pub(super) fn links_by_name(
    topology: &Topology,
    field: &str,
    patterns: &[String],
) -> Result<Vec<bool>, BuildError> {
    let names = || (0..topology.link_count()).map(|link| topology.link_name(LinkId::from_index(link)));
    by_name(field, "link", patterns, names)
}

/// The nodes whose names match one of `patterns`.
///
/// # Errors
/// A pattern that matches nothing.
pub(super) fn nodes_by_name(
    topology: &Topology,
    field: &str,
    patterns: &[String],
) -> Result<Vec<bool>, BuildError> {
    let names = || (0..topology.node_count()).map(|node| topology.node_name(NodeId::from_index(node)));
    by_name(field, "node", patterns, names)
}

fn by_name<N: AsRef<str>, I: Iterator<Item = N>>(
    field: &str,
    what: &str,
    patterns: &[String],
    names: impl Fn() -> I,
) -> Result<Vec<bool>, BuildError> {
    let mut found = vec![false; patterns.len()];
    let chosen = names()
        .map(|name| {
            let mut any = false;
            for (pattern, found) in patterns.iter().zip(&mut found) {
                if matches(pattern, name.as_ref()) {
                    *found = true;
                    any = true;
                }
            }
            any
        })
        .collect();
    let Some(index) = found.iter().position(|found| !found) else { return Ok(chosen) };
    let all: Vec<N> = names().collect();
    let pattern = &patterns[index];
    let hint = match nearest(pattern, all.iter().map(AsRef::as_ref)) {
        Some(near) => format!(", did you mean `{near}`?"),
        None => all.first().map_or_else(String::new, |name| format!("; names are like `{}`", name.as_ref())),
    };
    Err(BuildError::new(format!("{field}.{index}"), format!("no {what} matches `{pattern}`{hint}")))
}

/// Whether a link joins a node of one role with a node of the other, either way round.
pub(super) fn joins(topology: &Topology, link: LinkId, [a, b]: [NodeRole; 2]) -> bool {
    topology.link(link).ends.is_some_and(|ends| {
        let roles = ends.map(|node| role(topology.kind(node)));
        roles == [a, b] || roles == [b, a]
    })
}

/// What a node is, without its type.
pub(super) fn role(kind: NodeKind) -> NodeRole {
    match kind {
        NodeKind::Compute(_) => NodeRole::Compute,
        NodeKind::Memory(_) => NodeRole::Memory,
        NodeKind::Switch => NodeRole::Switch,
    }
}

/// Whole cables: both directions of a full-duplex cable follow its first link.
pub(super) fn cables(topology: &Topology) -> Vec<LinkId> {
    (0..topology.link_count())
        .map(LinkId::from_index)
        .filter(|&link| topology.link(link).reverse.is_none_or(|reverse| link < reverse))
        .collect()
}

/// `fraction` of `items`, rounded to the nearest whole number of them, each set of that size as likely
/// as any other.
///
/// # Errors
/// A fraction outside 0 to 1.
pub(super) fn sample<T: Copy>(
    field: &str,
    items: &[T],
    fraction: f64,
    random: &mut Stream,
) -> Result<Vec<T>, BuildError> {
    if !(0.0..=1.0).contains(&fraction) {
        return Err(BuildError::new(field, format!("a fraction is from 0 to 1, got {fraction}")));
    }
    let count = (items.len() as f64 * fraction).round() as usize;
    let mut items = items.to_vec();
    for place in 0..count {
        let other = place + below(random, (items.len() - place) as u64) as usize;
        items.swap(place, other);
    }
    items.truncate(count);
    Ok(items)
}

/// A whole number below `bound`, all equally likely (Lemire 2019).
fn below(random: &mut Stream, bound: u64) -> u64 {
    let threshold = bound.wrapping_neg() % bound;
    loop {
        let product = u128::from(random.next_u64()) * u128::from(bound);
        if product as u64 >= threshold {
            return (product >> 64) as u64;
        }
    }
}

/// The topology inside, with errors that say so.
pub(super) fn inner(of: &TopologySpec, context: &super::BuildContext) -> Result<Topology, BuildError> {
    super::build(of, context).map_err(|e| e.within("of"))
}

#[cfg(test)]
mod tests {
    use stratasim_core::random::Streams;

    use super::*;

    #[test]
    fn stars_and_question_marks_match_as_in_a_shell() {
        for (pattern, name, expected) in [
            ("cx-*", "cx-17-up", true),
            ("cx-*-down", "cx-17-up", false),
            ("*-up", "cx-17-up", true),
            ("cx-?-up", "cx-7-up", true),
            ("cx-?-up", "cx-17-up", false),
            ("*", "", true),
            ("", "", true),
            ("", "a", false),
            ("a*b*c", "aXbYbZc", true),
            ("a*b*c", "aXbYbZ", false),
            ("*->core*", "tor-0->core#1", true),
        ] {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn a_long_pattern_does_not_take_for_ever() {
        assert!(!matches(&"*a".repeat(200), &"a".repeat(199)));
        assert!(matches(&"*a".repeat(200), &"a".repeat(200)));
    }

    #[test]
    fn samples_have_the_wanted_size_and_no_favourites() {
        let items: Vec<u32> = (0..10).collect();
        let mut chosen = [0; 10];
        for seed in 0..2000 {
            let mut random = Streams::new(seed).stream("test");
            let sample = sample("fraction", &items, 0.3, &mut random).unwrap();
            assert_eq!(sample.len(), 3);
            for item in sample {
                chosen[item as usize] += 1;
            }
        }
        // each is chosen with probability 0.3: 600 times, with a standard deviation of 20
        assert!(chosen.iter().all(|count| (500..700).contains(count)), "{chosen:?}");
        let mut random = Streams::new(1).stream("test");
        assert!(sample("fraction", &items, 1.1, &mut random).is_err());
        assert_eq!(sample("fraction", &items, 1.0, &mut random).unwrap().len(), 10);
    }
}
