//! Colours by role, for light and for dark surroundings.
//!
//! Activities and series are told apart by people with the common colour-vision deficiencies: the hues
//! follow Okabe and Ito, "Color Universal Design" (2008), with lightness adapted to the background;
//! series also differ by their markers. The ramp of heat maps grows monotonously in contrast to the
//! background.

use serde::{Deserialize, Serialize};
use stratasim_core::observe::Activity;

/// Light or dark surroundings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Scheme {
    /// Dark on white.
    #[default]
    Light,
    /// Light on near-black.
    Dark,
}

/// Steps of the ramp.
pub(crate) const LEVELS: u8 = 24;
/// Different series.
pub(crate) const SERIES: u8 = 8;

/// What something is, which decides its colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) enum Paint {
    /// Text that matters.
    Ink,
    /// Other text.
    Muted,
    /// Axes.
    Axis,
    /// Grid lines.
    Grid,
    /// Empty rows and cells.
    Empty,
    /// The background.
    Surface,
    /// Text on a filled shape.
    OnFill,
    /// Computation.
    Compute,
    /// Memory access.
    Memory,
    /// Communication.
    Communication,
    /// Doing nothing.
    Idle,
    /// A series of a chart, modulo [`SERIES`].
    Series(u8),
    /// A step of the ramp, below [`LEVELS`].
    Level(u8),
}

impl From<Activity> for Paint {
    fn from(activity: Activity) -> Self {
        match activity {
            Activity::Compute => Self::Compute,
            Activity::Memory => Self::Memory,
            Activity::Communication => Self::Communication,
        }
    }
}

impl Paint {
    /// Its name in style sheets.
    pub(crate) fn class(self) -> String {
        match self {
            Self::Series(index) => format!("c{}", index % SERIES),
            Self::Level(level) => format!("h{level}"),
            _ => format!("{self:?}").to_lowercase(),
        }
    }

    /// Red, green, blue.
    pub(crate) fn rgb(self, scheme: Scheme) -> [u8; 3] {
        let [light, dark] = match self {
            Self::Ink => [0x1b_1f24, 0xe6_edf3],
            Self::Muted => [0x57_606a, 0x9d_a7b3],
            Self::Axis => [0x9a_a3ad, 0x5b_6571],
            Self::Grid => [0xe4_e8ed, 0x2a_313a],
            Self::Empty => [0xf1_f3f6, 0x1b_212a],
            Self::Surface => [0xff_ffff, 0x0d_1117],
            Self::OnFill => [0xff_ffff, 0x0d_1117],
            Self::Compute => [0x1f_6fb5, 0x5a_a9ec],
            Self::Memory => [0x0f_9877, 0x3f_cba6],
            Self::Communication => [0xcf_6410, 0xf5_9a4c],
            Self::Idle => [0xcd_d3db, 0x3a_434e],
            Self::Series(index) => SERIES_COLOURS[usize::from(index % SERIES)],
            Self::Level(level) => {
                let at = f64::from(level.min(LEVELS - 1)) / f64::from(LEVELS - 1);
                return ramp(at, scheme);
            }
        };
        let colour: u32 = if scheme == Scheme::Light { light } else { dark };
        [(colour >> 16) as u8, (colour >> 8) as u8, colour as u8]
    }
}

/// Light and dark colour of each series.
const SERIES_COLOURS: [[u32; 2]; SERIES as usize] = [
    [0x00_72b2, 0x58_aee6],
    [0xd5_5e00, 0xf7_924f],
    [0x00_9e73, 0x35_cba0],
    [0xae_4f93, 0xe3_96c8],
    [0x8a_6d00, 0xe8_c547],
    [0x2f_a3de, 0x9a_d5fa],
    [0x59_6068, 0xc4_ccd5],
    [0x8c_4a1c, 0xcf_a078],
];

