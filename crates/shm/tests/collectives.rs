//! Every collective by every algorithm, between real processes, against a literal computation bit by bit.
#![allow(clippy::disallowed_methods, unsafe_code, missing_docs, reason = "real processes, real memory")]

mod support;

use half::{bf16, f16};
use stratasim_shm::{Algorithm, Block, ElementType, Group, NormGatherMultiply, Reduction, part};
use support::{Role, run};

/// Element `index` of what `rank` contributes: small, of both signs, with bits that rounding loses.
fn element(kind: ElementType, rank: u32, index: usize) -> Vec<u8> {
    let mixed = (u64::from(rank) + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15)
        ^ (index as u64).wrapping_mul(0xD6E8_FEB8_6659_FD93);
    let number = (mixed >> 40) as i64 % 2001 - 1000;
    let float = number as f64 / 7.0 * f64::from(2_i32.pow((mixed >> 20) as u32 % 8));
    match kind {
        ElementType::F16 => f16::from_f64(float / 16.0).to_ne_bytes().to_vec(),
        ElementType::Bf16 => bf16::from_f64(float).to_ne_bytes().to_vec(),
        ElementType::F32 => (float as f32).to_ne_bytes().to_vec(),
        ElementType::F64 => float.to_ne_bytes().to_vec(),
        other => number.to_ne_bytes()[..other.bytes()].to_vec(),
    }
}

fn vector(kind: ElementType, rank: u32, count: usize) -> Vec<u8> {
    (0..count).flat_map(|index| element(kind, rank, index)).collect()
}

/// `a` and `b` combined, written without the code under test.
fn combine(kind: ElementType, reduction: Reduction, a: &[u8], b: &[u8]) -> Vec<u8> {
    macro_rules! whole {
        ($type:ty) => {{
            let (a, b) = (
                <$type>::from_ne_bytes(a.try_into().unwrap()),
                <$type>::from_ne_bytes(b.try_into().unwrap()),
            );
            let done = match reduction {
                Reduction::Sum => a.wrapping_add(b),
                Reduction::Product => a.wrapping_mul(b),
                Reduction::Minimum => a.min(b),
                Reduction::Maximum => a.max(b),
            };
            done.to_ne_bytes().to_vec()
        }};
    }
    macro_rules! float {
        ($type:ty, $wide:ty) => {{
            let read = |bytes: &[u8]| <$wide>::from(<$type>::from_ne_bytes(bytes.try_into().unwrap()));
            let (a, b) = (read(a), read(b));
            let done = match reduction {
                Reduction::Sum => a + b,
                Reduction::Product => a * b,
                Reduction::Minimum => a.min(b),
                Reduction::Maximum => a.max(b),
            };
            done
        }};
    }
    match kind {
        ElementType::F16 => f16::from_f32(float!(f16, f32)).to_ne_bytes().to_vec(),
        ElementType::Bf16 => bf16::from_f32(float!(bf16, f32)).to_ne_bytes().to_vec(),
        ElementType::F32 => float!(f32, f32).to_ne_bytes().to_vec(),
        ElementType::F64 => float!(f64, f64).to_ne_bytes().to_vec(),
        ElementType::I8 => whole!(i8),
        ElementType::I16 => whole!(i16),
        ElementType::I32 => whole!(i32),
        ElementType::I64 => whole!(i64),
        ElementType::U8 => whole!(u8),
        ElementType::U16 => whole!(u16),
        ElementType::U32 => whole!(u32),
        ElementType::U64 => whole!(u64),
    }
}

/// Part by part, from the rank behind its owner round to the owner.
fn combined(kind: ElementType, reduction: Reduction, ranks: u32, count: usize) -> Vec<u8> {
    let mut all = Vec::new();
    for owner in 0..ranks {
        for index in part(count, ranks, owner) {
            let mut sum = element(kind, (owner + 1) % ranks, index);
            for steps in 2..=ranks {
                sum = combine(kind, reduction, &sum, &element(kind, (owner + steps) % ranks, index));
            }
            all.extend(sum);
        }
    }
    all
}

/// Memory of the process, or of its Local segment.
enum Memory {
    Private(Vec<u8>),
    Shared(Block),
}

impl Memory {
    fn new(group: &Group, shared: bool, bytes: usize) -> Self {
        if shared {
            Self::Shared(group.allocate(bytes).expect("room"))
        } else {
            Self::Private(vec![0xAA; bytes])
        }
    }

    fn slice(&mut self) -> &mut [u8] {
        match self {
            Self::Private(bytes) => bytes,
            // SAFETY: ours as long as we are in no collective
            Self::Shared(block) => unsafe { std::slice::from_raw_parts_mut(block.pointer(), block.len()) },
        }
    }

    fn filled(group: &Group, shared: bool, bytes: &[u8]) -> Self {
        let mut memory = Self::new(group, shared, bytes.len());
        memory.slice().copy_from_slice(bytes);
        memory
    }
}

