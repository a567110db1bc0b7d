//! Sharing rules: what a route means for a flow.
//!
//! `max-min` treats every flow alike and pays the latency once, before the flow takes bandwidth, so
//! that a lone flow costs latency + bytes / bandwidth (HCSim, equation 2). `cm02` is SimGrid's rule
//! (Casanova and Marchal 2002; Velho and Legrand 2009 for the `lv08` factors): a bottleneck is shared
//! in proportion to 1 / latency.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::{Bandwidth, BuildError, Bytes, Duration, Time};

/// How flows share links.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Rule {
    /// Plain max-min fairness: every flow counts the same.
    #[default]
    MaxMin,
    /// SimGrid's CM02: shares in proportion to 1 / latency; TCP window, cross traffic.
    Cm02,
    /// CM02 with SimGrid's LV08 calibration: bandwidth x 0.97, latency x 13.01, S = 20537 bytes.
    Lv08,
}

/// A factor that depends on the message size: a number, or steps `"65472:0.94; 15424:0.7"`
/// (messages larger than the first number get the factor behind it; smaller ones get 1).
#[derive(Debug, Clone, PartialEq)]
pub struct SizeFactor {
    /// (size, factor) in ascending order of size.
    steps: Vec<(u64, f64)>,
    base: f64,
}

impl SizeFactor {
    /// The same factor for every size.
    pub fn constant(factor: f64) -> Self {
        Self { steps: Vec::new(), base: factor }
    }

    /// The largest factor that a message can have.
    pub fn largest(&self) -> f64 {
        self.steps.iter().map(|(_, factor)| *factor).fold(self.base, f64::max)
    }

    /// The factor of a message: that of the largest step strictly below its size.
    pub fn of(&self, bytes: u64) -> f64 {
        self.steps.iter().rev().find(|(size, _)| *size < bytes).map_or(self.base, |(_, factor)| *factor)
    }
}

impl std::str::FromStr for SizeFactor {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let number = |part: &str| {
            let value: f64 = part.trim().parse().map_err(|_| format!("`{part}` is not a number"))?;
            if value > 0.0 && value.is_finite() {
                Ok(value)
            } else {
                Err(format!("a factor is above zero, got {part}"))
            }
        };
        if !text.contains(':') {
            return Ok(Self::constant(number(text)?));
        }
        let mut steps = Vec::new();
        for step in text.split(';').filter(|step| !step.trim().is_empty()) {
            let (size, factor) =
                step.split_once(':').ok_or_else(|| format!("`{step}` is not `bytes:factor`"))?;
            let size = size.trim().parse().map_err(|_| format!("`{size}` is not a number of bytes"))?;
            steps.push((size, number(factor)?));
        }
        steps.sort_by_key(|(size, _)| *size);
        Ok(Self { steps, base: 1.0 })
    }
}

impl std::fmt::Display for SizeFactor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.steps.is_empty() {
            return write!(f, "{}", self.base);
        }
        let steps: Vec<_> = self.steps.iter().map(|(size, factor)| format!("{size}:{factor}")).collect();
        f.write_str(&steps.join(";"))
    }
}

impl Serialize for SizeFactor {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.steps.is_empty() { serializer.serialize_f64(self.base) } else { serializer.collect_str(self) }
    }
}

impl<'de> Deserialize<'de> for SizeFactor {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl serde::de::Visitor<'_> for Text {
            type Value = SizeFactor;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a factor such as 0.97, or steps by message size such as \"1000:0.5;50000:0.9\"")
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<SizeFactor, E> {
                text.parse().map_err(E::custom)
            }
            fn visit_f64<E: serde::de::Error>(self, factor: f64) -> Result<SizeFactor, E> {
                self.visit_str(&factor.to_string())
            }
            fn visit_i64<E: serde::de::Error>(self, factor: i64) -> Result<SizeFactor, E> {
                self.visit_str(&factor.to_string())
            }
            fn visit_u64<E: serde::de::Error>(self, factor: u64) -> Result<SizeFactor, E> {
                self.visit_str(&factor.to_string())
            }
        }
        deserializer.deserialize_any(Text)
    }
}

impl JsonSchema for SizeFactor {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "SizeFactor".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": ["number", "string"],
            "description": "a factor, or steps by message size: \"bytes:factor; bytes:factor\"",
            "examples": [0.97, "1000:0.5;50000:0.9"],
        })
    }
}

/// The numbers of a rule, with every default filled in.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RuleNumbers {
    /// Penalty = latency + sum of `weight_s / bandwidth`; `None`: every penalty is 1.
    pub(crate) weight_s_bytes: Option<f64>,
    /// TCP window in bytes: rate <= window / (2 latency). 0 is no window.
    pub(crate) gamma_bytes: f64,
    pub(crate) cross_traffic: bool,
    pub(crate) bandwidth_factor: SizeFactor,
    pub(crate) latency_factor: SizeFactor,
    pub(crate) loopback_bandwidth: f64,
    pub(crate) loopback_latency: Duration,
    /// SimGrid's work precision; 0 is exact.
    pub(crate) snap: f64,
}

impl RuleNumbers {
    /// Bandwidth and latency factors, where they do not depend on the message size.
    pub(crate) fn constant_factors(&self) -> Option<(f64, f64)> {
        let both = [&self.bandwidth_factor, &self.latency_factor];
        both.iter().all(|factor| factor.steps.is_empty()).then(|| (both[0].base, both[1].base))
    }
}

/// Weight that a flow has on the links of its way back (acknowledgements), with cross traffic.
pub(crate) const CROSS_WEIGHT: f64 = 0.05;

