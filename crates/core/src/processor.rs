//! Whether the processor has the instructions that were compiled.

/// Says which instructions of x86-64-v3 this processor lacks, where the build uses them; `None` where it can run.
///
/// It is to be called before anything else, and uses none of them itself.
pub fn lacks() -> Option<String> {
    #[cfg(all(target_arch = "x86_64", target_feature = "avx2"))]
    {
        use std::arch::x86_64::{__cpuid, __cpuid_count};

        let highest = __cpuid(0).eax;
        let features = __cpuid(1).ecx;
        let extended = if highest >= 7 { __cpuid_count(7, 0).ebx } else { 0 };
        let of_amd = if __cpuid(0x8000_0000).eax > 0x8000_0000 { __cpuid(0x8000_0001).ecx } else { 0 };
        explain(features, extended, of_amd)
    }
    #[cfg(not(all(target_arch = "x86_64", target_feature = "avx2")))]
    None
}

/// What is missing by the words of `cpuid`: leaf 1 (ecx), leaf 7 (ebx) and leaf 0x80000001 (ecx).
#[cfg_attr(
    not(all(target_arch = "x86_64", target_feature = "avx2")),
    allow(dead_code, reason = "other targets need nothing")
)]
fn explain(features: u32, extended: u32, of_amd: u32) -> Option<String> {
    let needed = [
        ("FMA", features, 12),
        ("MOVBE", features, 22),
        ("AVX", features, 28),
        ("F16C", features, 29),
        ("BMI1", extended, 3),
        ("AVX2", extended, 5),
        ("BMI2", extended, 8),
        ("LZCNT", of_amd, 5),
    ];
    let missing: Vec<&str> =
        needed.iter().filter(|(_, word, bit)| word >> bit & 1 == 0).map(|(name, ..)| *name).collect();
    (!missing.is_empty()).then(|| {
        format!(
            "this processor lacks {}, which this build of Stratasim needs (x86-64-v3: Intel since 2013, AMD since 2015); \
             build it anew with RUSTFLAGS=\"-C target-cpu=native\"",
            missing.join(", ")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::{explain, lacks};

    #[test]
    fn the_processor_of_the_tests_runs_them() {
        assert_eq!(lacks(), None);
    }

    #[test]
    fn what_is_missing_is_named() {
        let all = u32::MAX;
        assert_eq!(explain(all, all, all), None);
        let reason = explain(all, all & !(1 << 5) & !(1 << 8), all).expect("two are missing");
        assert!(reason.starts_with("this processor lacks AVX2, BMI2, which"), "{reason}");
        assert!(explain(all & !(1 << 12), all, 0).expect("two are missing").contains("lacks FMA, LZCNT,"));
    }
}