fn check(group: &mut Group, kind: ElementType, reduction: Reduction, count: usize, shared: [bool; 2]) {
    let (rank, ranks) = (group.rank(), group.ranks());
    let whole = combined(kind, reduction, ranks, count);
    let own = part(count, ranks, rank);
    let own = own.start * kind.bytes()..own.end * kind.bytes();
    let everybody: Vec<u8> = (0..ranks).flat_map(|rank| vector(kind, rank, count)).collect();
    for algorithm in Algorithm::ALL {
        let what = || format!("{} of {count} {} as {shared:?}", algorithm.name(), kind.name());
        let contribution = vector(kind, rank, count);
        let mut input = Memory::filled(group, shared[0], &contribution);
        let mut gathered = Memory::new(group, shared[1], everybody.len());
        group.all_gather(input.slice(), gathered.slice(), algorithm).expect("all-gather");
        assert!(gathered.slice() == everybody, "all-gather, {}", what());

        let mut scattered = Memory::new(group, shared[1], own.len());
        group
            .reduce_scatter(input.slice(), scattered.slice(), kind, reduction, algorithm)
            .expect("reduce-scatter");
        assert!(scattered.slice() == &whole[own.clone()], "reduce-scatter, {}", what());

        let mut reduced = Memory::new(group, shared[1], whole.len());
        group.all_reduce(input.slice(), reduced.slice(), kind, reduction, algorithm).expect("all-reduce");
        assert!(reduced.slice() == whole, "all-reduce, {}", what());
        assert!(input.slice() == contribution, "the input stays");
        group.all_reduce_in_place(input.slice(), kind, reduction, algorithm).expect("all-reduce");
        assert!(input.slice() == whole, "all-reduce in place, {}", what());

        let root = count as u32 % ranks;
        let mut data = Memory::filled(group, shared[0], &contribution);
        group.broadcast(data.slice(), root, algorithm).expect("broadcast");
        assert!(data.slice() == vector(kind, root, count), "broadcast, {}", what());
        // at once written again: nobody may still read it
        data.slice().fill(0);
        input.slice().fill(0);
        gathered.slice().fill(0);
    }
}

#[test]
fn worker() {
    let Some(role) = Role::own() else { return };
    let mut group = role.join();
    let ranks = role.ranks as usize;
    assert!(!support::exists(&role.name), "the name goes as soon as all are there");
    match role.scenario.as_str() {
        "types" => {
            for kind in ElementType::ALL {
                for reduction in Reduction::ALL {
                    check(&mut group, kind, reduction, 2 * ranks + 1, [false, false]);
                }
            }
        }
        "sizes" => {
            for count in [0, 1, 2, ranks - 1, ranks, ranks + 1, 997, 6_007] {
                for shared in [[false, false], [true, true], [true, false], [false, true]] {
                    check(&mut group, ElementType::F32, Reduction::Sum, count, shared);
                }
                // some ranks here, others there
                let odd = role.rank % 2 == 1;
                check(&mut group, ElementType::F16, Reduction::Sum, count, [odd, !odd]);
            }
        }
        "pieces" => {
            // longer than staging, which is 1 MiB in two halves, and than a bounce buffer
            let odd = role.rank % 2 == 1;
            for shared in [[false, false], [true, true], [odd, !odd]] {
                check(&mut group, ElementType::F32, Reduction::Sum, (700 << 10) / 4 + 3, shared);
            }
        }
        "fused" => {
            let sizes = NormGatherMultiply { rows: 5, hidden: 37, columns: 3 };
            let numbers = |seed: usize, count: usize| -> Vec<f32> {
                (0..count)
                    .map(|index| ((index * 7919 + seed * 104_729) % 2003) as f32 / 100.0 - 10.0)
                    .collect()
            };
            let x: Vec<Vec<f32>> = (0..ranks).map(|rank| numbers(rank, 5 * 37)).collect();
            let weights = numbers(100 + role.rank as usize, 37 * 3);
            let mine = &x[role.rank as usize];
            let (mut gathered, mut unfused) = (vec![0.0; ranks * 5 * 37], vec![0.0; ranks * 15]);
            let mut fused = unfused.clone();
            for _ in 0..3 {
                fused.fill(0.0);
                sizes.run(&mut group, mine, &weights, Some(&mut gathered), &mut unfused).expect("unfused");
                sizes.run(&mut group, mine, &weights, None, &mut fused).expect("fused");
                assert_eq!(fused, unfused, "the same arithmetic");
            }
            // in doubles, literally
            for (row, x) in x.iter().flat_map(|x| x.chunks(37)).enumerate() {
                let x: Vec<f64> = x.iter().map(|&value| f64::from(value)).collect();
                let mean = x.iter().sum::<f64>() / 37.0;
                let variance = x.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / 37.0;
                for column in 0..3 {
                    let weights = &weights[column * 37..(column + 1) * 37];
                    let exact: f64 = x
                        .iter()
                        .zip(weights)
                        .map(|(value, &weight)| (value - mean) / (variance + 1e-5).sqrt() * f64::from(weight))
                        .sum();
                    assert!(
                        (f64::from(fused[row * 3 + column]) - exact).abs() < 1e-3,
                        "row {row}, column {column}"
                    );
                }
            }
            let short = sizes.run(&mut group, &mine[1..], &weights, None, &mut fused).expect_err("too short");
            assert_eq!(short.to_string(), "rows: 185 numbers are expected, found 184");
        }
        other => panic!("{other}"),
    }
    let memory = group.memory();
    assert_eq!(memory.blocks, 2, "everything but staging and bounce buffers went back");
}

#[test]
fn results_are_exact_for_one_to_eight_processes_and_sizes_that_do_not_divide() {
    for ranks in 1..=8 {
        run("sizes", ranks);
    }
}

#[test]
fn the_fused_operators_give_the_bits_of_the_unfused() {
    run("fused", 3);
}

#[test]
fn every_type_and_reduction_is_exact() {
    run("types", 3);
}

#[test]
fn vectors_longer_than_the_staging_go_in_pieces() {
    for ranks in [2, 3] {
        run("pieces", ranks);
    }
}