/// Options of a rule as the user gives them; each has the rule's own default.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct RuleOptions {
    /// cm02, lv08: TCP window; a flow never exceeds window / (2 x latency) times the bandwidth factor, with the latency
    /// before its factor. Default 4194304 B, `"0 B"` is no window.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tcp_gamma: Option<Bytes>,
    /// cm02, lv08: each flow also puts 5 % of its rate on the links of its way back. Default true.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cross_traffic: Option<bool>,
    /// cm02, lv08: S of the penalty latency + sum of S / bandwidth. Default 0 B (lv08 20537 B).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weight_s: Option<Bytes>,
    /// Share of a link's bandwidth that payload can reach, as a factor or steps by message size.
    /// Default 1 (lv08 0.97).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bandwidth_factor: Option<SizeFactor>,
    /// Factor on the latency that a message pays, as a factor or steps by message size.
    /// Default 1 (lv08 13.01).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency_factor: Option<SizeFactor>,
    /// Rate of a message from a node to itself. Default unlimited (cm02, lv08 10 GB/s).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loopback_bandwidth: Option<Bandwidth>,
    /// Delay of a message from a node to itself. Default 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loopback_latency: Option<Duration>,
    /// cm02, lv08: a link left with less than this fraction of its capacity by flows limited
    /// elsewhere does not limit the rest, as in SimGrid (1e-5 there). Default 0, which is exact.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub work_precision: Option<f64>,
}

impl RuleOptions {
    pub(crate) fn resolve(&self, rule: Rule) -> Result<RuleNumbers, BuildError> {
        let simgrid = rule != Rule::MaxMin;
        let (weight_s, bandwidth, latency) = match rule {
            Rule::MaxMin => (None, 1.0, 1.0),
            Rule::Cm02 => (Some(0.0), 1.0, 1.0),
            Rule::Lv08 => (Some(20537.0), 0.97, 13.01),
        };
        if !simgrid {
            let only = [
                ("tcp-gamma", self.tcp_gamma.is_some()),
                ("cross-traffic", self.cross_traffic.is_some()),
                ("weight-s", self.weight_s.is_some()),
                ("work-precision", self.work_precision.is_some()),
            ];
            if let Some((key, _)) = only.iter().find(|(_, given)| *given) {
                return Err(BuildError::new(
                    *key,
                    "this belongs to `rule = \"cm02\"` or `\"lv08\"`, the rule is `max-min`",
                ));
            }
        }
        let snap = self.work_precision.unwrap_or(0.0);
        if !(0.0..0.5).contains(&snap) {
            return Err(BuildError::new(
                "work-precision",
                format!("a fraction from 0 to 0.5 is expected, got {snap}"),
            ));
        }
        let loopback_bandwidth = match self.loopback_bandwidth {
            Some(rate) if rate.bytes_per_s() <= 0.0 => {
                return Err(BuildError::new("loopback-bandwidth", "a rate above zero is expected"));
            }
            Some(rate) => rate.bytes_per_s(),
            None if simgrid => 1e10,
            None => f64::INFINITY,
        };
        Ok(RuleNumbers {
            weight_s_bytes: self.weight_s.map(|bytes| bytes.count() as f64).or(weight_s),
            gamma_bytes: if simgrid { self.tcp_gamma.map_or(4_194_304.0, |b| b.count() as f64) } else { 0.0 },
            cross_traffic: simgrid && self.cross_traffic.unwrap_or(true),
            bandwidth_factor: self
                .bandwidth_factor
                .clone()
                .unwrap_or_else(|| SizeFactor::constant(bandwidth)),
            latency_factor: self.latency_factor.clone().unwrap_or_else(|| SizeFactor::constant(latency)),
            loopback_bandwidth,
            loopback_latency: self.loopback_latency.unwrap_or(Duration::ZERO),
            snap,
        })
    }
}

/// `ps` picoseconds times `factor`.
pub(crate) fn stretch(length: Duration, factor: f64) -> Duration {
    if factor == 1.0 { length } else { Duration::from_ps((length.as_ps() as f64 * factor).round() as u64) }
}

/// The instant at which `remaining` bytes at `rate` bytes per picosecond are done: never too far
/// away for a `Time`.
#[inline]
pub(crate) fn done_at(now: Time, remaining: f64, rate: f64) -> Time {
    // half a picosecond up and cut off is the nearest one; `as` saturates: a flow that needs longer
    // than time itself never ends
    let ps = remaining / rate + 0.5;
    now.saturating_add(Duration::from_ps(ps as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_factor_takes_the_largest_step_below_the_size() {
        let factor: SizeFactor = "1000:0.5; 100:0.25".parse().unwrap();
        assert_eq!([50, 100, 101, 1000, 1001].map(|bytes| factor.of(bytes)), [1.0, 1.0, 0.25, 0.25, 0.5]);
        assert_eq!(SizeFactor::constant(0.97).of(7), 0.97);
        assert_eq!(factor.to_string().parse::<SizeFactor>().unwrap(), factor);
        assert!("1000:0".parse::<SizeFactor>().unwrap_err().contains("above zero"));
    }

    #[test]
    fn options_of_another_rule_are_refused() {
        let options = RuleOptions { tcp_gamma: Some(Bytes(0)), ..RuleOptions::default() };
        assert!(options.resolve(Rule::MaxMin).unwrap_err().reason.contains("cm02"));
        assert_eq!(options.resolve(Rule::Cm02).unwrap().gamma_bytes, 0.0);
    }
}