/// Corner colours of the ramp, from nothing to full: on white from pale blue-green to deep blue, on
/// black from deep blue to pale yellow.
const RAMP: [[[f64; 3]; 5]; 2] = [
    [
        [237.0, 244.0, 240.0],
        [178.0, 221.0, 200.0],
        [92.0, 180.0, 190.0],
        [36.0, 118.0, 174.0],
        [22.0, 44.0, 110.0],
    ],
    [
        [24.0, 32.0, 52.0],
        [38.0, 76.0, 128.0],
        [38.0, 134.0, 150.0],
        [110.0, 196.0, 128.0],
        [246.0, 236.0, 140.0],
    ],
];

fn ramp(at: f64, scheme: Scheme) -> [u8; 3] {
    let corners = &RAMP[usize::from(scheme == Scheme::Dark)];
    let scaled = at.clamp(0.0, 1.0) * (corners.len() - 1) as f64;
    let index = (scaled as usize).min(corners.len() - 2);
    let part = scaled - index as f64;
    std::array::from_fn(|channel| {
        let [low, high] = [corners[index][channel], corners[index + 1][channel]];
        (low + (high - low) * part).round() as u8
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Relative luminance (WCAG 2.1).
    fn luminance([r, g, b]: [u8; 3]) -> f64 {
        let linear = |c: u8| {
            let c = f64::from(c) / 255.0;
            if c <= 0.04045 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b)
    }

    /// Contrast ratio (WCAG 2.1).
    fn contrast(a: [u8; 3], b: [u8; 3]) -> f64 {
        let (a, b) = (luminance(a), luminance(b));
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    /// What a deuteranope sees (Viénot, Brettel and Mollon 1999, in linear light).
    fn deuteranope(rgb: [u8; 3]) -> [f64; 3] {
        let [r, g, b] = rgb.map(|c| (f64::from(c) / 255.0).powf(2.2));
        [0.293 * r + 0.707 * g, 0.293 * r + 0.707 * g, -0.022 * r + 0.022 * g + b]
            .map(|c| c.max(0.0).powf(1.0 / 2.2))
    }

    #[test]
    fn text_and_marks_stand_out_from_their_background() {
        for scheme in [Scheme::Light, Scheme::Dark] {
            let on = |paint: Paint, least: f64| {
                let found = contrast(paint.rgb(scheme), Paint::Surface.rgb(scheme));
                assert!(found >= least, "{paint:?} {scheme:?}: {found:.2}");
            };
            on(Paint::Ink, 12.0);
            on(Paint::Muted, 5.5);
            [Paint::Compute, Paint::Memory, Paint::Communication]
                .into_iter()
                .for_each(|paint| on(paint, 3.0));
            (0..SERIES).for_each(|index| on(Paint::Series(index), 2.7));
            for fill in [Paint::Compute, Paint::Memory, Paint::Communication] {
                assert!(contrast(fill.rgb(scheme), Paint::OnFill.rgb(scheme)) > 3.5, "{fill:?} {scheme:?}");
            }
        }
    }

    #[test]
    fn activities_differ_for_those_who_do_not_see_red_and_green() {
        for scheme in [Scheme::Light, Scheme::Dark] {
            let seen = [Paint::Compute, Paint::Memory, Paint::Communication, Paint::Idle]
                .map(|paint| deuteranope(paint.rgb(scheme)));
            for (at, a) in seen.iter().enumerate() {
                for b in &seen[..at] {
                    let distance = a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt();
                    assert!(distance > 0.15, "{scheme:?}: {seen:?}");
                }
            }
        }
    }

    #[test]
    fn the_ramp_grows_away_from_the_background() {
        for scheme in [Scheme::Light, Scheme::Dark] {
            let away = |level| contrast(Paint::Level(level).rgb(scheme), Paint::Surface.rgb(scheme));
            assert!((1..LEVELS).all(|level| away(level) > away(level - 1)), "{scheme:?}");
        }
    }
}
